// SPDX-License-Identifier: Apache-2.0
// Reads a program image. Every length is checked against the 64 MiB limit and against the bytes
// given before it is used, so hostile input can neither read outside the buffer nor cause a large
// allocation.
#include <algorithm>

#include "base/error.h"
#include "model/contract/op_table.h"
#include "model/contract/program.h"
#include "model/contract/program_check.h"
#include "model/contract/program_image.h"

namespace spyre {
namespace {

struct Counts {
  size_t sections;
  size_t core_register_rows;
  size_t core_register_width;
  size_t table_entries;
  size_t instructions;
};

Counts ReadCounts(const uint8_t* header) {
  return {image::Get<uint32_t>(header + image::kSectionsAt),
          image::Get<uint32_t>(header + image::kCoreRegisterRowsAt),
          image::Get<uint32_t>(header + image::kCoreRegisterWidthAt),
          image::Get<uint32_t>(header + image::kTableEntriesAt),
          image::Get<uint32_t>(header + image::kInstructionsAt)};
}

void CheckZero(const uint8_t* image, size_t from, size_t to, const char* what) {
  for (size_t i = from; i < to; ++i) {
    if (image[i] != 0) {
      throw BadInput("program image: byte {} ({}) is 0x{:02x} and must be 0", i, what, image[i]);
    }
  }
}

Instruction DecodeInstruction(const uint8_t* image, size_t at) {
  const uint8_t* from = image + at;
  if (!IsKnown(from[0])) {
    throw BadInput("program image: instruction at byte {} has opcode {}, which is not defined", at,
                   from[0]);
  }
  Instruction instruction;
  instruction.op = static_cast<Op>(from[0]);
  instruction.fn = from[1];
  instruction.wait = from[2];
  instruction.signal = from[3];
  if (HasImmediate(instruction.op)) {
    std::copy_n(from + 4, 3, instruction.reg.begin());
    CheckZero(image, at + 7, at + 8, "unused byte of an instruction");
    instruction.imm = image::Get<int64_t>(from + 8);
  } else {
    std::copy_n(from + 4, instruction.reg.size(), instruction.reg.begin());
  }
  return instruction;
}

std::string DecodeName(const uint8_t* image) {
  const uint8_t* begin = image + image::kNameAt;
  const uint8_t* end = std::find(begin, begin + kMaxProgramName + 1, uint8_t{0});
  const auto length = static_cast<size_t>(end - begin);
  CheckZero(image, image::kNameAt + length, image::kReserved1At, "after the program name");
  return {begin, end};  // a name of 32 bytes is refused by CheckProgram
}

}  // namespace

ImageInfo ReadImageHeader(const uint8_t* data, size_t size) {
  if (size < kImageHeaderBytes) {
    throw BadInput("program image: {} bytes given; the header alone has {}", size,
                   kImageHeaderBytes);
  }
  if (!std::equal(image::kMagic.begin(), image::kMagic.end(), data + image::kMagicAt)) {
    throw BadInput("program image: magic is {:02x} {:02x} {:02x} {:02x}, not \"SPYP\"", data[0],
                   data[1], data[2], data[3]);
  }
  const auto version = image::Get<uint16_t>(data + image::kVersionAt);
  if (version != image::kVersion) {
    throw BadInput("program image: format version {}; this reader knows version {}", version,
                   image::kVersion);
  }
  const size_t image_bytes = image::Get<uint32_t>(data + image::kImageBytesAt);
  if (image_bytes > kMaxImageBytes) {
    throw BadInput("program image: {} bytes announced; at most {} are allowed", image_bytes,
                   kMaxImageBytes);
  }
  const Counts counts = ReadCounts(data);
  if (counts.core_register_rows != 0 &&
      counts.core_register_rows != static_cast<size_t>(kMaxCores)) {
    throw BadInput("program image: {} rows of core registers; {} or none are possible",
                   counts.core_register_rows, kMaxCores);
  }
  const bool has_rows = counts.core_register_rows != 0;
  if ((counts.core_register_width != 0) != has_rows ||
      counts.core_register_width > static_cast<size_t>(kMaxCoreRegisters)) {
    throw BadInput(
        "program image: {} core registers in each of {} rows; 1..{} are possible, and 0 without "
        "rows",
        counts.core_register_width, counts.core_register_rows, kMaxCoreRegisters);
  }
  // Counts are 32 bits, so the sum of their bytes cannot overflow 64 bits.
  const size_t expected =
      ImageBytes(counts.sections, counts.core_register_rows, counts.core_register_width,
                 counts.table_entries, counts.instructions);
  if (expected != image_bytes) {
    throw BadInput(
        "program image: {} bytes announced, but {} sections, {} core-register rows, {} "
        "table entries and {} instructions make {}",
        image_bytes, counts.sections, counts.core_register_rows, counts.table_entries,
        counts.instructions, expected);
  }
  ImageInfo info{};
  info.image_bytes = static_cast<uint32_t>(image_bytes);
  info.address_table_offset = static_cast<uint32_t>(
      ImageBytes(counts.sections, counts.core_register_rows, counts.core_register_width, 0, 0));
  info.address_table_entries = static_cast<uint32_t>(counts.table_entries);
  info.core_mask = image::Get<uint32_t>(data + image::kCoreMaskAt);
  info.next = image::Get<uint32_t>(data + image::kNextAt);
  return info;
}

Program Decode(const uint8_t* data, size_t size) {
  const ImageInfo info = ReadImageHeader(data, size);
  if (size < info.image_bytes) {
    throw BadInput("program image: {} bytes announced, only {} given", info.image_bytes, size);
  }
  const Counts counts = ReadCounts(data);
  const size_t table_at = info.address_table_offset;
  const size_t table_bytes = AlignUp(counts.table_entries * 8, kStickBytes);
  const auto stored_crc = image::Get<uint32_t>(data + image::kCrcAt);
  const uint32_t crc = image::ImageCrc(data, info.image_bytes, table_at, table_bytes);
  if (stored_crc != crc) {
    throw BadInput(
        "program image: CRC-32C is 0x{:08x}, the header says 0x{:08x}: the image was "
        "changed outside its address table",
        crc, stored_crc);
  }

  const auto flags = image::Get<uint16_t>(data + image::kFlagsAt);
  if ((flags & ~(image::kFlagTimingOnly | image::kFlagGeneratedLoops)) != 0) {
    throw BadInput(
        "program image: flags 0x{:04x}; only bits 0 (timing_only) and 1 (generated_loops) are "
        "defined",
        flags);
  }
  CheckZero(data, image::kReserved0At, image::kNameAt, "reserved header field");
  CheckZero(data, image::kReserved1At, kImageHeaderBytes, "reserved header field");

  Program program;
  program.name = DecodeName(data);
  program.timing_only = (flags & image::kFlagTimingOnly) != 0;
  program.generated_loops = (flags & image::kFlagGeneratedLoops) != 0;
  program.core_mask = info.core_mask;
  program.next = info.next;
  program.lx_bytes = image::Get<uint32_t>(data + image::kLxBytesAt);

  const size_t directory_end = kImageHeaderBytes + counts.sections * image::kSectionBytes;
  size_t at = AlignUp(directory_end, kStickBytes);
  CheckZero(data, directory_end, at, "padding of the section directory");
  program.core_registers.resize(counts.core_register_rows);
  for (auto& row : program.core_registers) {
    row.resize(counts.core_register_width);
    for (int64_t& value : row) {
      value = image::Get<int64_t>(data + at);
      at += sizeof(value);
    }
  }
  program.address_table.resize(counts.table_entries);
  for (size_t i = 0; i < counts.table_entries; ++i) {
    program.address_table[i] = image::Get<uint64_t>(data + table_at + 8 * i);
  }

  // Sections lie one behind the other; the directory must say so.
  size_t code_at = table_at + table_bytes;
  size_t left = counts.instructions;
  program.sections.reserve(counts.sections);
  for (size_t i = 0; i < counts.sections; ++i) {
    const size_t entry_at = kImageHeaderBytes + i * image::kSectionBytes;
    const uint8_t* entry = data + entry_at;
    CheckZero(data, entry_at + image::kSectionReservedAt, entry_at + image::kSectionMaskAt,
              "reserved field of the section directory");
    const size_t offset = image::Get<uint32_t>(entry + image::kSectionOffsetAt);
    const size_t count = image::Get<uint32_t>(entry + image::kSectionCountAt);
    if (offset != code_at || count > left) {
      throw BadInput(
          "program image: section {} claims {} instructions at byte {}; it must begin at "
          "byte {} and {} instructions are left",
          i, count, offset, code_at, left);
    }
    Section section;
    section.unit = static_cast<Unit>(entry[image::kSectionUnitAt]);
    section.core_mask = image::Get<uint32_t>(entry + image::kSectionMaskAt);
    section.code.reserve(count);
    for (size_t k = 0; k < count; ++k, code_at += kInstructionBytes) {
      section.code.push_back(DecodeInstruction(data, code_at));
    }
    left -= count;
    program.sections.push_back(std::move(section));
  }
  if (left != 0) {
    throw BadInput("program image: {} instructions belong to no section", left);
  }
  CheckZero(data, code_at, info.image_bytes, "padding after the instructions");
  CheckProgram(program);
  return program;
}

}  // namespace spyre
