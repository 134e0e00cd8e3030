// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/kernels/kernel.h"

namespace spyre::compiler {

const char* Name(Accumulator home) {
  switch (home) {
    case Accumulator::kDevice:
      return "device";
    case Accumulator::kLx:
      return "lx";
    case Accumulator::kNone:
      break;
  }
  return "none";
}

}  // namespace spyre::compiler
