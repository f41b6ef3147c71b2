#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# with_scratch.sh PROGRAM   Runs it with an empty directory as its argument; kept on failure.
set -uo pipefail
scratch=$(mktemp -d)
"$1" "$scratch"
code=$?
if ((code == 0 || code == 77)); then rm -rf "$scratch"; else echo "kept: $scratch"; fi
exit "$code"
