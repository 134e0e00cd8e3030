# SPDX-License-Identifier: Apache-2.0
# The driver example, without CMake.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(ENV{PKG_CONFIG_PATH} ${PREFIX}/lib/pkgconfig)
set(example ${PREFIX}/share/spyre-cosim/examples/driver)
function(flags_of result)
  run(pkg-config ${ARGN})
  separate_arguments(output UNIX_COMMAND "${output}")
  set(${result} ${output} PARENT_SCOPE)
endfunction()
flags_of(cflags --cflags spyre-driver)
if("${cflags}" MATCHES "SC_INCLUDE")
  message(FATAL_ERROR "a driver needs no SystemC: ${cflags}")
endif()
run(${CXX} -std=c++17 ${cflags} -c ${example}/copy_driver.cc -o ${WORK}/copy_driver.o)
flags_of(flags --cflags --libs spyre-cosim)
run(${CXX} -std=c++17 -I${example} ${example}/main.cc ${WORK}/copy_driver.o ${flags} -o ${WORK}/driver_example)
run(${WORK}/driver_example)
message("${output}")

# A testbench has an sc_main of its own, also beside libraries that bring one.
set(testbench ${PREFIX}/share/spyre-cosim/examples/testbench)
run(${CXX} -std=c++17 -I${testbench} ${testbench}/main.cc ${flags} -o ${WORK}/testbench)
run(${WORK}/testbench)
expect("${output}" "the copy is right")

# A program of others finds the modules of the installation by its run path.
file(WRITE ${WORK}/module.cc "
#include <base/module.h>
int main() { try { spyre::ModuleSymbol({\"spyre_rtl_blocks\", \"RTL\"}, \"none\"); } catch (...) {} }
")
run(${CXX} -std=c++17 ${WORK}/module.cc ${flags} -o ${WORK}/module)
run(${CMAKE_COMMAND} -E env LD_DEBUG=files LD_DEBUG_OUTPUT=${WORK}/loaded ${WORK}/module)
file(GLOB loaded ${WORK}/loaded.*)
file(READ ${loaded} loaded)
expect("${loaded}" "calling init: ${PREFIX}/lib/[^ ]*spyre-cosim/libspyre_rtl_blocks.so")
