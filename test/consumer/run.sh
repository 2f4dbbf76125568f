#!/usr/bin/env bash
# Installs the build tree BUILD into a fresh prefix, builds this folder against
# it, and runs what comes out: run.sh BUILD
set -euo pipefail
build=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/prefix" >/dev/null
cmake -S "$here" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_COMPILER=clang++-22 -DCMAKE_C_COMPILER=clang-22 \
  -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld \
  -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
cmake --build "$work/build" -j2 >/dev/null

expect() { # COMMAND TEXT: the output of the command contains the text
  local output
  output=$("$1") || { echo "$1 failed: $output"; exit 1; }
  case "$output" in
  *"$2"*) ;;
  *) echo "$1: expected \"$2\" in: $output"; exit 1 ;;
  esac
}
expect "$work/build/counts" "3 2 2 1 8 8 8 8"
expect "$work/build/gather" "rank 3 has 8 rows"
expect "$work/build/plan" "shunt.all_gather"
test -x "$work/prefix/bin/shunt-opt"
echo "consumer: core, runtime and passes work from an install prefix"
