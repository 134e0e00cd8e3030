#!/usr/bin/env bash
# Sets up, builds everything and runs every test: ./test.sh [options of ctest]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

./setup.sh
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build --preset release
ctest --preset release -j "$(nproc)" "$@"
