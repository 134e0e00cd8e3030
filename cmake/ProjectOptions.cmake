# Compile options that hold for all of our code, and the helper that adds one room's library.
set(CMAKE_CXX_STANDARD 17) # the packaged SystemC is built as C++17 and refuses any other standard at link time
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(SPYRE_BUILD_TESTS "Build the tests and benchmarks" ON)
option(SPYRE_SIMD "Code for AVX2, AVX-512 and SSE4.2 beside the plain form, chosen when the program runs" ON)
option(SPYRE_FUZZ "Build the libFuzzer targets (clang only)" OFF)
set(SPYRE_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them (for example address,undefined)")

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
  -ffp-contract=off)
target_include_directories(spyre_options INTERFACE ${CMAKE_SOURCE_DIR})
if(NOT SPYRE_SIMD)
  target_compile_definitions(spyre_options INTERFACE SPYRE_SCALAR)
endif()
if(SPYRE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link -Wno-error)
endif()
if(SPYRE_SANITIZE)
  add_compile_options(-fsanitize=${SPYRE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SPYRE_SANITIZE})
endif()

# spyre_room(NAME DEPENDS lib... SOURCES file...): one room's static library.
function(spyre_room name)
  cmake_parse_arguments(ROOM "" "" "DEPENDS;SOURCES" ${ARGN})
  add_library(${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(${name} PUBLIC spyre_options ${ROOM_DEPENDS})
endfunction()
