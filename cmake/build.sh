# SPDX-License-Identifier: Apache-2.0
# Sourced by run.sh and test.sh.
# build TARGET...: configures if needed and builds, on standard error, and tells how far it is and what is left.
build() {
  if [ ! -f build/release/build.ninja ]; then
    local log
    log="$(cmake --preset release 2>&1)" || {
      echo "$log" >&2
      echo "cmake could not configure the build; what it says is above" >&2
      return 1
    }
  fi
  # As many compilers as processors: two more, as ninja has them, cost a twentieth more time of each and a gigabyte.
  # NINJA_STATUS: done and all steps.
  NINJA_STATUS="[%f %t] " cmake --build --preset release -j "$(nproc)" --target "$@" 2>&1 | progress "$*" >&2
}

# progress WHAT: reads what ninja writes; tells the steps, and the time that is left at the speed of the last twenty. On a
# terminal that is one line, which is gone at the end; elsewhere a line after ten seconds and then every half minute. What
# is no step, like the message of a compiler, is passed on.
progress() {
  local line done all last count left start tell_at text="" terminal=""
  local -a ended=() # when the last twenty steps did, in milliseconds
  [ -t 1 ] && terminal="yes"
  start="$(now_ms)"
  ended[0]=$start
  tell_at=$((start + 10000))
  while IFS= read -r line; do
    if ! [[ "$line" =~ ^\[([0-9]+)\ ([0-9]+)\]\  ]]; then
      [ -z "$terminal" ] || printf '\r\e[K'
      case "$line" in "ninja: no work to do." | "ninja: Entering directory "*) ;; *) printf '%s\n' "$line" ;; esac
      continue
    fi
    done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
    [ "$done" -gt 0 ] || continue # ninja looks whether files have come or gone
    last="$(now_ms)"
    count=$((done < 20 ? done : 20))
    left=$(((last - ${ended[(done - count) % 21]:-$start}) * (all - done) / count / 1000))
    ended[done % 21]=$last
    text="building $1: $done of $all steps"
    if [ "$left" -ge 60 ]; then text+=", about $(((left + 30) / 60)) min left"; fi
    if [ -n "$terminal" ]; then
      printf '\r\e[K%s' "$text"
    elif [ "$last" -ge "$tell_at" ] && [ "$done" -lt "$all" ]; then
      [ "$left" -ge 60 ] || text+=", less than a minute left"
      printf '%s\n' "$text"
      tell_at=$((last + 30000))
    fi
  done
  [ -z "$terminal" ] || printf '\r\e[K'
}

now_ms() { local now="${EPOCHREALTIME/[.,]/}"; echo "${now%???}"; }
