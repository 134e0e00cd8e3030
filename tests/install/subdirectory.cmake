# SPDX-License-Identifier: Apache-2.0
# The sources as a part of another build.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
file(REMOVE_RECURSE ${WORK})
file(WRITE ${WORK}/source/CMakeLists.txt "
cmake_minimum_required(VERSION 3.25)
project(outer LANGUAGES C CXX ASM)
set(CMAKE_CXX_STANDARD 17)
add_subdirectory(${SOURCE} spyre-cosim EXCLUDE_FROM_ALL)
add_library(copy_driver STATIC ${SOURCE}/examples/driver/copy_driver.cc)
target_link_libraries(copy_driver PUBLIC spyre::driver)
# Warnings are errors for this project only.
get_target_property(options spyre::driver INTERFACE_COMPILE_OPTIONS)
if(options OR TARGET unit_model)
  message(FATAL_ERROR \"options for users: \${options}; or tests for users\")
endif()
foreach(target runtime model cosim bringup)
  if(NOT TARGET spyre::\${target})
    message(FATAL_ERROR \"no spyre::\${target}\")
  endif()
endforeach()
")
# This asks whether it builds. The outer project says nothing of optimisation, which would cost a fourth more, and wants no
# precompiled headers, which take longer than what they save of so little.
run(${CMAKE_COMMAND} -G Ninja -S ${WORK}/source -B ${WORK}/build -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_UNITY_BUILD=ON
  -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON)
run(${CMAKE_COMMAND} --build ${WORK}/build)
