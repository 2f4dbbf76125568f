#!/usr/bin/env bash
# Runs a program on ranks of two hosts that are network namespaces of this
# machine, joined by a (virtual) wire: what crosses hosts crosses it.
#   scripts/netns-mpirun.sh RANKS_PER_HOST PROGRAM ARGS...
# Exits with 77, and says why, where the machine allows no namespaces.
#
# All of it, mpirun too, lives in the two namespaces: the machine's own
# addresses, routes and firewall play no part, runs do not see each other, and
# nothing is left behind even when this script is killed.
set -euo pipefail
skip() {
  echo "netns-mpirun: skipped: $*"
  exit 77
}
if [ -z "${SHUNT_NETNS_INSIDE:-}" ]; then
  for tool in ip mpirun unshare nsenter setpriv; do
    command -v $tool >/dev/null ||
      skip "there is no $tool (packages iproute2, openmpi-bin, util-linux)"
  done
  [ "$(id -u)" -eq 0 ] || skip "network namespaces need root"
  unshare --net --uts true 2>/dev/null ||
    skip "this machine makes no network namespaces"
  SHUNT_NETNS_INSIDE=1 exec unshare --net --uts "$0" "$@"
fi

here=$(cd "$(dirname "$0")" && pwd)
per_host=$1
shift
# This process is on host 1; host 2 lives as long as this process to hold it.
hostname shunt1
unshare --net --uts setpriv --pdeathsig KILL sleep infinity &
other=$!
work=$(mktemp -d)
trap 'kill $other 2>/dev/null; rm -rf "$work"' EXIT
on_other() { nsenter --target "$other" --net --uts "$@"; }
until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ] &&
  [ "$(readlink /proc/$other/ns/uts)" != "$(readlink /proc/self/ns/uts)" ]; do
  sleep 0.01
done
on_other hostname shunt2
ip link add eth0 type veth peer name wire 2>/dev/null ||
  skip "this machine makes no virtual Ethernet pairs"
ip link set wire netns "$other"
on_other ip link set wire name eth0
ip addr add 10.77.0.1/24 dev eth0
on_other ip addr add 10.77.0.2/24 dev eth0
for device in lo eth0; do
  ip link set "$device" up
  on_other ip link set "$device" up
done
# mpirun reaches host 2 by this in place of ssh. The hosts have names of their
# own: ranks of one name would try to share memory.
cat >"$work/agent" <<AGENT
#!/usr/bin/env bash
shift
exec nsenter --target $other --net --uts sh -c "\$*"
AGENT
chmod +x "$work/agent"
forward=()
for name in SHUNT_TEST_BACKEND SHUNT_TEST_RANKS SHUNT_TIMEOUT_MS; do
  [ -z "${!name+set}" ] || forward+=(-x "$name")
done
status=0
"$here/mpirun.sh" --mca plm_rsh_agent "$work/agent" \
  --host "10.77.0.1:$per_host,10.77.0.2:$per_host" -n $((2 * per_host)) \
  --mca btl tcp,vader,self --mca btl_tcp_if_include 10.77.0.0/24 \
  --mca oob_tcp_if_include 10.77.0.0/24 \
  ${forward[@]+"${forward[@]}"} "$@" || status=$?
exit $status
