# SPDX-License-Identifier: Apache-2.0
# cmake -DNAME=... -DOUTPUT=... -DFILES=a,b -P InterfaceDigest.cmake: a header with the symbol that the module NAME
# exports: its name and a digest of the FILES that it and the program must agree on.
string(REPLACE "," ";" files "${FILES}")
set(text "")
foreach(file ${files})
  file(SHA256 ${file} digest)
  string(APPEND text ${digest})
endforeach()
string(SHA256 digest "${text}")
string(SUBSTRING ${digest} 0 12 digest)
string(TOUPPER ${NAME} macro)
file(WRITE ${OUTPUT} "// What the module ${NAME} exports.\n#define ${macro} ${NAME}_${digest}\n\
#define ${macro}_SYMBOL \"${NAME}_${digest}\"\n")
