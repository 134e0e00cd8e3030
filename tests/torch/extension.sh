#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# extension.sh VENV SDK: extension_test.py with the interpreter of VENV. Exit status 77: there is no such environment.
set -euo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
[ -x "$1/bin/python" ] || { echo "skipped: there is no $1; ./setup.sh --torch makes it"; exit 77; }
export SPYRE_SDK=$2 SPYRE_BUNDLES=$folder/../data/bundles PATH=$1/bin:$PATH
exec "$1/bin/python" -m pytest -q -p no:cacheprovider "$folder/extension_test.py"
