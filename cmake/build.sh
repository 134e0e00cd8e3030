# SPDX-License-Identifier: Apache-2.0
# Sourced by run.sh and test.sh.
# build TARGET...: configures if needed and builds, on standard error; on a terminal one line shows how far it is.
build() {
  if [ ! -f build/release/build.ninja ]; then
    local log
    log="$(cmake --preset release 2>&1)" || {
      echo "$log" >&2
      echo "cmake could not configure the build; what it says is above" >&2
      return 1
    }
  fi
  # done/all steps, seconds so far
  NINJA_STATUS="building %f/%t (%es) " cmake --build --preset release --target "$@" >&2
}
# announce MINUTES WHAT TARGET_FILE: what comes, if it is not there yet.
announce() { [ -e "$3" ] || echo "building $2: about $1 on two cores the first time" >&2; }
