#!/usr/bin/env bash
# Line and toggle coverage of the RTL blocks by their suites: tests/coverage.sh
# Builds build/coverage, runs what drives the RTL, and prints a table; the counts go to build/coverage/rtl.dat, the
# annotated sources to build/coverage/annotated.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=build/coverage
# Only the generated code of the RTL is worth optimising (spyre_verilated_options does).
[ -f $build/build.ninja ] ||
  cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DSPYRE_RTL_COVERAGE=ON >/dev/null
cmake --build $build --target rtl_suites >&2
export SPYRE_COVERAGE_DIR="$PWD/$build/counts"
rm -rf "$SPYRE_COVERAGE_DIR" $build/annotated
mkdir -p "$SPYRE_COVERAGE_DIR"
ctest --test-dir $build -j "$(nproc)" --output-on-failure -R "${1:-.}" -L rtl >&2
verilator_coverage --write $build/rtl.dat "$SPYRE_COVERAGE_DIR"/*.dat >&2
verilator_coverage --annotate $build/annotated --annotate-min 1 $build/rtl.dat >&2
awk -f tests/coverage.awk $build/rtl.dat
