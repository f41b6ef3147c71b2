#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/check.sh [--full]   Installs what is missing, builds the dev preset and passes all tests.
# --full adds: formatting, clang-tidy, the sanitizer presets and the release preset's tests, with
# every case of the stress tests.
set -euo pipefail
cd "$(dirname "$0")/.."

full=0
case "${1:-}" in
  '') ;;
  --full) full=1 ;;
  *)
    echo "usage: tools/check.sh [--full]" >&2
    exit 2
    ;;
esac

step() { printf '\n== %s\n' "$*"; }
sources() { git ls-files '*.cpp' '*.h' '*.c' '*.cuh'; }

# run_preset <name>: configure, build and test one preset.
run_preset() {
  step "Preset $1: build"
  cmake --preset "$1" >"build/$1.configure.log" 2>&1 || {
    cat "build/$1.configure.log"
    exit 1
  }
  cmake --build --preset "$1" -- --quiet
  step "Preset $1: test"
  ctest --preset "$1" -j "$(nproc)"
}

mkdir -p build
step "What the checks need"
tools/setup.sh --check

if ((full)); then
  step "Formatting"
  sources | xargs clang-format --dry-run --Werror
fi

if ((full)); then
  KILN_STRESS=full run_preset release
  run_preset asan
  run_preset tsan
fi
run_preset dev
if ((full)); then
  step "clang-tidy"
  git ls-files '*.cpp' | grep -Ev '^(examples|tests)/' |
    xargs -P "$(nproc)" -n 4 clang-tidy -p build/dev --quiet --warnings-as-errors='*'
fi

printf '\ncheck: all passed.\n'
