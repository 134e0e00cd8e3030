#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds everything and runs every test: ./test.sh [options of ctest]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source cmake/build.sh

./setup.sh
build all
ctest --preset release -j "$(nproc)" "$@"
