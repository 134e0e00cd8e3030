#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Line and toggle coverage of the RTL blocks by their suites: tests/coverage.sh [pattern of test names]
# Only the module of the blocks is built a second time, instrumented (build/coverage); the test programs of build/release
# find it beside them. The counts go to build/coverage/rtl.dat, the annotated sources to build/coverage/annotated.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source cmake/build.sh
build="$PWD/build/coverage"
build unit_rtl integration
[ -f "$build/build.ninja" ] || cmake --preset release -B "$build" -DSPYRE_RTL_COVERAGE=ON >/dev/null
cmake --build "$build" --target spyre_rtl_blocks >&2
export SPYRE_COVERAGE_DIR="$build/counts"
rm -rf "$SPYRE_COVERAGE_DIR" "$build/annotated" "$build/bin"
mkdir -p "$SPYRE_COVERAGE_DIR" "$build/bin"
cp "$build/libspyre_rtl_blocks.so" build/release/tests/{unit_rtl,integration} "$build/bin"

# "program test", one a line; one process for each, as SystemC wants it.
tests() {
  "$build/bin/$1" --gtest_list_tests --gtest_filter="$2" |
    awk -v program="$1" '/^[^ ]/ { suite = $1; next } { print program " " suite $1 }' | grep -E "${pattern}" || true
}
pattern="${1:-.}"
{
  tests unit_rtl '*'
  tests integration 'Control*:*Parity*:*Rtl*:Waves*:Event*'
} | xargs -P "$(nproc)" -n 2 sh -c '
  log="$(mktemp -p "$0/counts")"
  "$0/bin/$1" --gtest_filter="$2" --gtest_brief=1 >"$log" 2>&1 || { cat "$log" >&2; exit 255; }' "$build"
verilator_coverage --write "$build/rtl.dat" "$SPYRE_COVERAGE_DIR"/*.dat >&2
verilator_coverage --annotate "$build/annotated" --annotate-min 1 "$build/rtl.dat" >&2
awk -f tests/coverage.awk "$build/rtl.dat"
