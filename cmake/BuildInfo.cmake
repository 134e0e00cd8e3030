# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE_DIR=... -DOUTPUT=... -DVERSION=... -DCOMPILER=... -DSYSTEMC=... -DVERILATOR=... -P BuildInfo.cmake
# Writes base/build_info/build_info.cc.in with the commit of the sources, if that changes the file.
set(COMMIT "unknown")
set(MODIFIED "false")
find_package(Git QUIET)
if(Git_FOUND)
  set(git ${CMAKE_COMMAND} -E env GIT_OPTIONAL_LOCKS=0 ${GIT_EXECUTABLE} -C ${SOURCE_DIR})
  execute_process(COMMAND ${git} rev-parse --short=12 HEAD OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(COMMIT ${head})
    execute_process(COMMAND ${git} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes)
    if(changes)
      set(MODIFIED "true")
    endif()
  endif()
endif()
configure_file(${SOURCE_DIR}/base/build_info/build_info.cc.in ${OUTPUT} @ONLY)
