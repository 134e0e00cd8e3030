// SPDX-License-Identifier: Apache-2.0
// Firmware images: what is packed is good, and whatever is wrong with an image has a name.
#include "model/contract/firmware_package.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "base/error.h"
#include "model/contract/crc32c.h"

namespace spyre::firmware_package_test {
namespace {

constexpr uint32_t kSram = 0x80000000, kSramBytes = 256 * 1024;

FirmwareProgram Program(size_t bytes = 64) {
  FirmwareProgram program{kSram, kSram + 8, std::vector<uint8_t>(bytes)};
  for (size_t i = 0; i < bytes; ++i) program.payload[i] = static_cast<uint8_t>(i * 7);
  return program;
}

UpdateStatus Check(const std::vector<uint8_t>& image) {
  return CheckFirmware(image.data(), image.size());
}

// A good image with another header, whose CRC is right again.
UpdateStatus CheckWith(const std::function<void(FirmwareHeader&)>& change) {
  std::vector<uint8_t> image = PackFirmware(Program(), {1, 2, 3});
  FirmwareHeader header;
  std::memcpy(static_cast<void*>(&header), image.data(), sizeof(header));
  change(header);
  header.crc = Crc32cTable(&header, 124);
  std::memcpy(image.data(), &header, sizeof(header));
  return Check(image);
}

TEST(FirmwarePackageTest, WhatIsPackedIsGoodAndComesBack) {
  const std::vector<uint8_t> image = PackFirmware(Program(61), {1, 2, 345});
  ASSERT_EQ(image.size(), 128u + 64u) << "filled up to words";
  EXPECT_EQ(std::memcmp(image.data(), "SPFW", 4), 0);
  FirmwareHeader header;
  EXPECT_EQ(CheckFirmware(image.data(), image.size(), &header), UpdateStatus::DONE);
  EXPECT_EQ(VersionText(header), "1.2.345");
  EXPECT_EQ(header.payload_crc, Crc32cTable(&image[128], 64));
  const FirmwareProgram program = UnpackFirmware(image);
  EXPECT_EQ(program.load_address, kSram);
  EXPECT_EQ(program.entry, kSram + 8);
  EXPECT_TRUE(std::equal(program.payload.begin(), program.payload.begin() + 61,
                         Program(61).payload.begin()));
}

TEST(FirmwarePackageTest, TheBuildIdIsThePublishedHash) {  // test vectors of FNV-1a, 64 bits
  EXPECT_EQ(FirmwareBuildId(nullptr, 0), 0xcbf29ce484222325u);
  EXPECT_EQ(FirmwareBuildId(reinterpret_cast<const uint8_t*>("a"), 1), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(FirmwareBuildId(reinterpret_cast<const uint8_t*>("foobar"), 6), 0x85944171f73967e8u);
}

TEST(FirmwarePackageTest, EveryByteThatChangesIsNoticed) {
  const std::vector<uint8_t> good = PackFirmware(Program(), {1, 0, 0});
  for (size_t byte = 0; byte < good.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<uint8_t> image = good;
      image[byte] = static_cast<uint8_t>(image[byte] ^ 1u << bit);
      EXPECT_NE(Check(image), UpdateStatus::DONE) << "byte " << byte << " bit " << bit;
    }
  }
}

TEST(FirmwarePackageTest, EveryFieldHasItsRefusal) {
  using U = UpdateStatus;
  using H = FirmwareHeader;
  EXPECT_EQ(CheckWith([](H&) {}), U::DONE);
  EXPECT_EQ(CheckWith([](H& h) { h.magic ^= 1; }), U::BAD_MAGIC);
  EXPECT_EQ(CheckWith([](H& h) { h.header_version = 2; }), U::BAD_HEADER_VERSION);
  EXPECT_EQ(CheckWith([](H& h) { h.target = 2; }), U::BAD_TARGET);
  EXPECT_EQ(CheckWith([](H& h) { h.reserved0[20] = 1; }), U::BAD_FIELD);
  EXPECT_EQ(CheckWith([](H& h) { h.minimum_spec = 2; }), U::BAD_HARDWARE);
  EXPECT_EQ(CheckWith([](H& h) { h.minimum_spec = 0; }), U::DONE) << "made for an older card";
  for (const uint32_t bytes : {0u, 2u, 60u, 68u, kSramBytes + 4, 0xFFFFFFFCu})
    EXPECT_EQ(CheckWith([=](H& h) { h.payload_bytes = bytes; }), U::BAD_LENGTH) << bytes;
  for (const uint32_t load : {0u, kSram - 4, kSram + 2, kSram + kSramBytes - 60, 0xFFFFFFFCu})
    EXPECT_EQ(CheckWith([=](H& h) { h.load_address = load; }), U::BAD_LOAD) << load;
  EXPECT_EQ(CheckWith([](H& h) {
              h.load_address = kSram + kSramBytes - 64;
              h.entry = h.load_address;
            }),
            U::DONE)
      << "it ends with the SRAM";
  for (const uint32_t entry : {0u, kSram - 4, kSram + 2, kSram + 64, 0xFFFFFFFCu})
    EXPECT_EQ(CheckWith([=](H& h) { h.entry = entry; }), U::BAD_ENTRY) << entry;
  EXPECT_EQ(CheckWith([](H& h) { ++h.payload_crc; }), U::BAD_PAYLOAD_CRC);
  EXPECT_EQ(CheckWith([](H& h) { ++h.build_id; }), U::BAD_BUILD);
}

TEST(FirmwarePackageTest, AnImageOfAnotherLengthIsRefused) {
  std::vector<uint8_t> image = PackFirmware(Program(), {1, 0, 0});
  for (size_t bytes = 0; bytes < image.size(); ++bytes)
    EXPECT_EQ(CheckFirmware(image.data(), bytes), UpdateStatus::BAD_LENGTH) << bytes;
  image.push_back(0);
  EXPECT_EQ(Check(image), UpdateStatus::BAD_LENGTH);
}

// Random fields, of which many are nearly right, under a right CRC. The reference counts in 64
// bits.
TEST(FirmwarePackageTest, RandomHeadersAreJudgedByTheirFields) {
  std::mt19937 random(16);
  const auto pick = [&](std::initializer_list<uint32_t> values) {
    const auto any = static_cast<uint32_t>(random());
    const size_t i = random() % (values.size() + 1);
    return i == values.size() ? any : *(values.begin() + i);
  };
  int good = 0;
  for (int i = 0; i < 20000; ++i) {
    const uint32_t bytes = pick({64, 64, 64, 64, 60, 0, kSramBytes, 0xFFFFFFC0});
    const uint32_t load = pick({kSram, kSram, kSram + 4, kSram + kSramBytes - 64, kSram - 4});
    const uint32_t entry = load + pick({0, 4, 60, 64, 2, 0xFFFFFFFC});
    const bool expected = bytes == 64 && load % 4 == 0 && load >= kSram &&
                          uint64_t{load} + bytes <= uint64_t{kSram} + kSramBytes &&
                          entry % 4 == 0 && entry >= load && entry < uint64_t{load} + bytes;
    const UpdateStatus status = CheckWith([&](FirmwareHeader& h) {
      h.payload_bytes = bytes;
      h.load_address = load;
      h.entry = entry;
    });
    EXPECT_EQ(status == UpdateStatus::DONE, expected) << bytes << " " << load << " " << entry;
    good += expected;
  }
  EXPECT_GT(good, 500);
}

TEST(FirmwarePackageTest, AProgramThatTheCardWouldRefuseIsNotPacked) {
  FirmwareProgram program = Program();
  program.entry = kSram + 64;
  EXPECT_THROW(PackFirmware(program, {}), Error);
  EXPECT_THROW(PackFirmware(Program(kSramBytes + 1), {}), Error);
  EXPECT_THROW(PackFirmware({}, {}), Error);
}

TEST(FirmwarePackageTest, VersionsAreThreeNumbers) {
  const PackageVersion version = ParsePackageVersion("12.0.65535");
  EXPECT_EQ(version.major, 12);
  EXPECT_EQ(version.minor, 0);
  EXPECT_EQ(version.patch, 65535);
  for (const char* bad : {"", "1", "1.2", "1.2.", "1.2.3.4", "1.2.3 ", "256.0.0", "0.256.0",
                          "0.0.65536", "-1.0.0", "1..2", "a.b.c", "+1.0.0"})
    EXPECT_THROW(ParsePackageVersion(bad), Error) << bad;
}

TEST(FirmwarePackageTest, EveryStatusHasANameAndADescription) {
  EXPECT_STREQ(Describe(UpdateStatus::BAD_ENTRY).name, "BAD_ENTRY");
  EXPECT_STREQ(Describe(static_cast<UpdateStatus>(0xEE)).name, "UNDEFINED");
}

}  // namespace
}  // namespace spyre::firmware_package_test
