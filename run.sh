#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds and runs: ./run.sh [CONFIG.toml] [options of `spyre-cosim run`]
# Without arguments: the tiled matmul, configs/tiled_matmul.toml.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
source "$root/cmake/build.sh"

here="$(realpath --relative-to="$PWD" "$root")"
program="$here/build/release/spyre-cosim"
if [ $# -eq 0 ] || [[ "$1" == --* ]]; then set -- "$here/configs/tiled_matmul.toml" "$@"; fi

"$root/setup.sh"
(
  cd "$root"
  build spyre-cosim
)
# What the run needs beside the program: nothing, the RTL of the card's blocks, the reader of bundle.mlir. Mistakes in
# the arguments are told by the run itself.
modules=($("$program" run "$@" --modules 2>/dev/null | grep -x 'spyre_[a-z_]*' || true))
if [ ${#modules[@]} -gt 0 ]; then
  (
    cd "$root"
    build "${modules[@]}"
  )
fi
exec "$program" run "$@"
