#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/quickstart.sh   From a fresh checkout to checked kernels: installs what is missing, builds
# the release preset, compiles the variants of flux2-dev for the local GPU (without one, for sm_90a
# and sm_100a), lists them, and checks them against the golden vectors: on the GPU if there is one,
# else by replaying them on the CPU. Idempotent; kernels go to the user's own cache.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "1/5 What a build needs"
tools/setup.sh

mkdir -p build
step "2/5 Build (release preset, in build/release)"
cmake --preset release >build/release.configure.log 2>&1 || {
  cat build/release.configure.log
  exit 1
}
cmake --build --preset release --target kiln kiln_cli kiln_golden

kiln=build/release/bin/kiln
golden=build/release/bin/kiln_golden
if "$kiln" doctor --json | grep -q '"compute_capability"'; then
  where="the local GPU"
  targets=()
  device=(--gpu)
else
  where="sm_90a and sm_100a (no GPU here)"
  targets=(--target sm_90a,sm_100a)
  device=()
fi

step "3/5 Compile the variants of flux2-dev for $where"
"$kiln" warm --model flux2-dev "${targets[@]}"

step "4/5 What is in the cache"
"$kiln" ls

step "5/5 Check against the golden vectors, bit by bit"
"$golden" "${device[@]}" tests/vectors/*.safetensors

printf '\nquickstart: done. All variants are compiled and every output is bit-exact.\n'
