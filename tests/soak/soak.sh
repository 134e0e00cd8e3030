#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/soak/soak.sh [OPTION...]: builds the soak campaign (docs/security.md) and runs it, a day of simulated time if the
# options do not say otherwise.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -f build/release/build.ninja ] || cmake --preset release
cmake --build --preset release --target spyre-soak
exec build/release/spyre-soak --hours 24 --seed 1 "$@"
