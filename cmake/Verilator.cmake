# SPDX-License-Identifier: Apache-2.0
# RTL blocks: SystemVerilog to C++ classes by Debian's Verilator. The package of the contract is made in the
# build, so Verilator runs in the build too (the verilate() of its own CMake file runs at configure time).
find_program(VERILATOR verilator REQUIRED)
execute_process(COMMAND ${VERILATOR} --getenv VERILATOR_ROOT OUTPUT_VARIABLE VERILATOR_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE)
find_package(ZLIB REQUIRED)
find_package(Threads REQUIRED)

option(SPYRE_RTL_COVERAGE "Line and toggle coverage of the RTL blocks (tests/coverage.sh)" OFF)

# Generated code and Verilator's own: no warnings of ours, no sanitizers, always optimised (less with coverage,
# whose counters keep a compiler busy for minutes), for modules.
add_library(spyre_verilated_options INTERFACE)
target_compile_options(spyre_verilated_options INTERFACE -w $<IF:$<BOOL:${SPYRE_RTL_COVERAGE}>,-O1,-O2> -fno-sanitize=all -fPIC -fvisibility=hidden)
target_compile_definitions(spyre_verilated_options INTERFACE
  VERILATOR=1 VM_COVERAGE=$<BOOL:${SPYRE_RTL_COVERAGE}> VM_SC=0 VM_TRACE=1 VM_TRACE_FST=1 VM_TRACE_VCD=0
  VL_TIME_CONTEXT)
target_include_directories(spyre_verilated_options SYSTEM INTERFACE
  ${VERILATOR_ROOT}/include ${VERILATOR_ROOT}/include/vltstd)

add_library(spyre_verilated STATIC
  ${VERILATOR_ROOT}/include/verilated.cpp ${VERILATOR_ROOT}/include/verilated_threads.cpp
  ${VERILATOR_ROOT}/include/verilated_fst_c.cpp $<$<BOOL:${SPYRE_RTL_COVERAGE}>:${VERILATOR_ROOT}/include/verilated_cov.cpp>
  ${PROJECT_SOURCE_DIR}/model/rtl/verilated/library/stop.cc)
target_link_libraries(spyre_verilated PUBLIC ZLIB::ZLIB Threads::Threads fmt::fmt PRIVATE spyre_verilated_options)
set_target_properties(spyre_verilated PROPERTIES UNITY_BUILD OFF)
target_include_directories(spyre_verilated PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_options(spyre_verilated PRIVATE -include ${PROJECT_SOURCE_DIR}/model/rtl/verilated/library/stop.h)
target_include_directories(spyre_verilated SYSTEM PUBLIC
  ${VERILATOR_ROOT}/include ${VERILATOR_ROOT}/include/vltstd)
target_compile_definitions(spyre_verilated PUBLIC
  VL_TIME_CONTEXT VM_TRACE=1 VM_TRACE_FST=1 VM_COVERAGE=$<BOOL:${SPYRE_RTL_COVERAGE}>)

add_custom_target(spyre_rtl_generated) # what Verilator writes, without compiling it

# spyre_rtl(NAME TOP module SOURCES file...): the library spyre_rtl_NAME with class VNAME, header VNAME.h. The
# contract's package comes first by itself. Lint is part of it: every warning is an error.
function(spyre_rtl name)
  cmake_parse_arguments(RTL "" "TOP" "SOURCES" ${ARGN})
  set(dir ${PROJECT_BINARY_DIR}/rtl/${name})
  set(package ${PROJECT_BINARY_DIR}/generated/contract/spyre_pkg.sv)
  set(waivers ${PROJECT_SOURCE_DIR}/model/rtl/generated_package.vlt)
  set(sources ${package})
  foreach(source ${RTL_SOURCES})
    list(APPEND sources ${CMAKE_CURRENT_SOURCE_DIR}/${source})
  endforeach()
  if(CMAKE_CURRENT_SOURCE_DIR STREQUAL ${PROJECT_SOURCE_DIR}/model/rtl) # what others use; tests have benches of their own
    list(JOIN RTL_SOURCES "\n" lines)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/rtl/${name}.f @ONLY CONTENT
      "// Top module ${RTL_TOP}: its sources in order of use, from the directory of this file (option -F).\nspyre_pkg.sv\n${lines}\n")
    install(FILES ${PROJECT_BINARY_DIR}/generated/rtl/${name}.f DESTINATION ${SPYRE_INSTALL_RTL} COMPONENT development)
  endif()
  set(coverage "")
  if(SPYRE_RTL_COVERAGE)
    set(coverage --coverage-line --coverage-toggle)
  endif()
  add_custom_command(OUTPUT ${dir}/V${name}__ALL.cpp ${dir}/V${name}__AllSlow.cpp ${dir}/V${name}.h
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${dir}
    COMMAND ${VERILATOR} --cc --Wall --trace-fst --trace-structs -O3 --x-assign fast --x-initial unique --assert
      ${coverage} --prefix V${name} --top-module ${RTL_TOP} --Mdir ${dir} ${waivers} ${sources}
    COMMAND ${CMAKE_COMMAND} -DDIR=${dir} -DNAME=V${name} -P ${PROJECT_SOURCE_DIR}/cmake/VerilatedAll.cmake
    DEPENDS ${sources} ${waivers} ${PROJECT_SOURCE_DIR}/cmake/VerilatedAll.cmake spyre_contract_generated
    COMMENT "Verilating ${name}" VERBATIM)
  add_custom_target(spyre_rtl_${name}_generated DEPENDS ${dir}/V${name}.h)
  add_dependencies(spyre_rtl_generated spyre_rtl_${name}_generated)
  add_library(spyre_rtl_${name} STATIC ${dir}/V${name}__ALL.cpp ${dir}/V${name}__AllSlow.cpp)
  set_target_properties(spyre_rtl_${name} PROPERTIES UNITY_BUILD OFF)
  # More than half of the code makes an object or lists the signals of a trace: it takes longer to optimise than to run.
  set_source_files_properties(${dir}/V${name}__AllSlow.cpp PROPERTIES COMPILE_OPTIONS -O0)
  target_link_libraries(spyre_rtl_${name} PUBLIC spyre_verilated PRIVATE spyre_verilated_options)
  target_include_directories(spyre_rtl_${name} SYSTEM PUBLIC ${dir})
endfunction()
