// SPDX-License-Identifier: Apache-2.0
#include "model/contract/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "model/contract/control_block.h"
#include "model/contract/program_check.h"
#include "model/contract/program_image.h"
#include "tests/unit/model/contract/program_generator.h"
#include "tests/unit/random_cases.h"

namespace spyre::program_test {
namespace {

using ::testing::HasSubstr;

Instruction Make(Op op, std::vector<uint8_t> registers = {}, int64_t imm = 0) {
  Instruction instruction;
  instruction.op = op;
  std::copy(registers.begin(), registers.end(), instruction.reg.begin());
  instruction.imm = imm;
  return instruction;
}

// Two cores, every kind of part, an odd number of table entries so that its last stick has padding.
Program Sample() {
  Program program;
  program.name = "sample";
  program.core_mask = 3;
  program.lx_bytes = 4096;
  program.address_table = {0x1C00000000, 7, 0, 1};
  program.core_registers.assign(kMaxCores, std::vector<int64_t>(kCoreRegisters));
  program.core_registers[1] = {1, -2, 3, 0, 0, 0, 0, 8};
  program.sections.push_back(
      {Unit::kLoad,
       3,
       {Make(Op::kTab, {1}, 3), Make(Op::kLoop, {2, 1}), Make(Op::kMadd, {3, 1, 2}, 128),
        Make(Op::kLoad, {3, 1, 4, 5, 6, 7, 8, 9, 10, 0}), Make(Op::kEnd)}});
  program.sections.push_back({Unit::kVector, 1, {Make(Op::kVfill, {1, 2, 3, 4, 5})}});
  return program;
}

std::string DecodeError(const std::vector<uint8_t>& image) {
  try {
    Decode(image.data(), image.size());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  return "";
}

std::string EncodeError(const Program& program) {
  try {
    Encode(program);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  return "";
}

// Corruption that an attacker has given a matching CRC.
std::vector<uint8_t> Patched(std::vector<uint8_t> image, size_t at, std::vector<uint8_t> bytes) {
  const ImageInfo info = ReadImageHeader(image.data(), image.size());
  std::copy(bytes.begin(), bytes.end(), image.begin() + static_cast<long>(at));
  const size_t table_bytes = AlignUp(info.address_table_entries * 8, kStickBytes);
  image::Put(image.data() + image::kCrcAt,
             image::ImageCrc(image.data(), image.size(), info.address_table_offset, table_bytes));
  return image;
}

TEST(TokensOfSeveralUnits, AreThoseForWhichUnitsOfTwoKindsWaitOnAnyCore) {
  const auto waits_for = [](uint8_t token) {
    Instruction instruction = Make(Op::kNop);
    instruction.wait = token;
    return instruction;
  };
  Program program;
  program.sections.push_back({Unit::kLoad, 1, {waits_for(2), waits_for(2), waits_for(63)}});
  program.sections.push_back({Unit::kLoad, 2, {waits_for(2)}});
  EXPECT_EQ(TokensOfSeveralUnits(program), 0U) << "one kind";
  program.sections.push_back({Unit::kVector, 2, {waits_for(5), waits_for(63)}});
  EXPECT_EQ(TokensOfSeveralUnits(program), uint64_t{1} << 63);
}

TEST(ProgramImage, DecodingAnEncodedProgramGivesTheProgramAndTheSameBytes) {
  test::ForSeeds(100, [](std::mt19937& random) {
    const Program program = RandomProgram(random);
    const std::vector<uint8_t> image = Encode(program);
    EXPECT_EQ(image.size() % kStickBytes, 0u);
    const Program decoded = Decode(image.data(), image.size());
    ExpectSame(program, decoded);
    EXPECT_TRUE(Encode(decoded) == image);
  });
}

TEST(ProgramImage, PartsLieWhereTheFormatDocumentSays) {
  const std::vector<uint8_t> image = Encode(Sample());
  const ImageInfo info = ReadImageHeader(image.data(), kImageHeaderBytes);  // one stick is enough
  EXPECT_EQ(info.image_bytes, image.size());
  EXPECT_EQ(info.image_bytes, 128u + 128u + 2048u + 128u + 128u);
  EXPECT_EQ(info.address_table_offset, 128u + 128u + 2048u);
  EXPECT_EQ(info.address_table_entries, 4u);
  EXPECT_EQ(info.core_mask, 3u);
  EXPECT_EQ(std::string(image.begin(), image.begin() + 4), "SPYP");
  EXPECT_EQ(image::Get<uint16_t>(image.data() + 4), 2u);           // version
  EXPECT_EQ(image::Get<uint32_t>(image.data() + 24), 2u);          // sections
  EXPECT_EQ(image::Get<uint32_t>(image.data() + 28), 32u);         // core-register rows
  EXPECT_EQ(image::Get<uint32_t>(image.data() + 36), 6u);          // instructions
  EXPECT_EQ(image::Get<uint32_t>(image.data() + 40), 8u);          // registers of a core
  EXPECT_EQ(image::Get<uint32_t>(image.data() + 128 + 8), 2432u);  // first section's code
  EXPECT_EQ(image[2432], static_cast<uint8_t>(Op::kTab));
  EXPECT_EQ(image::Get<int64_t>(image.data() + 256 + 64 + 8), -2);  // core 1, register 1
  EXPECT_EQ(image::Get<uint64_t>(image.data() + 2304), 0x1C00000000u);
}

TEST(ProgramImage, ARowOfCoreRegistersIsAsWideAsTheProgramSays) {
  for (const size_t width : {size_t{1}, size_t{9}, size_t{kMaxCoreRegisters}}) {
    Program program = Sample();
    program.core_registers.assign(kMaxCores, std::vector<int64_t>(width));
    program.core_registers[31][width - 1] = -5;
    program.sections[0].code.push_back(Make(Op::kCreg, {1}, static_cast<int64_t>(width) - 1));
    const std::vector<uint8_t> image = Encode(program);
    EXPECT_EQ(image.size(), 128u + 128u + 32 * 8 * width + 128u + 128u);
    EXPECT_EQ(Decode(image.data(), image.size()).core_registers, program.core_registers);
    EXPECT_EQ(Encode(Assemble(Disassemble(program))), image);
    program.sections[0].code.back().imm = static_cast<int64_t>(width);
    EXPECT_THAT(EncodeError(program), HasSubstr("core registers are 0..")) << width;
  }
}

TEST(ProgramImage, EveryFlippedBitIsRefusedUnlessItIsInTheAddressTable) {
  const Program program = Sample();
  const std::vector<uint8_t> image = Encode(program);
  const ImageInfo info = ReadImageHeader(image.data(), image.size());
  const size_t table_end = info.address_table_offset + kStickBytes;
  for (size_t at = 0; at < image.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<uint8_t> changed = image;
      changed[at] = static_cast<uint8_t>(changed[at] ^ (1 << bit));
      const bool in_table = at >= info.address_table_offset && at < table_end;
      ASSERT_EQ(DecodeError(changed).empty(), in_table) << "byte " << at << " bit " << bit;
    }
  }
}

TEST(ProgramImage, ACorrectedAddressTableDecodesToTheNewAddresses) {
  std::vector<uint8_t> image = Encode(Sample());
  const ImageInfo info = ReadImageHeader(image.data(), image.size());
  // Correction writes whole sticks: the padding behind the four entries may change as well.
  for (size_t i = 0; i < kStickBytes; ++i) image[info.address_table_offset + i] = 0x11;
  const Program program = Decode(image.data(), image.size());
  EXPECT_EQ(program.address_table, std::vector<uint64_t>(4, 0x1111111111111111u));
}

TEST(ProgramImage, ATruncatedImageIsRefusedAtEveryLength) {
  const std::vector<uint8_t> image = Encode(Sample());
  for (size_t size = 0; size < image.size(); ++size) {
    const std::vector<uint8_t> part(image.begin(), image.begin() + static_cast<long>(size));
    ASSERT_THAT(DecodeError(part), HasSubstr("bytes")) << "length " << size;
  }
}

TEST(ProgramImage, BytesBehindTheImageAreNotRead) {
  std::vector<uint8_t> image = Encode(Sample());
  const size_t size = image.size();
  image.resize(size + 1000, 0xFF);
  EXPECT_EQ(Encode(Decode(image.data(), image.size())),
            std::vector<uint8_t>(image.begin(), image.begin() + static_cast<long>(size)));
}

TEST(ProgramImage, HostileSizesAreRefusedBeforeTheyAreUsed) {
  const std::vector<uint8_t> image = Encode(Sample());
  for (size_t field :
       {image::kImageBytesAt, image::kSectionsAt, image::kCoreRegisterRowsAt,
        image::kCoreRegisterWidthAt, image::kTableEntriesAt, image::kInstructionsAt}) {
    for (uint32_t value : {0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu, 0x10000000u, 0xFFFFFF80u}) {
      std::vector<uint8_t> changed = image;
      image::Put(changed.data() + field, value);
      EXPECT_THAT(DecodeError(changed), HasSubstr("program image")) << field << " = " << value;
    }
  }
  // Sizes that agree with each other but not with the limit or with the bytes given.
  std::vector<uint8_t> header(kImageHeaderBytes);
  std::copy(image.begin(), image.begin() + 8, header.begin());
  image::Put(header.data() + image::kInstructionsAt, uint32_t{(64u << 20) / 16});
  image::Put(header.data() + image::kImageBytesAt, uint32_t{(64u << 20) + 128});
  EXPECT_THAT(DecodeError(header), HasSubstr("at most 67108864"));
  image::Put(header.data() + image::kInstructionsAt, uint32_t{(64u << 20) / 16 - 8});
  image::Put(header.data() + image::kImageBytesAt, uint32_t{64u << 20});
  EXPECT_THAT(DecodeError(header), HasSubstr("67108864 bytes announced, only 128 given"));
}

TEST(ProgramImage, RandomBytesBehindAGoodMagicNeverCrash) {
  test::ForSeeds(100, [](std::mt19937& random) {
    std::vector<uint8_t> image = Encode(Sample());
    const auto at = test::Draw<size_t>(random, 4, image.size() - 1);
    const auto end = std::min(image.size(), at + test::Draw<size_t>(random, 0, 100));
    for (size_t i = at; i < end; ++i) image[i] ^= static_cast<uint8_t>(random());
    try {
      const Program program = Decode(image.data(), image.size());
      EXPECT_EQ(program.sections.size(), 2u);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    }
  });
}

TEST(ProgramImage, ContentIsCheckedEvenWhenTheCrcIsRight) {
  const std::vector<uint8_t> image = Encode(Sample());
  const size_t code = 2432;
  struct Case {
    size_t at;
    std::vector<uint8_t> bytes;
    const char* message;
  };
  const std::vector<Case> cases = {
      {image::kFlagsAt, {4, 0}, "flags 0x0004"},
      {image::kCoreMaskAt, {0, 0, 0, 0}, "names no core"},
      {image::kCoreMaskAt, {1, 0, 0, 0}, "program's mask 0x00000001"},
      {image::kLxBytesAt, {0, 0, 0, 1}, "16777216 bytes of LX"},
      {image::kCoreRegisterWidthAt, {0}, "0 core registers in each of 32 rows"},
      {image::kReserved0At, {1}, "reserved header field"},
      {image::kReserved1At + 31, {1}, "reserved header field"},
      {image::kNameAt, {'a', 0, 'b'}, "after the program name"},
      {image::kNameAt, std::vector<uint8_t>(32, 'a'), "at most 31 fit"},
      {image::kNameAt, {0x07}, "byte 0x07"},
      {128, {5}, "unit 5 does not exist"},
      {128 + 1, {1}, "reserved field of the section directory"},
      {128 + 4, {4, 0, 0, 0}, "core mask 0x00000004"},
      {128 + 8, {0, 0, 0, 0}, "claims 5 instructions at byte 0"},
      {128 + 12, {7, 0, 0, 0}, "claims 7 instructions"},
      {128 + 16 + 12, {0, 0, 0, 0}, "1 instructions belong to no section"},
      {128 + 32, {1}, "padding of the section directory"},
      {code, {200}, "opcode 200"},
      {code, {static_cast<uint8_t>(Op::kStore)}, "'store' runs on the store unit, not on load"},
      {code + 1, {1}, "'tab' has no function 1"},
      {code + 2, {64}, "waits for token 64"},
      {code + 3, {64}, "signals token 64"},
      {code + 4, {64}, "operand rd is register 64"},
      {code + 5, {1}, "does not use operand 1"},
      {code + 7, {1}, "unused byte of an instruction"},
      {code + 8, {4}, "entry 4; the table has 4"},
      {code + 16, {static_cast<uint8_t>(Op::kEnd), 0, 0, 0, 0, 0}, "'end' without a 'loop'"},
      {code + 64, {static_cast<uint8_t>(Op::kNop)}, "'loop' without 'end'"},
      {code + 96, {1}, "padding after the instructions"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(DecodeError(Patched(image, c.at, c.bytes)), HasSubstr(c.message))
        << "byte " << c.at;
  }
}

TEST(ProgramImage, EncodeRefusesWhatDecodeWouldRefuse) {
  const std::vector<std::pair<std::function<void(Program&)>, const char*>> cases = {
      {[](Program& p) { p.name = std::string(32, 'n'); }, "at most 31 fit"},
      {[](Program& p) { p.name = "a;b"; }, "without ';'"},
      {[](Program& p) { p.name = " a"; }, "begins or ends with a space"},
      {[](Program& p) { p.core_mask = 0; }, "names no core"},
      {[](Program& p) { p.lx_bytes = kLxUsableBytes + 1; }, "bytes of LX"},
      {[](Program& p) { p.core_registers.resize(3); }, "have 3 rows"},
      {[](Program& p) { p.core_registers[7].push_back(1); }, "core 7 has 9 core registers"},
      {[](Program& p) { p.core_registers.assign(kMaxCores, {}); }, "0 core registers; 1..1024"},
      {[](Program& p) {
         p.core_registers.assign(kMaxCores, std::vector<int64_t>(kMaxCoreRegisters + 1));
       },
       "1025 core registers"},
      {[](Program& p) {
         p.sections.push_back({Unit::kRing, 1, {Make(Op::kMark, {1}, -1)}});
       },
       "steps are 0..1048575"},
      {[](Program& p) { p.sections[1].unit = Unit::kLoad; }, "vfill"},
      {[](Program& p) { p.sections.push_back(p.sections[0]); }, "already have a section"},
      {[](Program& p) { p.sections[1].code[0].reg[7] = 3; }, "does not use operand 7"},
      {[](Program& p) { p.sections[1].code[0].imm = 3; }, "has no immediate"},
      {[](Program& p) { p.sections[0].code.insert(p.sections[0].code.end(), 9, Make(Op::kLoop)); },
       "deeper than 8"},
      {[](Program& p) { p.sections[0].code.push_back(Make(Op::kCreg, {1}, 8)); },
       "core registers are 0..7"},
      {[](Program& p) { p.address_table.resize((64u << 20) / 8); }, "at most 67108864"},
  };
  for (const auto& [change, message] : cases) {
    Program program = Sample();
    change(program);
    EXPECT_THAT(EncodeError(program), HasSubstr(message));
  }
}

TEST(ProgramImage, TheTimingOnlyFlagIsTheOnlyDifferenceItMakes) {
  Program program = Sample();
  const std::vector<uint8_t> with_data = Encode(program);
  program.timing_only = true;
  const std::vector<uint8_t> without = Encode(program);
  ASSERT_EQ(with_data.size(), without.size());
  for (size_t i = 0; i < without.size(); ++i) {
    const bool flags_or_crc = i == image::kFlagsAt || (i >= image::kCrcAt && i < image::kCrcAt + 4);
    if (!flags_or_crc) {
      EXPECT_EQ(with_data[i], without[i]) << "byte " << i;
    }
  }
  EXPECT_TRUE(Decode(without.data(), without.size()).timing_only);
}

TEST(ProgramOps, ScalarInstructionsRunEverywhereAndTensorInstructionsOnTheirOwnUnit) {
  EXPECT_TRUE(RunsOn(Op::kMin, Unit::kRing));
  EXPECT_TRUE(RunsOn(Op::kMatmul, Unit::kPt));
  EXPECT_FALSE(RunsOn(Op::kMatmul, Unit::kVector));
  EXPECT_FALSE(RunsOn(Op::kNop, static_cast<Unit>(9)));
  for (const OpInfo& info : OpTable()) {
    int units = 0;
    for (int unit = 0; unit < kUnitCount; ++unit) units += RunsOn(info.op, static_cast<Unit>(unit));
    EXPECT_EQ(units, static_cast<uint8_t>(info.op) <= 9 ? kUnitCount : 1) << info.mnemonic;
  }
}

TEST(ProgramOps, OperandCountsAreThoseOfTheFormat) {
  EXPECT_EQ(OperandCount(Op::kNop), 0);
  EXPECT_EQ(OperandCount(Op::kLi), 1);
  EXPECT_EQ(OperandCount(Op::kMin), 3);
  EXPECT_EQ(OperandCount(Op::kLoad), 10);
  EXPECT_EQ(OperandCount(Op::kMatmul), 10);
  EXPECT_EQ(OperandCount(Op::kVreduce), 12);
  EXPECT_EQ(OperandCount(Op::kBarrier), 2);
  EXPECT_TRUE(HasImmediate(Op::kMul));
  EXPECT_FALSE(HasImmediate(Op::kMin));
  EXPECT_TRUE(IsKnown(55));
  EXPECT_FALSE(IsKnown(10));
}

}  // namespace
}  // namespace spyre::program_test
