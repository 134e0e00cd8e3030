# SPDX-License-Identifier: Apache-2.0
# Builds an example of the installation out of tree, and runs it.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
if(NOT FLAGS)
  set(FLAGS "-Wall -Wextra -Werror")
endif()
file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} -G Ninja -S ${PREFIX}/share/spyre-cosim/examples/${EXAMPLE} -B ${WORK} -DCMAKE_PREFIX_PATH=${PREFIX}
  -DCMAKE_CXX_COMPILER=${CXX} "-DCMAKE_CXX_FLAGS=${FLAGS}")
run(${CMAKE_COMMAND} --build ${WORK})
set(arguments "")
if(LIST)
  run(${PREFIX}/bin/spyre-cosim compile ${PREFIX}/share/spyre-cosim/examples/${EXAMPLE}/${LIST} -o ${WORK}/spyrecode)
  set(arguments ${WORK}/spyrecode)
endif()
run(${WORK}/${PROGRAM} ${arguments})
message("${output}")
