#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What run.sh and test.sh tell of a build (cmake/build.sh). The clock is the test's: the times at which steps end.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../cmake/build.sh"

now_ms() {
  local time
  read -r time <&3
  echo "$time"
}

# expect WHAT TIMES LINES WANTED: what is told of these lines of ninja; times in milliseconds, first that of the start.
expect() {
  local got
  got="$(printf '%b' "$3" | progress everything 3< <(printf '%s\n' $2))"
  [ "$got" = "$4" ] && return
  printf '%s\nwanted:\n%s\ngot:\n%s\n' "$1" "$4" "$got"
  failed=1
}
failed=0

expect "A build of a moment says nothing." "0 9000" "[0 2] Re-checking globbed directories...\n[1 2] Compiling\n" ""
expect "After ten seconds: what is left at the speed so far." "0 6000 12000" "[1 62] a\n[2 62] b\n" \
  "building everything: 2 of 62 steps, about 6 min left"
expect "Then every half minute." "0 11000 12000 41000" "[1 5] a\n[2 5] b\n[3 5] c\n" \
  "building everything: 1 of 5 steps, less than a minute left
building everything: 3 of 5 steps, less than a minute left"
expect "The last twenty steps count: five slow ones are forgotten." \
  "0 1 2 3 4 100000 $(seq 101000 1000 131000 | tr '\n' ' ')" "$(for i in $(seq 36); do printf '[%s 145] a\\n' "$i"; done)" \
  "building everything: 5 of 145 steps, about 47 min left
building everything: 35 of 145 steps, about 2 min left"
expect "Messages of compilers are passed on as they are." "0 1" "[1 2] a\nFAILED: a.o\n  a.cc:1: error: \\\\n [1/2]\n" \
  'FAILED: a.o
  a.cc:1: error: \n [1/2]'
expect "That there is nothing to do is not news." "0" "ninja: no work to do.\n" ""
exit "$failed"
