#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test; the last lines are the
# test runner's summary. SHUNT_TEST_JOBS sets how many tests run at once (2).
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${SHUNT_TEST_JOBS:-2}
scripts/install-deps.sh

# Core and runtime under the sanitizers first: they are small, and the whole
# suite's summary then comes last.
for preset in asan tsan; do
  echo "== $preset: the runtime and what it is built on"
  scripts/build.sh "$preset"
  ctest --test-dir "build/$preset" -j "$jobs" --output-on-failure \
    --no-tests=error --quiet -O "build/$preset/ctest.log" || {
    cat "build/$preset/ctest.log"
    exit 1
  }
  tail -n 5 "build/$preset/ctest.log"
done

echo "== dev: everything"
scripts/build.sh dev
ctest --test-dir build/dev -j "$jobs" --output-on-failure --no-tests=error \
  --progress
