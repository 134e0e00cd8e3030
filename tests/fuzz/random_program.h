// SPDX-License-Identifier: Apache-2.0
// Random programs whose images pass every check of the loader, and damage for such images.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/contract/op_table.h"
#include "model/contract/program.h"
#include "model/contract/program_check.h"
#include "model/contract/program_image.h"
#include "tests/fuzz/chaos.h"

namespace spyre::fuzz {

class ProgramMaker {
 public:
  // For functions that have tensors in segments 0 and 1, of so many bytes.
  explicit ProgramMaker(uint64_t region_bytes) : region_bytes_(region_bytes) {}

  Program Make(Chaos& chaos) const {
    Program program;
    program.name = "fuzz";
    // One operand or instruction in so many is wild; most programs must get far into their work.
    const auto calm = chaos.Pick<uint64_t>({10, 100, 1000, 100'000});
    program.core_mask = chaos.OneIn(2) ? 3 : static_cast<uint32_t>(chaos.Word() | 1);
    program.lx_bytes = static_cast<uint32_t>(chaos.Below(kLxUsableBytes + 1));
    program.timing_only = chaos.OneIn(10);
    for (int i = 0; i < 4; ++i)
      program.address_table.push_back(static_cast<uint64_t>(Operand(chaos)));
    if (chaos.OneIn(2)) {
      const uint64_t width = 1 + chaos.Below(chaos.OneIn(20) ? 200 : 12);  // fits the host buffer
      program.core_registers.assign(kMaxCores, std::vector<int64_t>(width));
      for (auto& row : program.core_registers)
        for (int64_t& value : row) value = Operand(chaos);
    }
    for (int unit = 0; unit < kUnitCount; ++unit) {
      if (chaos.OneIn(4)) continue;
      Section section;
      section.unit = static_cast<Unit>(unit);
      section.core_mask = program.core_mask;
      if (chaos.OneIn(4)) section.core_mask &= static_cast<uint32_t>(chaos.Word());
      if (section.core_mask == 0) continue;
      for (uint8_t reg = 1; reg < 24; ++reg) {
        Instruction li;
        li.op = Op::kLi;
        li.reg[0] = reg;
        li.imm = Operand(chaos);
        section.code.push_back(li);
      }
      int depth = 0;
      const uint64_t length = 1 + chaos.Below(24);
      for (uint64_t i = 0; i < length; ++i) {
        if (depth < kMaxLoopDepth && chaos.OneIn(6)) {
          Instruction loop;
          loop.op = Op::kLoop;
          loop.reg[0] = static_cast<uint8_t>(chaos.Below(24));
          loop.reg[1] = static_cast<uint8_t>(chaos.Below(24));
          if (!chaos.OneIn(4)) {
            Instruction trips;
            trips.op = Op::kLi;
            trips.reg[0] = loop.reg[1] = 9;
            trips.imm = static_cast<int64_t>(chaos.OneIn(4) ? chaos.Nasty() : chaos.Below(5));
            section.code.push_back(trips);
          }
          section.code.push_back(loop);
          ++depth;
        }
        Append(chaos, section, Random(chaos, section.unit, program, calm), program.core_mask, calm);
        if (depth > 0 && chaos.OneIn(4)) {
          section.code.push_back({Op::kEnd, 0, 0, 0, {}, 0});
          --depth;
        }
      }
      for (; depth > 0; --depth) section.code.push_back({Op::kEnd, 0, 0, 0, {}, 0});
      program.sections.push_back(section);
    }
    return program;
  }

 private:
  // A value that an operand register may hold: LX and device addresses, sizes, strides, counts.
  int64_t Operand(Chaos& chaos) const {
    switch (chaos.Below(8)) {
      case 0:
        return static_cast<int64_t>(chaos.Below(64) * 128);
      case 1:
        return static_cast<int64_t>(chaos.Below(16));
      case 2:
        return static_cast<int64_t>(kLxUsableBytes - chaos.Below(4) * 128);
      case 3:
        return static_cast<int64_t>(SegmentAddress(static_cast<unsigned>(chaos.Below(9)),
                                                   chaos.Below(region_bytes_ / 128) * 128));
      case 4:
        return static_cast<int64_t>(SegmentAddress(0, region_bytes_ - chaos.Below(3) * 128));
      case 5:
        return static_cast<int64_t>(1ull << chaos.Below(22));
      default:
        return static_cast<int64_t>(chaos.Nasty());
    }
  }

  // A value that suits the operand of this name, so that the instruction gets as far as its work.
  int64_t Fitting(Chaos& chaos, std::string_view name, uint32_t core_mask) const {
    const auto ends_in = [&](std::string_view end) {
      return name.size() >= end.size() && name.substr(name.size() - end.size()) == end;
    };
    const uint64_t lowest_core = core_mask & (~core_mask + 1);
    const auto among = [&](const std::vector<uint64_t>& values) {
      return static_cast<int64_t>(chaos.Pick(values));
    };
    if (name == "dev") {
      return static_cast<int64_t>(SegmentAddress(static_cast<unsigned>(chaos.Below(2)),
                                                 chaos.Below(region_bytes_ / 256) * 128));
    }
    if (ends_in("lx") || name == "dst" || name == "src" || name == "a" || name == "b" ||
        name == "acc") {
      return static_cast<int64_t>(chaos.Below(kLxUsableBytes / 256) * 128);
    }
    if (ends_in("stick_stride")) return among({25600, 51200, 65536});
    if (ends_in("stride")) return among({0, 128, 256, 1024, 4096, 16384});
    if (ends_in("_plane") || ends_in("_row") || ends_in("_stick") || ends_in("_block") ||
        name == "pair")
      return among({0, 4, 128, 256, 1024, 8192});
    if (ends_in("bytes")) return among({0, 128, 256, 4096, 8192});
    if (name == "n") return static_cast<int64_t>(64 * chaos.Below(5));
    if (name == "m") return static_cast<int64_t>(chaos.Below(100));
    if (name == "k" || name == "cols") return static_cast<int64_t>(chaos.Below(200));
    if (name == "group") return among({0, 0, 0, core_mask, core_mask, lowest_core});
    if (name == "mask") return static_cast<int64_t>(core_mask);
    if (name == "core") return __builtin_ctz(core_mask);
    return static_cast<int64_t>(chaos.Below(4));  // rows, planes, counts, tokens, ids, flags
  }
  // Puts `in` into the section, mostly with operands that suit it.
  void Append(Chaos& chaos, Section& section, const Instruction& in, uint32_t core_mask,
              uint64_t calm) const {
    const OpInfo& info = *FindOp(static_cast<uint8_t>(in.op));
    if (!info.scalar && !chaos.OneIn(calm)) {
      for (size_t i = 0; i < info.operands.size(); ++i) {
        if (in.reg[i] == 0 || chaos.OneIn(calm)) continue;
        Instruction li;
        li.op = Op::kLi;
        li.reg[0] = in.reg[i];
        li.imm = Fitting(chaos, info.operands[i], core_mask);
        section.code.push_back(li);
      }
    }
    section.code.push_back(in);
  }

  Instruction Random(Chaos& chaos, Unit unit, const Program& program, uint64_t calm) const {
    for (;;) {
      const OpInfo& info = chaos.Pick(OpTable());
      if (!RunsOn(info.op, unit) || info.op == Op::kLoop || info.op == Op::kEnd) continue;
      if (info.scalar && chaos.OneIn(2)) continue;
      Instruction in;
      in.op = info.op;
      if (info.fn_set != FnSet::kNone) {
        do {
          in.fn = static_cast<uint8_t>(chaos.Word());
        } while (!IsKnownFn(info.fn_set, in.fn));
      }
      for (size_t i = 0; i < info.operands.size(); ++i) {
        if (info.operands[i] == "-") continue;
        // Operands of one instruction get registers of their own; scalars share them.
        in.reg[i] =
            static_cast<uint8_t>(info.scalar || chaos.OneIn(calm) ? chaos.Below(24) : 10 + i);
      }
      if (info.has_immediate) in.imm = Operand(chaos);
      if (in.op == Op::kTab)
        in.imm = static_cast<int64_t>(chaos.Below(program.address_table.size()));
      if (in.op == Op::kCreg)
        in.imm = static_cast<int64_t>(chaos.Below(program.core_register_width()));
      if (in.op == Op::kMark) in.imm = static_cast<int64_t>(chaos.Below(kMaxSteps));
      if (chaos.OneIn(20)) in.wait = static_cast<uint8_t>(chaos.Below(4));
      if (chaos.OneIn(6)) in.signal = static_cast<uint8_t>(chaos.Below(4));
      return in;
    }
  }

  const uint64_t region_bytes_;
};

// Changes bytes of the image and makes the CRC right again.
inline void Mutate(Chaos& chaos, std::vector<uint8_t>& image) {
  for (uint64_t i = 0; i <= chaos.Below(6); ++i) {
    const size_t at = chaos.OneIn(4) ? chaos.Below(kImageHeaderBytes) : chaos.Below(image.size());
    image[at] =
        static_cast<uint8_t>(chaos.OneIn(2) ? chaos.Word() : image[at] ^ (1u << chaos.Below(8)));
  }
  const auto field = [&](size_t at) -> size_t { return image::Get<uint32_t>(&image[at]); };
  const size_t table_at =
      ImageBytes(field(image::kSectionsAt), field(image::kCoreRegisterRowsAt),
                 std::min<size_t>(field(image::kCoreRegisterWidthAt), kMaxCoreRegisters), 0, 0);
  const size_t table_bytes = AlignUp(field(image::kTableEntriesAt) * 8, kStickBytes);
  const size_t bytes = field(image::kImageBytesAt);
  if (bytes > image.size() || table_at + table_bytes > bytes) return;  // has no CRC to be right
  image::Put<uint32_t>(&image[image::kCrcAt],
                       image::ImageCrc(image.data(), bytes, table_at, table_bytes));
}

}  // namespace spyre::fuzz
