#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds everything and runs every test: ./test.sh [options of ctest]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source cmake/build.sh

./setup.sh
build all
# Most tests are a moment of a simulated card. A tenth of that was page faults: glibc asks for huge pages. Another tenth
# was making and removing files: they are made in memory, where it has the room, and lets tests run the scripts they write.
room="$(df --output=avail /dev/shm 2>/dev/null | tail -n 1 || true)" # KiB; nothing where there is no such place
if [ -z "${TMPDIR:-}" ] && [ "${room:-0}" -ge 4000000 ] && ! grep -q ' /dev/shm [^ ]* [^ ]*noexec' /proc/mounts; then
  TMPDIR="$(mktemp -d /dev/shm/spyre_tests.XXXXXX)"
  export TMPDIR
  trap 'rm -rf "$TMPDIR"' EXIT
fi
GLIBC_TUNABLES=glibc.malloc.hugetlb=1 ctest --preset release -j "$(nproc)" "$@"
