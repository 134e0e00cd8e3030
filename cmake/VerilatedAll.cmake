# SPDX-License-Identifier: Apache-2.0
# cmake -DDIR=... -DNAME=V... -P VerilatedAll.cmake: one translation unit of everything that Verilator wrote.
file(GLOB sources RELATIVE ${DIR} ${DIR}/${NAME}*.cpp)
list(REMOVE_ITEM sources ${NAME}__ALL.cpp)
list(SORT sources)
set(text "")
foreach(source ${sources})
  string(APPEND text "#include \"${source}\"\n")
endforeach()
file(WRITE ${DIR}/${NAME}__ALL.cpp "${text}")
