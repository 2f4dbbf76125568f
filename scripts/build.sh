#!/usr/bin/env bash
# Configures and builds one preset (dev, release, asan, tsan): build.sh PRESET
# [TARGET…]. Meant for the other scripts; by hand, `cmake --preset dev` does too.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
# Share compile results between checkouts of this repository.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
cmake --preset "$preset" >"/tmp/shunt-configure-$preset.$$.log" 2>&1 || {
  cat "/tmp/shunt-configure-$preset.$$.log" >&2
  exit 1
}
rm -f "/tmp/shunt-configure-$preset.$$.log"
cmake --build --preset "$preset" ${1:+--target "$@"}
