#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/torch/run.sh PATH [EVERY [TESTS...]]: builds the checkout of torch-spyre at PATH against the SDK of this build and
# runs every EVERY-th (6) of the sorted ids of its tests, each file in a process of its own, for a test can spoil the next.
# TESTS: files or folders below PATH; by default all that need no other device. Writes build/torch-tests/table.md.
# The interpreter is that of build/torch-venv (./setup.sh --torch); SPYRE_TORCH_PYTHON names another one, and
# SPYRE_SDK another SDK. SPYRE_TORCH_JOBS: files at once, one by default.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -ge 1 ] || { sed -n '3,8s/^# //p' "$0" >&2; exit 2; }
path=$(cd "$1" && pwd)
every=${2:-6}
shift $(($# < 2 ? $# : 2))
python=${SPYRE_TORCH_PYTHON:-$root/build/torch-venv/bin/python}
sdk=${SPYRE_SDK:-$root/build/release/sdk}
out=$root/build/torch-tests
[ -x "$python" ] || { echo "run.sh: there is no $python; run ./setup.sh --torch" >&2; exit 2; }
[ -e "$sdk/lib/libflex.so" ] || { echo "run.sh: there is no $sdk; build the target spyre_sdk" >&2; exit 2; }

export RUNTIME_INSTALL_DIR=$sdk SENLIB_INSTALL_DIR=$sdk DEEPTOOLS_INSTALL_DIR=$sdk SPYRE_COMMS_INSTALL_DIR=$sdk SEN_COMMON_HEADERS=$sdk/include
export NEW_SYSTEM_SETUP=1 USE_SPYRE_PROFILER=1 USE_SPYRE_CCL=1
export LD_LIBRARY_PATH=$sdk/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
PATH=$sdk/bin:$(dirname "$python"):$PATH
export PATH PYTHONPATH=$root/tests/torch${PYTHONPATH:+:$PYTHONPATH}
mkdir -p "$out/deps/nlohmann/include"
ln -sfn /usr/include/nlohmann "$out/deps/nlohmann/include/nlohmann"
export SHARED_DEPS_DIR=$out/deps TORCHINDUCTOR_CACHE_DIR=$out/inductor

if ! (cd "$path" && "$python" -c 'import torch, torch_spyre._C' 2> /dev/null); then
  echo "building $path (some minutes; $out/build.log)"
  (cd "$path" && MAX_JOBS=${MAX_JOBS:-2} "$python" -m pip install --no-build-isolation --no-deps -e .) \
    > "$out/build.log" 2>&1 || { tail -30 "$out/build.log" >&2; exit 1; }
fi
cd "$path"
[ $# -gt 0 ] || set -- tests/inductor tests/tensor tests/op_specs tests/test_*.py
"$python" -m pytest --collect-only -q -p no:cacheprovider "$@" 2> /dev/null | grep '::' | LC_ALL=C sort \
  | awk -v every="$every" 'NR % every == 1 % every' > "$out/ids.txt" || true
echo "$(wc -l < "$out/ids.txt") tests"
rm -rf "$out/results"
mkdir -p "$out/results"
cut -d: -f1 "$out/ids.txt" | uniq | while read -r file; do
  name=${file//\//_}
  grep -F "$file::" "$out/ids.txt" > "$out/results/$name.ids"
  echo "$name"
done > "$out/files.txt"
one() {
  set +e
  timeout 3600 "$1" -m pytest -q -p no:cacheprovider --timeout 300 -o junit_logging=no --junitxml "$2.xml" "@$2.ids" \
    > "$2.log" 2>&1
  echo "$(basename "$2"): $(tail -1 "$2.log")"
}
export -f one
sed "s|^|$out/results/|" "$out/files.txt" | xargs -P "${SPYRE_TORCH_JOBS:-1}" -I{} bash -c "one '$python' {}"
"$python" "$root/tests/torch/table.py" "$out/results" > "$out/table.md"
cat "$out/table.md"
