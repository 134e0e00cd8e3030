# SPDX-License-Identifier: Apache-2.0
# Compile options that hold for all of our code, and the helper that adds the library of one folder.
set(CMAKE_CXX_STANDARD 17) # the packaged SystemC is built as C++17 and refuses any other standard at link time
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(SPYRE_BUILD_TESTS "Build the tests and benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(SPYRE_SIMD "Code for AVX2, AVX-512 and SSE4.2 beside the plain form, chosen when the program runs" ON)
option(SPYRE_FUZZ "Build the libFuzzer targets (clang only)" OFF)
option(SPYRE_PYTHON "Build the Python package (pybind11 and NumPy of Debian's Python)" ${PROJECT_IS_TOP_LEVEL})
option(SPYRE_WHEEL "Build for a wheel: the Python package is installed as the prefix itself (pyproject.toml)" OFF)
option(SPYRE_SDK "Build the SDK for PyTorch's device: headers, libflex.so, dxp_standalone" ${PROJECT_IS_TOP_LEVEL})
set(SPYRE_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them (for example address,undefined)")

if(SPYRE_SANITIZE OR CMAKE_CXX_COMPILER_ID STREQUAL "Clang") # its tests are of what users get
  set(SPYRE_PYTHON OFF)
  set(SPYRE_SDK OFF)
endif()
set(SPYRE_PIC OFF) # one build of the libraries serves programs and what is a shared library
if(SPYRE_PYTHON OR SPYRE_SDK)
  set(SPYRE_PIC ON)
endif()
# Debian's Python runs the generators of sources, and is what the package is for; that of a PATH may be any other.
set(Python_EXECUTABLE /usr/bin/python3 CACHE FILEPATH "Python 3.11 or later; with NumPy, if the package is built")
set(python_components Interpreter)
if(SPYRE_PYTHON)
  list(APPEND python_components Development.Module)
endif()
find_package(Python 3.11 REQUIRED COMPONENTS ${python_components})
find_program(CCACHE ccache)
if(CCACHE)
  # pch_defines and time_macros let ccache serve translation units that use the precompiled SystemC header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

add_library(spyre_options INTERFACE)
target_compile_options(spyre_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror
  -fno-semantic-interposition -fstack-clash-protection
  # Numbers are bit-exact on every host: no silent fused multiply-add.
  -ffp-contract=off
  $<$<CXX_COMPILER_ID:Clang>:-Wno-gnu-zero-variadic-macro-arguments>) # TYPED_TEST_SUITE(Suite, Types)
# The compiler's garbage collector is told that there is memory, which is a tenth of the time of a build.
target_compile_options(spyre_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1048576>)
target_include_directories(spyre_options INTERFACE ${PROJECT_SOURCE_DIR})
if(NOT SPYRE_SIMD)
  target_compile_definitions(spyre_options INTERFACE SPYRE_SCALAR)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp") # ccache compares contents
endif()
if(SPYRE_FUZZ) # what is compiled for it: tests/fuzz/parsers
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
if(SPYRE_SANITIZE)
  add_compile_options(-fsanitize=${SPYRE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SPYRE_SANITIZE})
  if(SPYRE_SANITIZE MATCHES "thread")
    add_compile_options(-Wno-tsan) # it does not know fences; what is shared is ordered by atomics and locks too
  endif()
endif()

# What nearly every file of the product includes, read once. Folders with JSON or SystemC have a header of their own: a
# file that includes JSON costs half a second more than one that does not, precompiled or not. Text is appended by
# `text += fmt::format(...)`: format_to, and fmt::print to a stream, compile the whole formatter into a unit, which takes a
# second.
set_source_files_properties(${PROJECT_SOURCE_DIR}/cmake/precompiled.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
foreach(header precompiled precompiled_json precompiled_systemc)
  add_library(spyre_${header} STATIC ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
  target_link_libraries(spyre_${header} PUBLIC spyre_options fmt::fmt nlohmann_json::nlohmann_json)
  target_precompile_headers(spyre_${header} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/${header}.h)
  set_target_properties(spyre_${header} PROPERTIES POSITION_INDEPENDENT_CODE ${SPYRE_PIC})
endforeach()
target_link_libraries(spyre_precompiled_systemc PUBLIC SystemC::systemc)

set(SPYRE_UNIT_FILES 100) # with CMAKE_UNITY_BUILD, as many files are one translation unit

# How a library of the product is compiled: HEADER is the precompiled one, OPTIMISATION that of a release, -O3 if empty.
function(spyre_product_library library header optimisation)
  target_precompile_headers(${library} REUSE_FROM ${header})
  set_target_properties(${library} PROPERTIES UNITY_BUILD_BATCH_SIZE ${SPYRE_UNIT_FILES} POSITION_INDEPENDENT_CODE ${SPYRE_PIC})
  if(optimisation)
    target_compile_options(${library} PRIVATE $<$<CONFIG:Release>:${optimisation}>)
  endif()
  target_link_libraries(${library} PRIVATE $<BUILD_INTERFACE:spyre_options>) # warnings are errors for us, not for users
  target_include_directories(${library} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${SPYRE_INSTALL_INCLUDE}>)
endfunction()

# spyre_folder(PATH TO folder... LINK lib... PRIVATE lib...): the library of one folder, from all of its .cc files: spyre_
# and the path with underscores.
#   TO           the folders that it may include, and no others (tests/unit/layout/layout_test.cc reads them from folders.txt)
#   HOT          runs spend their time in it: a release is optimised as far as the compiler can
#   COLD         it runs once per command: a release is compiled for a fast build. Without HOT and COLD it is in between
#   HOT_FILES    files that are compiled as in a HOT folder
#   HOT_WITH name they share translation units with spyre_name, which is HOT: a unit of their own is mostly headers
#   HOT_IN_TESTS unit tests spend their time in it, so it is optimised with sanitizers too
#   JSON, SYSTEMC most of its files include that, so they are given a precompiled header with it
#   WITH name    it is compiled together with the other folders that say the same, into the library spyre_name: files share
#                translation units, because most of what a small one costs is headers
#   ALONE        files that are never compiled together with others, because their file-local names are those of another file
function(spyre_folder path)
  cmake_parse_arguments(F "SYSTEMC;JSON;COLD;HOT;HOT_IN_TESTS" "WITH;HOT_WITH" "TO;LINK;PRIVATE;SOURCES;ALONE;HOT_FILES" ${ARGN})
  string(REPLACE "/" "_" name spyre_${path})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${path}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  list(APPEND sources ${F_SOURCES})
  set(links fmt::fmt nlohmann_json::nlohmann_json ${F_LINK})
  foreach(folder ${F_TO})
    string(REPLACE "/" "_" other spyre_${folder})
    list(APPEND links ${other})
  endforeach()
  set(library ${name}) # what has the sources
  if(F_WITH)
    set(library spyre_${F_WITH})
  endif()
  if(sources)
    set(header spyre_precompiled)
    if(F_SYSTEMC)
      set(header spyre_precompiled_systemc)
    elseif(F_JSON)
      set(header spyre_precompiled_json)
    endif()
    set(optimisation -O1)
    if(F_COLD)
      set(optimisation -Og)
    elseif(F_HOT)
      set(optimisation "")
    endif()
    if(NOT TARGET ${library})
      add_library(${library} STATIC)
      spyre_product_library(${library} ${header} "${optimisation}")
      spyre_export(${library})
      if(F_HOT_IN_TESTS AND SPYRE_SANITIZE)
        target_compile_options(${library} PRIVATE -O1)
        set_target_properties(${library} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON) # one is of one degree of optimisation
      endif()
    endif()
    if(F_HOT_FILES)
      list(TRANSFORM F_HOT_FILES PREPEND ${PROJECT_SOURCE_DIR}/${path}/)
      list(REMOVE_ITEM sources ${F_HOT_FILES})
    endif()
    if(F_HOT_WITH)
      target_sources(spyre_${F_HOT_WITH} PRIVATE ${F_HOT_FILES})
    elseif(F_HOT_FILES)
      add_library(${name}_hot OBJECT ${F_HOT_FILES})
      spyre_product_library(${name}_hot ${header} "")
      # Objects may not depend in a circle, as libraries do: they are given what headers need, and no more.
      target_link_libraries(${name}_hot PRIVATE fmt::fmt nlohmann_json::nlohmann_json ${F_LINK} spyre_model_contract
        spyre_model_parameters $<$<BOOL:${F_SYSTEMC}>:SystemC::systemc>)
      list(APPEND sources $<TARGET_OBJECTS:${name}_hot>)
    endif()
    target_sources(${library} PRIVATE ${sources})
    list(TRANSFORM F_ALONE PREPEND ${PROJECT_SOURCE_DIR}/${path}/)
    set_source_files_properties(${F_ALONE} TARGET_DIRECTORY ${library} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    target_link_libraries(${library} PUBLIC ${links} PRIVATE "$<BUILD_INTERFACE:${F_PRIVATE}>") # headers, that no user needs
  endif()
  if(NOT sources OR F_WITH)
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${SPYRE_INSTALL_INCLUDE}>)
    target_link_libraries(${name} INTERFACE ${links})
    if(sources)
      target_link_libraries(${name} INTERFACE ${library})
    endif()
    spyre_export(${name})
  endif()
  string(REPLACE ";" " " arrows "${F_TO}")
  set_property(GLOBAL APPEND_STRING PROPERTY SPYRE_FOLDERS "${path}: ${arrows}\n")
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${path}/*.h)
  install(FILES ${headers} DESTINATION ${SPYRE_INSTALL_INCLUDE}/${path} COMPONENT development)
endfunction()
