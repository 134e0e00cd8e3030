// SPDX-License-Identifier: Apache-2.0
#include "cosim/serve/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spyre::cosim::version_test {
namespace {

using ::testing::HasSubstr;

std::string Hello(const std::string& json) {
  return std::string("\0\0\1\0", 4) + json + std::string(1, '\0');
}

TEST(Version, WithoutCapabilitiesHasTheDefaultsOfTheSpecification) {
  std::string why;
  const auto client = ParseVersion(std::string_view("\0\0\1\0", 4), why);
  ASSERT_TRUE(client) << why;
  EXPECT_EQ(client->minor, 1);
  EXPECT_EQ(client->transfer_bytes, 1u << 20);
  EXPECT_FALSE(client->time_client);
}

TEST(Version, TheAnswerIsNeverNewerThanTheProposal) {
  std::string why;
  EXPECT_EQ(ParseVersion(std::string_view("\0\0\0\0", 4), why)->minor, 0);
  EXPECT_EQ(ParseVersion(std::string_view("\0\0\7\0", 4), why)->minor, 1);
}

TEST(Version, WhatOtherClientsSayIsUnderstood) {
  std::string why;
  const auto client = ParseVersion(
      Hello(R"({"capabilities":{"max_msg_fds":8,"max_data_xfer_size":4096,"pgsizes":4096,)"
            R"("max_dma_maps":65535,"migration":{"pgsize":4096,"max_bitmap_size":256},)"
            R"("twin_socket":{"supported":true},"write_multiple":true,"of_tomorrow":[1]}})"),
      why);
  ASSERT_TRUE(client) << why;
  EXPECT_EQ(client->transfer_bytes, 4096u);
  EXPECT_TRUE(ParseVersion(Hello("{}"), why)) << why;
}

TEST(Version, TheAnswerHasOnlyWhatWasProposed) {
  std::string why;
  const auto plain = ParseVersion(Hello("{}"), why);
  EXPECT_EQ(VersionReply(*plain, TimeMode::kFree),
            Hello(R"({"capabilities":{"max_msg_fds":8,"max_data_xfer_size":1048576}})"));
  const auto timed = ParseVersion(Hello(R"({"capabilities":{"spyre_time":{"client":"a"}}})"), why);
  ASSERT_TRUE(timed) << why;
  EXPECT_EQ(timed->time_client, "a");
  EXPECT_THAT(VersionReply(*timed, TimeMode::kPaced),
              HasSubstr(R"("spyre_time":{"mode":"paced"})"));
  const auto outcomes =
      ParseVersion(Hello(R"({"capabilities":{"spyre_time":{"client":"a","outcomes":true}}})"), why);
  ASSERT_TRUE(outcomes) << why;
  EXPECT_THAT(VersionReply(*outcomes, TimeMode::kFree),
              HasSubstr(R"("spyre_time":{"mode":"free","outcomes":true})"));
}

TEST(Version, WhatCannotBeServedIsSaid) {
  for (const auto& [payload, text] : std::vector<std::pair<std::string, std::string>>{
           {"abc", "has 3 bytes"},
           {std::string("\1\0\0\0", 4), "version 1.0"},
           {std::string("\0\0\1\0{}", 6), "NUL"},
           {Hello(std::string(20'000, ' ')), "more than"},
           {Hello("[]"), "not a JSON object"},
           {Hello("{"), "not a JSON object"},
           {Hello(R"({"capabilities":3})"), "'capabilities'"},
           {Hello(R"({"capabilities":{"max_data_xfer_size":0}})"), "max_data_xfer_size"},
           {Hello(R"({"capabilities":{"max_data_xfer_size":-5}})"), "max_data_xfer_size"},
           {Hello(R"({"capabilities":{"max_msg_fds":"8"}})"), "max_msg_fds"},
           {Hello(R"({"capabilities":{"spyre_time":true}})"), "spyre_time"},
           {Hello(R"({"capabilities":{"spyre_time":{}}})"), "no 'client'"},
           {Hello(R"({"capabilities":{"spyre_time":{"client":"a","outcomes":1}}})"),
            "'outcomes' of 'spyre_time'"}}) {
    std::string why;
    EXPECT_FALSE(ParseVersion(payload, why)) << text;
    EXPECT_THAT(why, HasSubstr(text));
  }
}

}  // namespace
}  // namespace spyre::cosim::version_test
