#!/usr/bin/env bash
# Runs a program on ranks of two hosts that are network namespaces of this
# machine, joined by a bridge: what crosses hosts crosses a (virtual) wire.
#   scripts/netns-mpirun.sh RANKS_PER_HOST PROGRAM ARGS...
# Exits with 77, and says why, where the machine allows no namespaces.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
per_host=$1
shift
id=shunt$$
skip() {
  echo "netns-mpirun: skipped: $*"
  exit 77
}
command -v ip >/dev/null || skip "there is no ip command (iproute2)"
command -v mpirun >/dev/null || skip "there is no mpirun (openmpi-bin)"
[ "$(id -u)" -eq 0 ] || skip "network namespaces need root"
ip link add "${id}br" type bridge 2>/dev/null ||
  skip "this machine makes no network bridges"
cleanup() {
  for host in 1 2; do
    ip netns del "$id-$host" 2>/dev/null || true
  done
  ip link del "${id}br" 2>/dev/null || true
  rm -rf "$work"
}
work=$(mktemp -d)
trap cleanup EXIT
ip addr add 10.77.0.254/24 dev "${id}br"
ip link set "${id}br" up
for host in 1 2; do
  ip netns add "$id-$host" 2>/dev/null ||
    skip "this machine makes no network namespaces"
  ip link add "${id}v$host" type veth peer name "${id}e$host"
  ip link set "${id}v$host" master "${id}br" up
  ip link set "${id}e$host" netns "$id-$host" name eth0
  ip -n "$id-$host" addr add "10.77.0.$host/24" dev eth0
  ip -n "$id-$host" link set eth0 up
  ip -n "$id-$host" link set lo up
done
# mpirun reaches a host by this in place of ssh. Each has a name of its own:
# ranks of one name would try to share memory.
cat >"$work/agent" <<AGENT
#!/usr/bin/env bash
host=\$1
shift
number=\${host##*.}
exec ip netns exec $id-\$number unshare --uts sh -c \
  "hostname shunt\$number; \$*"
AGENT
chmod +x "$work/agent"
status=0
"$here/mpirun.sh" --mca plm_rsh_agent "$work/agent" \
  --host "10.77.0.1:$per_host,10.77.0.2:$per_host" -n $((2 * per_host)) \
  --mca btl tcp,vader,self --mca btl_tcp_if_include 10.77.0.0/24 \
  --mca oob_tcp_if_include 10.77.0.0/24 \
  -x SHUNT_TEST_BACKEND -x SHUNT_TEST_RANKS -x SHUNT_TIMEOUT_MS \
  "$@" || status=$?
exit $status
