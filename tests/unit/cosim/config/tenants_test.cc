// SPDX-License-Identifier: Apache-2.0
// What [[tenant]] says, and misuse, which is refused with the tenant, the key and what is allowed.
#include "cosim/config/tenants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/error_of.h"

namespace spyre::cosim::tenants_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kTwo =
    "[card]\nnum_vfs = 4\n"
    "[workload]\nseed = 7\n"
    "[[tenant]]\nfunction = 3\nworkload = { op = \"add\", rows = 64, cols = 128 }\n"
    "[[tenant]]\nname = \"late\"\nfunction = 1\nstart_us = 250\nweight = 3\ncores = 0xff\n"
    "workload = { m = 64, k = 64, n = 64, seed = 9 }\n";

std::string Refusal(const std::string& text, const std::vector<std::string>& sets = {}) {
  return test::BadInputOf([&] { ParseConfig(text, "run.toml", sets); });
}
std::string One(const std::string& keys) {
  return "[[tenant]]\n" + keys + "\nworkload = { op = \"add\", rows = 64, cols = 64 }\n";
}

TEST(Tenants, HaveTheirFunctionStartAndWorkloadOverTheWorkloadOfAll) {
  const std::vector<Tenant> tenants = TenantsOf(ParseConfig(kTwo, "run.toml"));
  ASSERT_EQ(tenants.size(), 2u);
  EXPECT_EQ(tenants[0].name, "tenant1");
  EXPECT_EQ(tenants[0].function, 3u);
  EXPECT_EQ(tenants[0].start_us, 0u);
  EXPECT_EQ(tenants[0].weight, 1u);
  EXPECT_EQ(tenants[0].cores, 0u) << "all";
  EXPECT_EQ(tenants[0].config.workload.op, "add");
  EXPECT_EQ(tenants[0].config.workload.size.rows, 64u);
  EXPECT_EQ(tenants[0].config.workload.seed, 7u) << "as [workload] says";
  EXPECT_EQ(tenants[1].name, "late");
  EXPECT_EQ(tenants[1].start_us, 250u);
  EXPECT_EQ(tenants[1].weight, 3u);
  EXPECT_EQ(tenants[1].cores, 0xffu);
  EXPECT_EQ(tenants[1].config.workload.op, "matmul") << "nobody says another";
  EXPECT_EQ(tenants[1].config.workload.seed, 9u) << "its own goes first";
  EXPECT_EQ(tenants[1].config.card.num_vfs, 4u);
  EXPECT_TRUE(TenantsOf(tenants[1].config).empty()) << "a tenant has no tenants";
}

TEST(Tenants, TakeTheWorkloadOfAnotherConfigurationAndNothingElseOfIt) {
  const std::string directory = ::testing::TempDir() + "tenants_of_files";
  std::filesystem::create_directories(directory);
  std::ofstream(directory + "/sum.toml")
      << "[card]\ncores = 8\n[workload]\nop = \"sum\"\nrows = 32\ncols = 64\n";
  std::ofstream(directory + "/all.toml") << "[[tenant]]\nfunction = 2\nworkload = \"sum.toml\"\n";
  const std::vector<Tenant> tenants = TenantsOf(LoadConfig(directory + "/all.toml"));
  EXPECT_EQ(tenants.at(0).config.workload.op, "sum");
  EXPECT_EQ(tenants.at(0).config.card.cores, model::CardConfig().cores);
  EXPECT_THAT(tenants.at(0).config.source, HasSubstr("sum.toml")) << "errors name it";
  std::ofstream(directory + "/nested.toml")
      << "[[tenant]]\nfunction = 1\nworkload = \"all.toml\"\n";
  EXPECT_THAT(test::BadInputOf([&] { LoadConfig(directory + "/nested.toml"); }),
              AllOf(HasSubstr("tenant 1"), HasSubstr("it has tenants itself")));
}

TEST(Tenants, AreInTheEffectiveConfigurationWhichReadsBackToTheSame) {
  const RunConfig config = ParseConfig(kTwo, "run.toml");
  const std::string text = ToToml(config);
  EXPECT_THAT(text, HasSubstr("[[tenant]]\nfunction = 3\n"));
  EXPECT_EQ(ToToml(ParseConfig(text, "run.toml")), text);
  EXPECT_THAT(ToJson(config), HasSubstr("\"tenant\": ["));
  EXPECT_EQ(ToToml(ParseConfig("", "")).find("tenant ="), std::string::npos);
}

TEST(Tenants, OfTheSameFunctionOrNameAreRefused) {
  EXPECT_THAT(Refusal(One("function = 1") + One("function = 1")),
              AllOf(HasSubstr("tenants 1 and 2"), HasSubstr("function = 1")));
  EXPECT_THAT(Refusal(One("function = 1\nname = \"a\"") + One("function = 2\nname = \"a\"")),
              AllOf(HasSubstr("tenants 1 and 2"), HasSubstr("the name 'a'")));
}

TEST(Tenants, AreVirtualFunctionsThatTheCardHas) {
  EXPECT_THAT(Refusal(One("function = 0")),
              AllOf(HasSubstr("tenant 1: function = 0"), HasSubstr("1 .. 2 (card.num_vfs)")));
  EXPECT_THAT(Refusal(One("function = 3")),
              AllOf(HasSubstr("tenant 1: function = 3"), HasSubstr("1 .. 2 (card.num_vfs)")));
  EXPECT_THAT(Refusal(One("name = \"a\"")), HasSubstr("tenant 1: 'function' is missing"));
  EXPECT_THAT(Refusal(One("function = 1") + One("function = 2") + One("function = 1")),
              HasSubstr("there are 3 tenants, and the card has 2 virtual functions"));
  EXPECT_THAT(Refusal(One("function = 1"), {"card.mode=pf"}), HasSubstr("card.mode = \"pf\""));
}

TEST(Tenants, RefuseKeysAndValuesThatTheyDoNotHave) {
  EXPECT_THAT(Refusal(One("function = 1\nstart_ns = 3")),
              AllOf(HasSubstr("tenant 1: unknown key 'start_ns'"), HasSubstr("start_us")));
  EXPECT_THAT(Refusal(One("function = 1\nstart_us = -1")), HasSubstr("start_us = -1"));
  EXPECT_THAT(Refusal(One("function = 1\nweight = 0")),
              AllOf(HasSubstr("weight = 0"), HasSubstr("1 .. 255")));
  EXPECT_THAT(Refusal(One("function = 1\ncores = 0")), HasSubstr("cores = 0"));
  EXPECT_THAT(Refusal(One("function = 1\nname = \"a/b\"")), HasSubstr("name = \"a/b\""));
  EXPECT_THAT(Refusal("[[tenant]]\nfunction = 1\nworkload = 3\n"),
              HasSubstr("tenant 1: workload = 3 must be a table"));
  EXPECT_THAT(Refusal("[[tenant]]\nfunction = 1\nworkload = { rowz = 3 }\n"),
              AllOf(HasSubstr("tenant 1"), HasSubstr("workload.rowz"), HasSubstr("did you mean")));
  EXPECT_THAT(Refusal("[[tenant]]\nfunction = 1\nworkload = \"nowhere.toml\"\n"),
              AllOf(HasSubstr("tenant 1"), HasSubstr("nowhere.toml")));
  EXPECT_THAT(Refusal("tenant = 3\n"), HasSubstr("a list of tables"));
}

}  // namespace
}  // namespace spyre::cosim::tenants_test
