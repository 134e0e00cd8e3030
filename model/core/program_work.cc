// SPDX-License-Identifier: Apache-2.0
#include "model/core/program_work.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/ranges.h"
#include "model/core/sequencer.h"

namespace spyre::model {
namespace {

constexpr uint32_t kNoEntry = MemoryReach::kNoEntry;

bool IsAddress(int64_t entry) { return entry % kTableEntriesPerTensor == 0; }

class Survey {
 public:
  Survey(const Program& program, const CoreLimits& limits) : program_(program), limits_(limits) {
    const size_t tensors = program.address_table.size() / kTableEntriesPerTensor + 1;
    for (auto& reaches : reaches_) reaches.resize(tensors + 1);
  }

  // False: more than max_instructions.
  bool Run(uint64_t max_instructions) {
    try {
      for (const Section& section : program_.sections) {
        for (uint32_t left = section.core_mask & program_.core_mask; left != 0; left &= left - 1) {
          if (!RunSection(section, static_cast<unsigned>(__builtin_ctz(left)), max_instructions))
            return false;
          if (!survey_.sound) return true;
        }
      }
    } catch (const UnitFault&) {
      survey_.sound = false;
    }
    return true;
  }

  ProgramSurvey Result() {
    for (const auto& [group, asked] : multicasts_) {
      for (uint32_t left = group; left != 0; left &= left - 1) {
        if (asked[__builtin_ctz(left)] != asked[__builtin_ctz(group)]) survey_.sound = false;
      }
    }
    for (int write = 0; write < 2; ++write) {
      for (size_t place = 0; place < reaches_[write].size(); ++place) {
        MemoryReach& reach = reaches_[write][place];
        if (reach.begin >= reach.end) continue;
        reach.write = write != 0;
        if (place > 0)
          reach.entry = static_cast<uint32_t>(place - 1) * uint32_t{kTableEntriesPerTensor};
        survey_.reaches.push_back(reach);
      }
    }
    return std::move(survey_);
  }

 private:
  bool RunSection(const Section& section, unsigned core, uint64_t max_instructions) {
    sequencer_.Start(program_, section, core);
    from_.fill(kNoEntry);
    for (; const Instruction* in = sequencer_.Current(); sequencer_.Next()) {
      if (++survey_.work.instructions > max_instructions) return false;
      if (Sequencer::IsScalar(in->op)) {
        Follow(*in);
        sequencer_.Execute();  // of LDX, which depends on data, a fault: the survey ends
      } else {
        Add(*in, core);
        if (!survey_.sound) return true;
      }
    }
    return true;
  }

  // Where the result of a scalar instruction comes from.
  void Follow(const Instruction& in) {
    const uint32_t a = from_[in.reg[1]];
    const uint32_t b = from_[in.reg[2]];
    uint32_t result = kNoEntry;
    switch (in.op) {
      case Op::kNop:
      case Op::kEnd:
        return;
      case Op::kLoop:
        survey_.needs_table |= a != kNoEntry;
        if (static_cast<int64_t>(sequencer_.reg(in, 1)) <= 0) return;  // writes no counter
        break;
      case Op::kTab:
        if (IsAddress(in.imm)) result = static_cast<uint32_t>(in.imm);
        break;
      case Op::kMadd:
        result = a;
        if (b == kNoEntry || in.imm == 0) break;
        survey_.needs_table |= a != kNoEntry || in.imm != 1;
        result = b;
        break;
      case Op::kMul:
      case Op::kMin:
        survey_.needs_table |= a != kNoEntry || b != kNoEntry;
        break;
      default:
        break;
    }
    if (in.reg[0] != 0) from_[in.reg[0]] = result;
  }

  // What one execution of a tensor instruction does.
  void Add(const Instruction& in, unsigned core) {
    const bool moves = in.op == Op::kLoad || in.op == Op::kStore;
    constexpr int kDeviceAddress = 1;
    for (int i = 0; i < static_cast<int>(in.reg.size()); ++i) {
      if (from_[in.reg[i]] != kNoEntry && !(moves && i == kDeviceAddress))
        survey_.needs_table = true;
    }
    DeviceBox box;
    if (!TakesOperands(sequencer_, in, core, program_.core_mask, limits_, box)) {
      survey_.sound = false;
      return;
    }
    if (moves) {
      AddBox(in, core, box);
    } else if (in.op == Op::kMatmul) {
      survey_.work.macs += sequencer_.reg(in, 3) * sequencer_.reg(in, 4) * sequencer_.reg(in, 5);
    }
  }

  void AddBox(const Instruction& in, unsigned core, const DeviceBox& box) {
    if (box.extent_bytes == 0) return;
    const uint64_t bytes = box.row_bytes * box.rows * box.planes;
    const bool is_store = in.op == Op::kStore;
    const uint32_t entry = from_[in.reg[1]];
    const uint64_t base = entry == kNoEntry ? 0 : program_.address_table[entry];
    const auto begin = static_cast<int64_t>(box.address - base);
    const auto end = static_cast<int64_t>(box.address - base + box.extent_bytes);
    MemoryReach& reach =
        reaches_[is_store][entry == kNoEntry ? 0 : 1 + entry / kTableEntriesPerTensor];
    reach.begin = std::min(reach.begin, begin);
    reach.end = std::max(reach.end, end);
    if (end < begin) survey_.sound = false;
    if (is_store) {
      survey_.work.bytes_written += bytes;
      return;
    }
    const uint64_t below = (uint64_t{1} << core) - 1;
    if ((box.group & below) == 0) survey_.work.bytes_read += bytes;
    if (box.group == 0) return;
    uint64_t& asked = multicasts_[box.group][core];
    for (const uint64_t value : {uint64_t{entry}, static_cast<uint64_t>(begin), box.row_bytes,
                                 box.rows, box.row_stride, box.planes, box.plane_stride}) {
      asked = (asked ^ value) * 0x9E3779B97F4A7C15u;
      asked ^= asked >> 29;
    }
  }

  const Program& program_;
  const CoreLimits& limits_;
  Sequencer sequencer_;
  std::array<uint32_t, kRegisters> from_{};  // by register: the entry whose address it has
  std::array<std::vector<MemoryReach>, 2>
      reaches_;  // read and written: of no entry, then by tensor
  std::map<uint32_t, std::array<uint64_t, 32>> multicasts_;  // by group: a hash of what each asked
  ProgramSurvey survey_;
};

}  // namespace

std::optional<ProgramSurvey> SurveyProgram(const Program& program, const CoreLimits& limits,
                                           uint64_t max_instructions) {
  Survey survey(program, limits);
  if (!survey.Run(max_instructions)) return {};
  return survey.Result();
}

bool ReachesOnly(const ProgramSurvey& survey, const std::vector<uint64_t>& table,
                 const std::function<bool(uint64_t, uint64_t, bool)>& allows) {
  return AllFit(survey.reaches, [&](const MemoryReach& reach) {
    const uint64_t base = reach.entry == kNoEntry ? 0 : table[reach.entry];
    return allows(base + static_cast<uint64_t>(reach.begin),
                  static_cast<uint64_t>(reach.end - reach.begin), reach.write);
  });
}

}  // namespace spyre::model
