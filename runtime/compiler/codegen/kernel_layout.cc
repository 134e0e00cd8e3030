// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/codegen/kernel_layout.h"

#include "runtime/compiler/codegen/correction.h"

namespace spyre::compiler {

void LayOutAllocation(Kernel& kernel, int pool_entry, uint64_t kept_lx) {
  const size_t accumulations = kernel.accumulation.home == Accumulator::kNone ? 0 : 1;
  const size_t records = kernel.arguments.size() + kernel.dimensions.size() + accumulations;
  kernel.correction_input_bytes = CorrectionInputBytes(records);
  std::vector<Program*> programs = {&kernel.compute};
  for (Program& program : kernel.more) programs.push_back(&program);
  std::vector<uint64_t> tables;
  kernel.compute_bytes = 0;
  for (Program* program : programs) {
    program->next = 0;
    const std::vector<uint8_t> image = Encode(*program);
    const ImageInfo info = ReadImageHeader(image.data(), image.size());
    tables.push_back(kProgramBase + kernel.compute_bytes + info.address_table_offset);
    kernel.compute_bytes += image.size();
    if (program != programs.back()) program->next = info.image_bytes;
  }
  kernel.correction_offset = kernel.compute_bytes;
  // The correction program holds the addresses of its input, behind its own image: the image's size
  // does not depend on them, so a first version tells it.
  kernel.correction_bytes =
      Encode(CorrectionProgram(kernel.name, records, kProgramBase, tables, kept_lx)).size();
  kernel.correction_input_offset =
      AlignUp(kernel.correction_offset + kernel.correction_bytes, kStickBytes);
  kernel.pool_offset =
      AlignUp(kernel.correction_input_offset + kernel.correction_input_bytes, kStickBytes);
  kernel.allocation_bytes = kernel.pool_offset + kernel.pool_bytes;
  for (Program* program : programs) {
    if (pool_entry < 0) break;
    program->address_table[static_cast<size_t>(pool_entry)] = kProgramBase + kernel.pool_offset;
  }
  kernel.correction = CorrectionProgram(
      kernel.name, records, kProgramBase + kernel.correction_input_offset, tables, kept_lx);
}

}  // namespace spyre::compiler
