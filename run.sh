#!/usr/bin/env bash
# Sets up, builds and runs: ./run.sh [CONFIG.toml] [options of `spyre-cosim run`]
# Without arguments: the tiled matmul, configs/tiled_matmul.toml.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

"$root/setup.sh"
(
  cd "$root"
  [ -f build/release/build.ninja ] || cmake --preset release >/dev/null
  cmake --build --preset release --target spyre-cosim >&2 # standard output is the run's
)

here="$(realpath --relative-to="$PWD" "$root")"
if [ $# -eq 0 ] || [[ "$1" == --* ]]; then set -- "$here/configs/tiled_matmul.toml" "$@"; fi
exec "$here/build/release/spyre-cosim" run "$@"
