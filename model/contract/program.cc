// SPDX-License-Identifier: Apache-2.0
#include "model/contract/program.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "model/contract/control_block.h"
#include "model/contract/op_table.h"
#include "model/contract/program_check.h"
#include "model/contract/program_image.h"

namespace spyre {
namespace {

void EncodeInstruction(const Instruction& instruction, uint8_t* to) {
  to[0] = static_cast<uint8_t>(instruction.op);
  to[1] = instruction.fn;
  to[2] = instruction.wait;
  to[3] = instruction.signal;
  if (HasImmediate(instruction.op)) {
    std::copy_n(instruction.reg.begin(), 3, to + 4);
    image::Put(to + 8, instruction.imm);
  } else {
    std::copy(instruction.reg.begin(), instruction.reg.end(), to + 4);
  }
}

}  // namespace

namespace image {

uint32_t ImageCrc(const uint8_t* image, size_t image_bytes, size_t table_at, size_t table_bytes) {
  static const std::array<uint8_t, 4096> zeros{};
  uint32_t crc = Crc32c(image, kCrcAt);
  crc = Crc32c(zeros.data(), 4, crc);
  crc = Crc32c(image + kCrcAt + 4, table_at - kCrcAt - 4, crc);
  for (size_t left = table_bytes; left > 0;) {
    const size_t part = std::min(left, zeros.size());
    crc = Crc32c(zeros.data(), part, crc);
    left -= part;
  }
  const size_t after = table_at + table_bytes;
  return Crc32c(image + after, image_bytes - after, crc);
}

}  // namespace image

const char* UnitName(Unit unit) {
  static constexpr std::array<const char*, kUnitCount> kNames = {"load", "store", "pt", "vector",
                                                                 "ring"};
  const auto index = static_cast<size_t>(unit);
  return index < kNames.size() ? kNames[index] : "unknown";
}

bool HasImmediate(Op op) {
  const OpInfo* info = FindOp(static_cast<uint8_t>(op));
  return info != nullptr && info->has_immediate;
}

int OperandCount(Op op) {
  const OpInfo* info = FindOp(static_cast<uint8_t>(op));
  return info == nullptr ? 0 : static_cast<int>(info->operands.size());
}

uint64_t TokensOfSeveralUnits(const Program& program) {
  std::array<uint64_t, kUnitCount> waits{};
  for (const Section& section : program.sections) {
    for (const Instruction& in : section.code) {
      if (in.wait != 0) waits[static_cast<size_t>(section.unit)] |= uint64_t{1} << in.wait;
    }
  }
  uint64_t any = 0, several = 0;
  for (const uint64_t tokens : waits) {
    several |= any & tokens;
    any |= tokens;
  }
  return several;
}

bool RunsOn(Op op, Unit unit) {
  const OpInfo* info = FindOp(static_cast<uint8_t>(op));
  return info != nullptr && static_cast<int>(unit) < kUnitCount &&
         (info->scalar || info->unit == unit);
}

bool IsKnown(uint8_t op) { return FindOp(op) != nullptr; }

bool Instruction::operator==(const Instruction& other) const {
  return op == other.op && fn == other.fn && wait == other.wait && signal == other.signal &&
         reg == other.reg && imm == other.imm;
}

std::vector<uint8_t> Encode(const Program& program) {
  CheckProgram(program);
  size_t instructions = 0;
  for (const Section& section : program.sections) instructions += section.code.size();
  const size_t table_entries = program.address_table.size();
  const size_t rows = program.core_registers.size();
  const size_t width = rows == 0 ? 0 : program.core_register_width();
  std::vector<uint8_t> bytes(
      ImageBytes(program.sections.size(), rows, width, table_entries, instructions));
  uint8_t* header = bytes.data();
  std::copy(image::kMagic.begin(), image::kMagic.end(), header + image::kMagicAt);
  image::Put(header + image::kVersionAt, image::kVersion);
  image::Put(header + image::kFlagsAt,
             static_cast<uint16_t>((program.timing_only ? image::kFlagTimingOnly : 0) |
                                   (program.generated_loops ? image::kFlagGeneratedLoops : 0)));
  image::Put(header + image::kImageBytesAt, static_cast<uint32_t>(bytes.size()));
  image::Put(header + image::kCoreMaskAt, program.core_mask);
  image::Put(header + image::kLxBytesAt, program.lx_bytes);
  image::Put(header + image::kSectionsAt, static_cast<uint32_t>(program.sections.size()));
  image::Put(header + image::kCoreRegisterRowsAt, static_cast<uint32_t>(rows));
  image::Put(header + image::kCoreRegisterWidthAt, static_cast<uint32_t>(width));
  image::Put(header + image::kNextAt, program.next);
  image::Put(header + image::kTableEntriesAt, static_cast<uint32_t>(table_entries));
  image::Put(header + image::kInstructionsAt, static_cast<uint32_t>(instructions));
  std::copy(program.name.begin(), program.name.end(), header + image::kNameAt);

  const ImageInfo info = ReadImageHeader(bytes.data(), bytes.size());
  uint8_t* to = header + AlignUp(kImageHeaderBytes + program.sections.size() * image::kSectionBytes,
                                 kStickBytes);
  for (const auto& row : program.core_registers) {
    for (int64_t value : row) {
      image::Put(to, value);
      to += sizeof(value);
    }
  }
  to = header + info.address_table_offset;
  for (uint64_t entry : program.address_table) {
    image::Put(to, entry);
    to += sizeof(entry);
  }
  const size_t table_bytes = AlignUp(table_entries * 8, kStickBytes);
  to = header + info.address_table_offset + table_bytes;
  uint8_t* directory = header + kImageHeaderBytes;
  for (const Section& section : program.sections) {
    directory[image::kSectionUnitAt] = static_cast<uint8_t>(section.unit);
    image::Put(directory + image::kSectionMaskAt, section.core_mask);
    image::Put(directory + image::kSectionOffsetAt, static_cast<uint32_t>(to - header));
    image::Put(directory + image::kSectionCountAt, static_cast<uint32_t>(section.code.size()));
    directory += image::kSectionBytes;
    for (const Instruction& instruction : section.code) {
      EncodeInstruction(instruction, to);
      to += kInstructionBytes;
    }
  }
  image::Put(header + image::kCrcAt,
             image::ImageCrc(bytes.data(), bytes.size(), info.address_table_offset, table_bytes));
  return bytes;
}

}  // namespace spyre
