#!/usr/bin/env bash
# Installs what is missing, builds, and shows the main job: parallel sizes
# become collectives with counts, MLIR, and an executed, checked layer.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-deps.sh
scripts/build.sh dev shunt-opt shunt-plan shunt-run
if command -v mpirun >/dev/null; then scripts/build.sh dev ShuntMpi; fi
export PATH=$PWD/build/dev/bin:$PATH

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
run() { printf '$ %s\n' "$*"; eval "$*"; }
layer="--world 4 --attn dp=2,tp=2 --moe tp=4 --tokens 5,3"

say "Attention is tp=2 x dp=2, the MoE tp=4, and the DP groups have 5 and 3" \
  "tokens: which collectives run, and with which counts?"
run "shunt-plan $layer"

say "Before planning: blocks say which rows they need, nothing moves yet" \
  "(the shunt ops of the program)"
run "shunt-plan $layer --format mlir --level logical | grep -E '^#(attn|moe)|shunt\.(cluster|mesh|batch|redistribute) '"

say "After planning: one op for each legal step, counts derived and verified"
run "shunt-plan $layer --format mlir | grep -E '^#(attn|moe)|^!| = shunt\.|return'"

say "A gather that came with a hand-written table: it was sized from the rows" \
  "before the reduce-scatter (5 5 3 3). The pass names each wrong rank."
cat > /tmp/shunt-demo.$$.mlir <<'EOF'
shunt.cluster @pod {ranks_per_node = 4 : i64}
shunt.mesh @attn on @pod <dp = 2, tp = 2>
shunt.mesh @moe on @pod <dp = 1, tp = 4>
!batch = !shunt.batch<@attn, owners = [dp]>
#scattered = #shunt.layout<@moe, tokens = [dp, tp]>
#gathered = #shunt.layout<@moe, tokens = [dp]>
func.func @pre_moe(%x: tensor<?x64xf32, #scattered>) -> tensor<?x64xf32, #gathered> {
  %b = shunt.batch [5, 3] : !batch
  %by_hand = arith.constant dense<[5, 5, 3, 3]> : tensor<4xi64>
  %y = shunt.all_gather %x in %b over [tp] given(%by_hand : tensor<4xi64>)
    : tensor<?x64xf32, #scattered>, !batch -> tensor<?x64xf32, #gathered>
  return %y : tensor<?x64xf32, #gathered>
}
EOF
trap 'rm -f /tmp/shunt-demo.$$.mlir' EXIT
run "shunt-opt /tmp/shunt-demo.$$.mlir --shunt-rewrite-token-counts 2>&1 | grep -E 'remark|all_gather'"

say "16 ranks, attention dp=4 x tp=4, dense tp=8, experts over all 16, unequal" \
  "batches: compiled, run on 16 threads, compared with one rank"
stack="--world 16 --attn dp=4,tp=4 --dense tp=8 --moe ep=16 --blocks attn,dense,attn,moe --tokens 9,4,0,7"
run "shunt-plan $stack | sed -n '/^collectives/,\$p'"
run "shunt-plan $stack --format mlir --level logical | shunt-run --check"

say "The same experts, but each row goes to those that it chose, over the" \
  "cheapest of four ways; experts are replicated over tp"
moe="--world 8 --attn dp=2,tp=4 --moe ep=4,tp=2 --tokens 50,33 --experts 8 --top-k 2 --dispatch auto"
run "shunt-plan $moe | sed -n '/^routed/,\$p'"
run "shunt-plan $moe --format mlir | grep -E 'shunt\.(route|dispatch|expert_matmul|combine) ' | cut -c1-100"

say "Executed on 8 threads with a few favourite experts: what each step moved"
run "shunt-plan $moe --format mlir --level logical | shunt-run --check --routing zipf:1.2"

if command -v mpirun >/dev/null && [ -e build/dev/lib/libshunt_mpi.so ]; then
  say "And on 8 processes"
  layer_file=/tmp/shunt-demo.$$.mlir
  shunt-plan $moe --format mlir --level logical >"$layer_file"
  run "scripts/mpirun.sh -n 8 build/dev/bin/shunt-run --backend mpi --check $layer_file"
fi
