#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian 12 packages that the build needs. Idempotent; a fraction of a second when nothing is missing.
#   --vm     also what the tests in a virtual machine need (ctest label vm)
#   --page   also what the tests of the report page need (ctest label page), and what builds it: a browser, and packages
#            of npm in traces/page/node_modules
#   --slurm  also what the tests on a Slurm of one node need (ctest label slurm)
#   --torch  also PyTorch, in a virtual environment of its own, build/torch-venv (ctest label torch, tests/torch/run.sh)
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache git pkg-config dpkg-dev file
  libsystemc-dev libfmt-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libxxhash-dev libzstd-dev libsqlite3-dev sqlite3
  libgtest-dev libgmock-dev libbenchmark-dev libopenblas-dev
  libmlir-19-dev llvm-19-dev
  clang-format-14 clang-tidy-14 clang-14 libclang-rt-14-dev
  verilator zlib1g-dev gcc-riscv64-unknown-elf gdb-multiarch pciutils
  python3 python3-dev pybind11-dev python3-numpy python3-matplotlib
)

page=""
torch=""
while [ $# -gt 0 ]; do
  case "$1" in
    --vm) packages+=(qemu-system-x86 linux-image-cloud-amd64 busybox-static cpio) ;;
    --slurm) packages+=(slurmctld slurmd slurm-client munge) ;;
    --page)
      packages+=(chromium)
      command -v node >/dev/null || packages+=(nodejs)
      command -v npm >/dev/null || packages+=(npm)
      page="yes"
      ;;
    --torch)
      packages+=(python3-venv)
      torch="yes"
      ;;
    *)
      echo "setup.sh: unknown option $1 (known: --vm --page --slurm --torch)" >&2
      exit 2
      ;;
  esac
  shift
done

# After the packages of Debian: those of the page, as its lock file names them.
install_page() {
  [ -n "$page" ] || return 0
  local folder
  folder="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/traces/page"
  cmp -s "$folder/package-lock.json" "$folder/node_modules/.installed-lock.json" && return 0
  (cd "$folder" && npm ci --no-audit --no-fund --loglevel=error && cp package-lock.json node_modules/.installed-lock.json)
}

# PyTorch for the CPU: any other version of the package brings gigabytes of CUDA. The rest is what torch-spyre needs.
install_torch() {
  [ -n "$torch" ] || return 0
  local venv
  venv="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/build/torch-venv"
  [ -e "$venv/.installed" ] && return 0
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy psutil regex jinja2 pyyaml expecttest \
    ninja setuptools wheel pytest pytest-xdist pytest-timeout
  touch "$venv/.installed"
}

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  install_page
  install_torch
  exit
fi

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
install_page
install_torch
