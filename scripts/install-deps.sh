#!/usr/bin/env bash
# Installs everything that a fresh Debian 12 lacks to build and test Shunt.
# Running it again changes nothing. Other systems: the list below is what to
# install by hand.
set -euo pipefail

packages=(
  # Build
  cmake ninja-build ccache git python3
  clang-22 lld-22 libclang-rt-22-dev
  # Compiler side: MLIR and LLVM as shared libraries, their tools for the tests
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools
  zlib1g-dev libzstd-dev libedit-dev libxml2-dev libcurl4-openssl-dev
  # The mpi backend, and network namespaces as hosts for its tests
  libopenmpi-dev openmpi-bin iproute2
  # nvcc's host compiler, where there is nvcc (of which Debian's is too old)
  g++
  # Tests and benchmarks
  libgtest-dev libbenchmark-dev nlohmann-json3-dev python3-psutil
)

fail() {
  echo "install-deps: error: $*" >&2
  exit 1
}

missing=()
if command -v dpkg-query >/dev/null; then
  for package in "${packages[@]}"; do
    status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
    [ "$status" = "install ok installed" ] || missing+=("$package")
  done
else
  fail "this is no Debian; install these packages' equivalents by hand:" \
    "${packages[*]}"
fi
if [ ${#missing[@]} -eq 0 ]; then
  echo "install-deps: all ${#packages[@]} packages are installed"
  exit 0
fi

echo "install-deps: installing ${missing[*]}"
sudo=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || fail "needs root, or sudo, to install packages"
  sudo=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
for package in "${missing[@]}"; do
  apt-cache show "$package" >/dev/null 2>&1 ||
    fail "package $package is not in this system's apt sources" \
      "(LLVM 22 for Debian 12 is in LLVM's own apt repository)"
done
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" \
  >/dev/null
echo "install-deps: done"
