#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test, of the slow
# suites a part; the last lines are the test runner's summary. SHUNT_TEST_JOBS
# sets how many tests run at once (2), SHUNT_FUZZ_SEED the part.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${SHUNT_TEST_JOBS:-2}
# Which part of the slow suites runs: another one from commit to commit, the
# same one for a commit.
export SHUNT_FUZZ_SEED=${SHUNT_FUZZ_SEED:-$((1 +
  2000 * ($(git rev-list --count HEAD 2>/dev/null || echo 0) % 25)))}
scripts/install-deps.sh

# Core and runtime under the sanitizers first: they are small, and the whole
# suite's summary then comes last.
for preset in asan tsan; do
  echo "== $preset: the runtime and what it is built on"
  scripts/build.sh "$preset"
  ctest --test-dir "build/$preset" -j "$jobs" --output-on-failure \
    --no-tests=error -LE slow --quiet -O "build/$preset/ctest.log" || {
    cat "build/$preset/ctest.log"
    exit 1
  }
  tail -n 5 "build/$preset/ctest.log"
done

echo "== dev: everything"
scripts/build.sh dev
ctest --test-dir build/dev -j "$jobs" --output-on-failure --no-tests=error \
  -LE slow --progress
