# SPDX-License-Identifier: Apache-2.0
# cmake -DINPUT=file -DOUTPUT=file.cc -DSYMBOL=name -DHEADER=header.h -DNAMESPACE=a::b -P EmbedText.cmake: writes a
# translation unit with the text of INPUT as `const char* const SYMBOL`, which HEADER declares.
file(READ ${INPUT} text)
set(mark SPYRE_TEXT) # closes the literal
string(FIND "${text}" ")${mark}\"" found)
if(NOT found EQUAL -1)
  message(FATAL_ERROR "${INPUT}: it has the text )${mark}\", which ends the literal")
endif()
file(WRITE ${OUTPUT} "// Written by cmake/EmbedText.cmake.
#include \"${HEADER}\"

#ifdef __clang__ // a literal may be longer than what the standard asks of every compiler
#pragma clang diagnostic ignored \"-Woverlength-strings\"
#endif

namespace ${NAMESPACE} {

extern const char* const ${SYMBOL} = R\"${mark}(${text})${mark}\";

}  // namespace ${NAMESPACE}
")
