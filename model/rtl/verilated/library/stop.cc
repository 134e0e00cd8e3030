// SPDX-License-Identifier: Apache-2.0
#include "model/rtl/verilated/library/stop.h"

#include <verilated.h>

#include <cstdarg>
#include <cstdio>
#include <string>

#include "base/error.h"

namespace {
thread_local std::string printed;  // since the last stop
}

int SpyreRtlPrint(const char* format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  printed += line;
  return length;
}

void vl_stop(const char* filename, int linenum, const char* /*hier*/) {
  std::string said;
  said.swap(printed);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  throw spyre::DeviceFault("RTL, {}:{}: {}", filename, linenum, said);
}
