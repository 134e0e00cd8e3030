# SPDX-License-Identifier: Apache-2.0
# The Debian packages: what they contain and need. What the program needs is compared with what it is linked with.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
file(REMOVE_RECURSE ${WORK})
run(cpack --config ${BUILD}/CPackConfig.cmake -B ${WORK})
file(GLOB program ${WORK}/spyre-cosim_*.deb)
file(GLOB development ${WORK}/spyre-cosim-dev_*.deb)

run(dpkg-deb -f ${program} Depends)
set(depends "${output}")
run(ldd ${PREFIX}/bin/spyre-cosim)
string(REGEX MATCHALL "=> /[^ ]+" lines "${output}")
foreach(line ${lines})
  string(REGEX REPLACE "^=> " "" library ${line})
  file(REAL_PATH ${library} library)
  # Debian 12 knows some libraries by /lib, which is a link to /usr/lib.
  string(REGEX REPLACE "^/usr" "" short ${library})
  execute_process(COMMAND dpkg -S ${library} ${short} OUTPUT_VARIABLE output ERROR_QUIET)
  string(REGEX REPLACE ":.*" "" package "${output}")
  string(REPLACE "+" "[+]" package ${package})
  expect("${depends}" "(^|, )${package}( |,|\n)")
endforeach()
expect("${depends}" "libmlir-19") # of a module

run(dpkg-deb -f ${development} Depends)
set(depends "${output}")
expect("${depends}" "spyre-cosim \\(= [0-9.]+\\)")
foreach(package libsystemc-dev libfmt-dev nlohmann-json3-dev libtomlplusplus-dev libxxhash-dev libzstd-dev zlib1g-dev libsqlite3-dev libgmock-dev)
  expect("${depends}" ${package})
  run(dpkg-query -W ${package}) # as Debian calls it
endforeach()
# The program finds its modules where the package puts them.
run(dpkg-deb -x ${program} ${WORK}/root)
run(${CMAKE_COMMAND} -E env LD_DEBUG=files LD_DEBUG_OUTPUT=${WORK}/loaded ${WORK}/root/usr/bin/spyre-cosim run
  ${WORK}/root/usr/share/spyre-cosim/configs/add.toml --set card.management.fidelity=rtl --out ${WORK}/out --no-progress)
file(GLOB loaded ${WORK}/loaded.*)
file(READ ${loaded} loaded)
expect("${loaded}" "calling init: ${WORK}/root/usr/bin/../lib/spyre-cosim/libspyre_rtl_blocks.so")

run(dpkg-deb -c ${program})
expect("${output}" "/usr/bin/spyre-cosim\n")
expect("${output}" "/usr/bin/spyre-bringup\n")
expect("${output}" "/usr/lib/python3/dist-packages/spyre_cosim/__init__.py\n")
expect("${output}" "/usr/share/man/man1/spyre-bringup.1")
expect("${output}" "/usr/lib/spyre-cosim/libspyre_rtl_blocks.so\n")
expect("${output}" "/usr/share/man/man1/spyre-cosim.1")
run(dpkg-deb -c ${development})
expect("${output}" "/usr/include/spyre-cosim/contract/registers.h\n")
expect("${output}" "/usr/lib/cmake/spyre-cosim/spyre-cosim-config.cmake\n")
