# SPDX-License-Identifier: Apache-2.0
# run(COMMAND...): runs it; what it prints is shown, and is in `output`. Anything but success ends the test.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(failed)
    message(FATAL_ERROR "${ARGN}: ${failed}\n${out}${err}")
  endif()
  set(output "${out}" PARENT_SCOPE)
endfunction()

# expect(TEXT PATTERN): the output has it.
function(expect text pattern)
  if(NOT text MATCHES "${pattern}")
    message(FATAL_ERROR "no '${pattern}' in:\n${text}")
  endif()
endfunction()
