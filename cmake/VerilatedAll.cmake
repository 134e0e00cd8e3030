# SPDX-License-Identifier: Apache-2.0
# cmake -DDIR=... -DNAME=V... -P VerilatedAll.cmake: two translation units of everything that Verilator wrote. What
# Verilator calls slow (*__Slow.cpp) runs once for each object or trace; NAME__AllSlow.cpp has it, NAME__ALL.cpp the rest.
file(GLOB sources RELATIVE ${DIR} ${DIR}/${NAME}*.cpp)
list(REMOVE_ITEM sources ${NAME}__ALL.cpp ${NAME}__AllSlow.cpp)
list(SORT sources)
set(slow ${sources})
list(FILTER slow INCLUDE REGEX "__Slow\\.cpp$")
list(REMOVE_ITEM sources ${slow})
foreach(unit ALL AllSlow)
  set(text "")
  foreach(source ${sources})
    string(APPEND text "#include \"${source}\"\n")
  endforeach()
  file(WRITE ${DIR}/${NAME}__${unit}.cpp "${text}")
  set(sources ${slow})
endforeach()
