#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/setup.sh [--check]   Installs the Debian packages that a build needs (with --check, those
# that the checks need, too), and makes sure that the CUDA headers and NVRTC are there. Idempotent.
set -euo pipefail

packages=(g++ cmake ninja-build pkg-config libfmt-dev nlohmann-json3-dev libcli11-dev doctest-dev
  librapidcheck-dev libbenchmark-dev libsqlite3-dev libzstd-dev libssl-dev python3)
if [[ "${1:-}" == --check ]]; then
  packages+=(git clang-format clang-tidy locales)
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}\n' "$package" 2>/dev/null | grep -q 'ok installed' ||
    missing+=("$package")
done
if ((${#missing[@]})); then
  echo "setup: installing ${missing[*]}"
  as_root=()
  if ((EUID != 0)); then
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
  echo "setup: all ${#packages[@]} packages are installed"
fi

header=
for directory in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /usr/local/cuda-*; do
  if [[ -n "$directory" && -f "$directory/include/nvrtc.h" && -f "$directory/include/cuda.h" ]]; then
    header="$directory/include/nvrtc.h"
    break
  fi
done
if [[ -z "$header" ]]; then
  echo "setup: nvrtc.h and cuda.h were found neither in CUDA_HOME nor in /usr/local/cuda*;" \
    "install NVIDIA's packages cuda-nvrtc-dev-13-0 and cuda-driver-dev-13-0, or the toolkit" >&2
  exit 1
fi
echo "setup: CUDA headers in $(dirname "$header")"

nvrtc=$(ldconfig -p | sed -n 's/.*=> \(.*libnvrtc\.so\.1[23]\)$/\1/p' | head -n 1)
for candidate in "${KILN_NVRTC:-}" /usr/local/cuda*/lib64/libnvrtc.so.1[23]; do
  if [[ -z "$nvrtc" && -n "$candidate" && -e "$candidate" ]]; then
    nvrtc=$candidate
  fi
done
if [[ -z "$nvrtc" ]]; then
  echo "setup: libnvrtc was found neither by the loader nor in /usr/local/cuda*/lib64;" \
    "install NVIDIA's package cuda-nvrtc-13-0 or set KILN_NVRTC" >&2
  exit 1
fi
echo "setup: NVRTC in $nvrtc"
