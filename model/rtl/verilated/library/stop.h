// SPDX-License-Identifier: Apache-2.0
// What Verilator's run-time library does where it would print to standard output and abort: the
// library is compiled with this header before everything else (cmake/Verilator.cmake), and stop.cc
// throws Error(kDeviceFault) with what an assertion has said.
#pragma once

int SpyreRtlPrint(const char* format, ...) __attribute__((format(printf, 1, 2)));

#define VL_PRINTF SpyreRtlPrint
#define VL_USER_STOP
