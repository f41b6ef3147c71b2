#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_symbols.sh LIBRARY   What the library exports must equal symbols.txt.
set -euo pipefail
diff "$(dirname "$0")/symbols.txt" \
  <(nm -D --defined-only "$1" | awk '{print $3}' | LC_ALL=C sort)
