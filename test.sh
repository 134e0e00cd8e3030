#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds everything and runs every test: ./test.sh [options of ctest]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source cmake/build.sh

./setup.sh
build all
# Most tests are a moment of a simulated card, a tenth of which was page faults: glibc asks for huge pages.
GLIBC_TUNABLES=glibc.malloc.hugetlb=1 ctest --preset release -j "$(nproc)" "$@"
