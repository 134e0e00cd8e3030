// SPDX-License-Identifier: Apache-2.0
#include "cosim/program/program_copies.h"

namespace spyre::cosim {

ProgramCopies CopiesOf(const RunResult& result) {
  ProgramCopies copies;
  for (const flex::CompletedOperation& operation : result.launches) {
    const bool to_card = operation.opcode == Opcode::DMA_IN;
    if (!to_card && operation.opcode != Opcode::DMA_OUT) continue;
    ++copies.count;
    (to_card ? copies.to_card : copies.from_card) += operation.size_bytes;
  }
  return copies;
}

}  // namespace spyre::cosim
