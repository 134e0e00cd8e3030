#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run_in_venv.sh VENV TEST.py: the tests of the file with the interpreter of VENV. Exit status 77: there is no such environment.
set -euo pipefail
[ -x "$1/bin/python" ] || { echo "skipped: there is no $1; ./setup.sh --torch makes it"; exit 77; }
export PATH=$1/bin:$PATH
exec "$1/bin/python" -m pytest -q -p no:cacheprovider "$2"
