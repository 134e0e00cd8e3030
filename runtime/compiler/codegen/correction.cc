// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/codegen/correction.h"

#include <contract/registers.h>

#include "model/contract/memory_map.h"
#include "model/contract/program_check.h"
#include "runtime/compiler/kernels/section_builder.h"

namespace spyre::compiler {
namespace {

enum Token : uint8_t {
  kRecords = 1,  // load -> vector
  kEntries,      // vector -> store
};

constexpr uint32_t kCore0 = 1;

// Cut to the length that a program's name may have, without a space at the end. The name is for
// people: nothing is looked up by it.
std::string NameOf(const std::string& kernel) {
  std::string name = (kernel + " correction").substr(0, kMaxProgramName);
  name.erase(name.find_last_not_of(' ') + 1);
  return name;
}

}  // namespace

uint64_t CorrectionInputBytes(size_t arguments) {
  return AlignUp(arguments * sizeof(CorrectionRecord), kStickBytes);
}

Program CorrectionProgram(const std::string& kernel, size_t arguments, uint64_t input,
                          const std::vector<uint64_t>& tables, uint64_t kept_lx) {
  const uint64_t input_bytes = CorrectionInputBytes(arguments);
  const uint64_t table_bytes = AlignUp(arguments * kTableEntriesPerTensor * 8, kStickBytes);
  const auto number = [](uint64_t value) { return static_cast<int64_t>(value); };

  SectionBuilder load(Unit::kLoad, kCore0);
  load.Emit(
      Op::kLoad, 0, {0, kRecords},
      {load.Const(number(kept_lx)), load.Const(number(input)), load.Const(number(input_bytes)),
       load.Const(1), kZero, kZero, load.Const(1), kZero, kZero, kZero});

  // The table ends on a stick: what no argument fills is stored as zero.
  SectionBuilder vector(Unit::kVector, kCore0);
  const Reg entries = vector.Const(number(kept_lx + input_bytes));
  vector.Emit(Op::kVfill, 0, {},
              {entries, kZero, vector.Const(number(table_bytes)), vector.Const(1), kZero});
  vector.Emit(Op::kVreloc, 0, {kRecords, kEntries},
              {entries, vector.Const(number(kept_lx)), vector.Const(number(arguments))});

  SectionBuilder store(Unit::kStore, kCore0);
  store.Wait(kEntries);
  for (const uint64_t table : tables) {
    store.Emit(Op::kStore, 0, {},
               {store.Const(number(kept_lx + input_bytes)), store.Const(number(table)),
                store.Const(number(table_bytes)), store.Const(1), kZero, kZero, store.Const(1),
                kZero, kZero});
  }

  Program program;
  program.name = NameOf(kernel);
  program.core_mask = kCore0;
  program.lx_bytes = static_cast<uint32_t>(kept_lx + input_bytes + table_bytes);
  program.sections = {load.Finish(), store.Finish(), vector.Finish()};
  return program;
}

}  // namespace spyre::compiler
