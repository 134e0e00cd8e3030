#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy over all C and C++ of the product: tests/tidy.sh [PATTERN of paths]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ -f build/tidy/build.ninja ] ||
  cmake -S . -B build/tidy -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
    -DCMAKE_UNITY_BUILD=ON -DSPYRE_BUILD_TESTS=OFF >/dev/null
cmake --build build/tidy --target spyre_contract_generated spyre_rtl_generated spyre_module_interfaces traces/report_page.cc >/dev/null
# A unity file includes .cc files. One entry a translation unit; the firmware is compiled for two machines, the host's serves.
sed -n 's/^  "file": "\(.*\)",\?$/\1/p' build/tidy/compile_commands.json | sort -u |
  grep -E "${1:-.}" | grep -vE '/verilator/|/rtl/[a-z_0-9]+/V|precompiled\.cc|build_info|\.S$' |
  xargs -P "$(nproc)" -n 1 clang-tidy-14 -p build/tidy --quiet \
    --header-filter='/(base|bringup|cosim|driver|firmware|model|python|runtime|traces)/.*\.(h|cc|c)$' \
    --checks=-clang-analyzer-*,-bugprone-suspicious-include --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-optimization-argument 2>&1 |
  grep -v -E '^[0-9]+ warnings? generated|^Suppressed|^Use -header-filter|^$' || [ "${PIPESTATUS[4]}" -eq 0 ]
