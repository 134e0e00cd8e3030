# SPDX-License-Identifier: Apache-2.0
# Installs, and moves the result: nothing in it may depend on where it was put first.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
file(REMOVE_RECURSE ${PREFIX} ${PREFIX}.first)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX}.first)
file(RENAME ${PREFIX}.first ${PREFIX})

run(${PREFIX}/bin/spyre-cosim --version)
expect("${output}" "spyre-cosim")
foreach(file include/spyre-cosim/contract/registers.h include/spyre-cosim/contract/spyre_registers.h
    share/spyre-cosim/rtl/spyre_pkg.sv share/spyre-cosim/configs/matmul.toml share/man/man1/spyre-cosim.1
    share/bash-completion/completions/spyre-cosim lib/pkgconfig/spyre-driver.pc)
  if(NOT EXISTS ${PREFIX}/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()
file(GLOB_RECURSE texts ${PREFIX}/lib/*.cmake ${PREFIX}/lib/*.pc ${PREFIX}/include/*)
foreach(file ${texts})
  file(STRINGS ${file} paths REGEX "${SOURCE}/|${BUILD}/")
  if(paths)
    message(FATAL_ERROR "${file} has paths of the build: ${paths}")
  endif()
endforeach()

# The lists of sources of the RTL blocks are whole, and in order.
file(GLOB lists ${PREFIX}/share/spyre-cosim/rtl/*.f)
list(LENGTH lists count)
if(NOT count EQUAL 3)
  message(FATAL_ERROR "source lists: ${lists}")
endif()
foreach(list ${lists})
  file(STRINGS ${list} first LIMIT_COUNT 1)
  string(REGEX REPLACE "^// Top module ([a-z_]+):.*" "\\1" top "${first}")
  run(verilator --lint-only --Wall --top-module ${top} ${PREFIX}/share/spyre-cosim/rtl/generated_package.vlt -F ${list})
endforeach()
