#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every parser's fuzzer for some seconds: tests/fuzz/run_parsers.sh [SECONDS_EACH [NAME...]]
# New inputs and crashes go to build/fuzz; the committed seeds are only read.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds="${1:-3}"
shift || true
[ -f build/asan/build.ninja ] || cmake --preset asan >/dev/null
cmake --build --preset asan --target parser_fuzzers >&2
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(expression op_spec sdsc mlir spyrecode npy program config recording trace)
for name in "${names[@]}"; do
  mkdir -p "build/fuzz/corpus/$name" "build/fuzz/crashes"
  dictionary=()
  [ -f "tests/fuzz/parsers/$name.dict" ] && dictionary=("-dict=tests/fuzz/parsers/$name.dict")
  echo "fuzz_$name: $seconds s"
  ASAN_OPTIONS=detect_leaks=1:intercept_tls_get_addr=0 LSAN_OPTIONS="suppressions=$PWD/cmake/lsan.supp:print_suppressions=0" \
    build/asan/tests/fuzz/parsers/fuzz_"$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -max_len=16384 -verbosity=0 -print_final_stats=0 "${dictionary[@]}" \
    -artifact_prefix="build/fuzz/crashes/$name-" "build/fuzz/corpus/$name" "tests/fuzz/corpus/$name"
done
