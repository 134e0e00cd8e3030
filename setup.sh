#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian 12 packages that the build needs. Idempotent; a fraction of a second when nothing is missing.
#   --vm   also what the tests in a virtual machine need (ctest label vm)
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache git pkg-config dpkg-dev file
  libsystemc-dev libfmt-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libxxhash-dev libzstd-dev libsqlite3-dev sqlite3
  libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev libopenblas-dev
  libmlir-19-dev llvm-19-dev
  clang-format-14 clang-tidy-14 clang-14 libclang-rt-14-dev
  verilator zlib1g-dev gcc-riscv64-unknown-elf gdb-multiarch pciutils
  python3 python3-dev pybind11-dev python3-numpy python3-matplotlib
)

while [ $# -gt 0 ]; do
  case "$1" in
    --vm) packages+=(qemu-system-x86 linux-image-cloud-amd64 busybox-static cpio) ;;
    *)
      echo "setup.sh: unknown option $1 (known: --vm)" >&2
      exit 2
      ;;
  esac
  shift
done

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "setup.sh: missing packages: ${missing[*]}; run 'apt-get install ${missing[*]}' as root" >&2
    exit 1
  }
  as_root="sudo"
fi
echo "setup.sh: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq
$as_root apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
