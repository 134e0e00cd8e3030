# SPDX-License-Identifier: Apache-2.0
# The bring-up program of the installation, from an empty directory: on the simulated card, and on one that is served.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/empty ${WORK}/sockets)
execute_process(COMMAND ${PREFIX}/bin/spyre-bringup --rung 1-4 --report report.html --json results.json --junit junit.xml
  WORKING_DIRECTORY ${WORK}/empty RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(failed)
  message(FATAL_ERROR "${failed}\n${output}")
endif()
expect("${output}" " 0 failed, 0 could not run")
foreach(file report.html results.json junit.xml)
  if(NOT EXISTS ${WORK}/empty/${file})
    message(FATAL_ERROR "no ${file}")
  endif()
endforeach()
execute_process(COMMAND ${PREFIX}/bin/spyre-bringup --backend vfio-user:${WORK}/sockets --rung 1
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 2)
  message(FATAL_ERROR "nobody serves a card, and the status is ${status}\n${output}")
endif()
