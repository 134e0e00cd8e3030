// SPDX-License-Identifier: Apache-2.0
#include "driver/vpd.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"

namespace spyre::driver::vpd_test {
namespace {

std::vector<uint8_t> Bytes(const std::string& text) { return {text.begin(), text.end()}; }

// An identifier "Card", PN "X1", SN "77", a checksum that makes the sum 0, the end.
std::vector<uint8_t> Good() {
  std::vector<uint8_t> bytes = Bytes(std::string("\x82\x04\x00"
                                                 "Card\x90\x0E\x00",
                                                 10) +
                                     "PN\x02"
                                     "X1"
                                     "SN\x02"
                                     "77"
                                     "RV\x01");
  bytes.push_back(static_cast<uint8_t>(-std::accumulate(bytes.begin(), bytes.end(), 0)));
  bytes.push_back(0x78);
  return bytes;
}

std::string Failure(const std::vector<uint8_t>& bytes) {
  try {
    ParseVpd(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDeviceFault);
    return error.what();
  }
  return "none";
}

TEST(VpdOfACard, IsItsNameAndItsFields) {
  const Vpd vpd = ParseVpd(Good());
  EXPECT_EQ(vpd.name, "Card");
  EXPECT_EQ(vpd.fields, (std::map<std::string, std::string>{{"PN", "X1"}, {"SN", "77"}}));
}

TEST(VpdOfACard, WithAWrongByteIsRefused) {
  std::vector<uint8_t> bytes = Good();
  bytes[4] ^= 1;
  EXPECT_NE(Failure(bytes).find("checksum does not match"), std::string::npos);
}

TEST(VpdOfACard, ThatEndsNowhereOrIsSomethingElseIsRefused) {
  std::vector<uint8_t> bytes = Good();
  bytes.pop_back();
  EXPECT_NE(Failure(bytes).find("does not end"), std::string::npos);
  EXPECT_NE(Failure({}).find("does not end"), std::string::npos);
  EXPECT_NE(Failure({0, 0, 0, 0}).find("no resource"), std::string::npos);
  bytes = Good();
  bytes[12] = 0xFF;  // the length of PN
  EXPECT_NE(Failure(bytes).find("its resource cuts"), std::string::npos);
}

}  // namespace
}  // namespace spyre::driver::vpd_test
