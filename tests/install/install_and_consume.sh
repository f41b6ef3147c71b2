#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# install_and_consume.sh BUILD_DIR CONSUMER_DIR CC   Installs into a scratch prefix whose name has a
# space, then uses the library through find_package, pkg-config and plain cc.
set -euo pipefail
build=$1 consumer=$2 cc=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix="$scratch/a prefix"

cmake --install "$build" --prefix "$prefix" >"$scratch/install.log"
library=$(find "$prefix" -name 'libkiln.so' -print)
libdir=$(dirname "$library")

# The compiled consumer must find the library by itself or be told where it is.
run() { KILN_CACHE_DIR="$scratch/cache" LD_LIBRARY_PATH="$libdir" "$@"; }

cmake -S "$consumer" -B "$scratch/cmake" -G Ninja -DCMAKE_C_COMPILER="$cc" \
  -DCMAKE_PREFIX_PATH="$prefix" >"$scratch/configure.log" || { cat "$scratch/configure.log"; exit 1; }
cmake --build "$scratch/cmake" >"$scratch/build.log" || { cat "$scratch/build.log"; exit 1; }
run "$scratch/cmake/consumer" find_package

# A prefix with a space needs --define-prefix's quoting, so pkg-config gets one without.
cmake --install "$build" --prefix "$scratch/plain" >>"$scratch/install.log"
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$scratch/plain" -name kiln.pc)")
# shellcheck disable=SC2046  # flags are words
"$cc" "$consumer/main.c" -o "$scratch/with-pkg-config" $(pkg-config --cflags --libs kiln)
run "$scratch/with-pkg-config" pkg-config
[[ $(pkg-config --modversion kiln) == $(sed -n 's/.*"\([0-9.]*\)".*/\1/p' \
  "$(find "$prefix" -name kilnConfigVersion.cmake)" | head -n 1) ]]

"$cc" -std=c11 "$consumer/main.c" -o "$scratch/with-cc" -I"$prefix/include" -L"$libdir" -lkiln
run "$scratch/with-cc" cc

# The installed program runs from there too, and the library needs nothing but libc.
run "$prefix/bin/kiln" --version >/dev/null
if readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
  grep -vE '^(libc|libm|libdl|libpthread|ld-linux.*)\.so'; then
  echo "libkiln.so needs more than libc" >&2
  exit 1
fi
bytes=$(stat -c %s "$(readlink -f "$library")")
echo "libkiln.so: $bytes bytes"
