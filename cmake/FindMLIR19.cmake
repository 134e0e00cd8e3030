# SPDX-License-Identifier: Apache-2.0
# The packaged MLIR 19 as one shared library. Its own CMake files would ask for much that is not needed.
# Honours MLIR19_ROOT.
find_path(MLIR19_INCLUDE_DIR mlir/IR/MLIRContext.h HINTS ${MLIR19_ROOT}/include PATHS /usr/lib/llvm-19/include NO_DEFAULT_PATH)
find_path(LLVM19_INCLUDE_DIR llvm/ADT/StringRef.h HINTS ${MLIR19_ROOT}/include PATHS /usr/include/llvm-19 NO_DEFAULT_PATH)
find_library(MLIR19_LIBRARY NAMES MLIR HINTS ${MLIR19_ROOT}/lib PATHS /usr/lib/llvm-19/lib NO_DEFAULT_PATH)
find_library(LLVM19_LIBRARY NAMES LLVM-19 HINTS ${MLIR19_ROOT}/lib PATHS /usr/lib/llvm-19/lib)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MLIR19
  REQUIRED_VARS MLIR19_LIBRARY LLVM19_LIBRARY MLIR19_INCLUDE_DIR LLVM19_INCLUDE_DIR)
if(MLIR19_FOUND AND NOT TARGET MLIR19::MLIR)
  add_library(MLIR19::MLIR INTERFACE IMPORTED)
  target_include_directories(MLIR19::MLIR SYSTEM INTERFACE ${MLIR19_INCLUDE_DIR} ${LLVM19_INCLUDE_DIR})
  target_link_libraries(MLIR19::MLIR INTERFACE ${MLIR19_LIBRARY} ${LLVM19_LIBRARY})
endif()
