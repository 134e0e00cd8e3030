// SPDX-License-Identifier: Apache-2.0
// Images that a loader gets, and the answer to hostile ones: an error that names the file and what
// is wrong.
#include "model/common/elf_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "base/error.h"
#include "tests/unit/model/common/elf_writer.h"

namespace spyre::model::elf_image_test {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

ElfWriter Writer() {
  ElfWriter writer;
  writer.entry = 0x80000004;
  writer.AddWords(0x80000000, {1, 2, 3});
  writer.segments.push_back({0x80001000, {9, 8}, 16});
  writer.symbols = {
      {"_start", 0x80000004}, {"$x", 0x80000004}, {"tohost", 0x80001000}, {"limit", 16}};
  return writer;
}

// What the reader says of an image that `damage` has been done to.
std::string Message(const std::function<void(Bytes&)>& damage) {
  Bytes elf = Writer().Bytes();
  damage(elf);
  try {
    ParseElf(elf, "image.elf");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_THAT(error.what(), HasSubstr("image.elf: "));
    return error.what();
  }
  return "no error";
}
std::string Patched(size_t offset, uint32_t value, size_t bytes = 4) {
  return Message([&](Bytes& elf) { ElfWriter::Patch(elf, offset, value, bytes); });
}
std::string PatchedSection(size_t index, size_t offset, uint32_t value) {
  return Message([&](Bytes& elf) {
    ElfWriter::Patch(elf, ElfWriter::SectionHeader(elf, index) + offset, value);
  });
}

TEST(ElfImageTest, GivesSegmentsEntryAndSymbols) {
  const ElfImage image = ParseElf(Writer().Bytes(), "image.elf");
  EXPECT_EQ(image.name, "image.elf");
  EXPECT_EQ(image.entry, 0x80000004);
  ASSERT_EQ(image.segments.size(), 2u);
  EXPECT_EQ(image.segments[0].data.size(), 12u);
  EXPECT_EQ(image.segments[1].address, 0x80001000);
  EXPECT_EQ(image.segments[1].data, (Bytes{9, 8}));
  EXPECT_EQ(image.segments[1].zero_bytes, 14u);
  const std::map<std::string, uint32_t> symbols{
      {"_start", 0x80000004}, {"tohost", 0x80001000}, {"limit", 16}};
  EXPECT_EQ(image.symbols, symbols);
}

TEST(ElfImageTest, DescribesAddressesBySymbolsOfTheSameSegment) {
  const ElfImage image = ParseElf(Writer().Bytes(), "image.elf");
  EXPECT_EQ(image.Describe(0x80000004), "_start");
  EXPECT_EQ(image.Describe(0x80000008), "_start+0x4");
  EXPECT_EQ(image.Describe(0x8000100C), "tohost+0xc");
  EXPECT_EQ(image.Describe(0x80000000), "0x80000000");
  EXPECT_EQ(image.Describe(0x00000020), "0x00000020");
}

TEST(ElfImageTest, AnImageNeedsNoSymbols) { EXPECT_EQ(Patched(48, 0, 2), "no error"); }

TEST(ElfImageTest, OtherKindsOfFilesAreRefused) {
  EXPECT_THAT(Message([](Bytes& elf) { elf.clear(); }), HasSubstr("not an ELF file"));
  EXPECT_THAT(Patched(0, 0), HasSubstr("not an ELF file"));
  EXPECT_THAT(Patched(4, 2, 1), HasSubstr("class 2 instead of 1 (32 bits)"));
  EXPECT_THAT(Patched(5, 2, 1), HasSubstr("data encoding 2 instead of 1 (little-endian)"));
  EXPECT_THAT(Patched(6, 9, 1), HasSubstr("version 9"));
  EXPECT_THAT(Patched(16, 1, 2), HasSubstr("type 1 instead of 2 (executable)"));
  EXPECT_THAT(Patched(18, 62, 2), HasSubstr("machine 62 instead of 243 (RISC-V)"));
}

TEST(ElfImageTest, TablesMustLieInTheFile) {
  EXPECT_THAT(Patched(28, 0xFFFFFFF0), HasSubstr("program headers at offset 4294967280"));
  EXPECT_THAT(Patched(44, 0xFFFF, 2), HasSubstr("program headers"));
  EXPECT_THAT(Patched(42, 31, 2), HasSubstr("program headers of 31 bytes instead of 32"));
  EXPECT_THAT(Patched(32, 0xFFFFFFF0), HasSubstr("section headers at offset 4294967280"));
  EXPECT_THAT(Patched(46, 1, 2), HasSubstr("section headers of 1 bytes instead of 40"));
}

TEST(ElfImageTest, SegmentsMustLieInTheFileAndIn32Bits) {
  EXPECT_THAT(Patched(ElfWriter::ProgramHeader(0) + 4, 0xFFFFFFFF),
              HasSubstr("a segment at offset 4294967295"));
  EXPECT_THAT(Patched(ElfWriter::ProgramHeader(0) + 16, 13),
              HasSubstr("13 bytes in the file and only 12 in memory"));
  EXPECT_THAT(Patched(ElfWriter::ProgramHeader(0) + 20, 0xFFFFFFFF),
              HasSubstr("beyond 32-bit addresses"));
  EXPECT_THAT(Patched(ElfWriter::ProgramHeader(1) + 12, 0x80000008),
              HasSubstr("0x80000000 and 0x80000008 overlap"));
}

TEST(ElfImageTest, AnImageWithNothingToLoadIsRefused) {
  EXPECT_THAT(Patched(44, 0, 2), HasSubstr("nothing to load"));
  EXPECT_THAT(Message([](Bytes& elf) {
                ElfWriter::Patch(elf, ElfWriter::ProgramHeader(0), 6);
                ElfWriter::Patch(elf, ElfWriter::ProgramHeader(1), 6);
              }),
              HasSubstr("nothing to load"));
}

TEST(ElfImageTest, SymbolTablesMustBeWhole) {
  EXPECT_THAT(PatchedSection(1, 16, 0x7FFFFFFF),
              HasSubstr("the symbol table at offset 2147483647"));
  EXPECT_THAT(PatchedSection(1, 20, 0xFFFFFFF0), HasSubstr("the symbol table"));
  EXPECT_THAT(PatchedSection(1, 20, 17), HasSubstr("not made of symbols of 16 bytes"));
  EXPECT_THAT(PatchedSection(1, 36, 8), HasSubstr("not made of symbols of 16 bytes"));
  EXPECT_THAT(PatchedSection(1, 24, 7), HasSubstr("names section 7 as its strings"));
  EXPECT_THAT(PatchedSection(1, 24, 1), HasSubstr("names section 1 as its strings"));
  EXPECT_THAT(PatchedSection(2, 16, 0x7FFFFFFF),
              HasSubstr("the string table at offset 2147483647"));
  EXPECT_THAT(PatchedSection(2, 20, 10), HasSubstr("name"));
  EXPECT_THAT(Message([](Bytes& elf) {
                const auto symbols = elf.end() - 80;
                std::copy(symbols, symbols + 40, symbols - 40);
              }),
              HasSubstr("two symbol tables"));
}

TEST(ElfImageTest, ATruncatedImageIsAnErrorOrWhole) {
  const Bytes whole = Writer().Bytes();
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(Message([&](Bytes& elf) { elf.resize(size); }), "no error") << size << " bytes";
}

TEST(ElfImageTest, DamagedImagesAreReadOrRefused) {
  std::mt19937 random(169);
  for (int i = 0; i < 20'000; ++i) {
    Message([&](Bytes& elf) {
      for (uint32_t flips = 1 + random() % 4; flips > 0; --flips)
        elf[random() % elf.size()] = random() & 0xFF;
    });
  }
}

TEST(ElfImageTest, AFileThatCannotBeReadIsTheCallersMistake) {
  try {
    ReadElf("/nonexistent/image.elf");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_THAT(error.what(), HasSubstr("/nonexistent/image.elf"));
  }
  EXPECT_THROW(ReadElf(::testing::TempDir()), Error);
}

}  // namespace
}  // namespace spyre::model::elf_image_test
