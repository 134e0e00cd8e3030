// SPDX-License-Identifier: Apache-2.0
#include "cosim/config/fault_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "cosim/config/config.h"
#include "model/fault/fault_kind.h"

namespace spyre::cosim::fault_tables_test {
namespace {

using model::FaultKind;
using model::FaultSpec;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<FaultSpec> Faults(const std::string& toml, const std::vector<std::string>& sets = {}) {
  return ParseConfig(toml, "run.toml", sets).card.faults;
}
std::string Refusal(const std::string& toml, const std::vector<std::string>& sets = {}) {
  try {
    ParseConfig(toml, "run.toml", sets);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    EXPECT_NE(error.remedy(), "");
    return error.what();
  }
  return "accepted";
}

TEST(FaultTables, ARunWithoutThemHasNone) { EXPECT_TRUE(Faults("").empty()); }

TEST(FaultTables, EveryKeyReachesTheCard) {
  const std::vector<FaultSpec> faults = Faults(
      "[[fault]]\nkind = \"memory_double_bit\"\n"
      "where = { channel = 3, bank = 2, row = 9, function = 1, operation = 17 }\n"
      "when = { time_us = 1.5, count = 4, probability = 0.5, seed = 8, address = 0x1000 }\n"
      "times = 6\n"
      "[[fault]]\nkind = \"ring_dead\"\nwhere.link = \"psum_ccw32\"\n"
      "[[fault]]\nkind = \"power_brake\"\nlasts_us = 2.25\npercent = 25\nwhen.time_us = 3\n"
      "[[fault]]\nkind = \"core_late\"\nwhere = { core = 31, stream = 5 }\n");
  ASSERT_EQ(faults.size(), 4u);
  EXPECT_EQ(faults[0].kind, FaultKind::kMemoryDoubleBit);
  EXPECT_EQ(faults[0].where.channel, 3u);
  EXPECT_EQ(faults[0].where.bank, 2u);
  EXPECT_EQ(faults[0].where.row, 9u);
  EXPECT_EQ(faults[0].where.function, 1u);
  EXPECT_EQ(faults[0].where.operation, 17u);
  EXPECT_EQ(faults[0].where.address, 4096u);
  EXPECT_EQ(faults[0].when.time_ps, 1'500'000u);
  EXPECT_EQ(faults[0].when.count, 4u);
  EXPECT_EQ(faults[0].when.probability, 0.5);
  EXPECT_EQ(faults[0].when.seed, 8u);
  EXPECT_EQ(faults[0].times, 6u);
  EXPECT_EQ(faults[1].where.link, "psum_ccw32");
  EXPECT_EQ(faults[2].lasts_ps, 2'250'000u);
  EXPECT_EQ(faults[2].percent, 25u);
  EXPECT_EQ(faults[3].where.core, 31u);
  EXPECT_EQ(faults[3].where.stream, 5u);
  EXPECT_EQ(faults[3].lasts_ps, 10'000'000u) << "the default of the kind";
  EXPECT_EQ(faults[3].times, 1u);
}

TEST(FaultTables, RefusalsNameFileLineKeyAndRemedy) {
  const std::string begin = "[workload]\nm = 64\n[[fault]]\n";
  EXPECT_THAT(Refusal(begin + "where = {}\n"),
              AllOf(StartsWith("run.toml:3:1: fault: kind must be a text"),
                    HasSubstr("spyre-cosim faults")));
  EXPECT_THAT(Refusal(begin + "kind = \"ring_daed\"\n"),
              AllOf(StartsWith("run.toml:3:1: fault: kind = \"ring_daed\" is not known"),
                    HasSubstr("'ring_dead'")));
  EXPECT_THAT(Refusal(begin + "kind = \"ring_dead\"\nwher = {}\n"),
              AllOf(HasSubstr("fault (ring_dead): wher is not a key"), HasSubstr("'where'")));
  EXPECT_THAT(Refusal(begin + "kind = \"ring_dead\"\nwhere.links = \"cw00\"\n"),
              AllOf(HasSubstr("where.links is not a key"), HasSubstr("'link'")));
  EXPECT_THAT(Refusal(begin + "kind = \"ring_dead\"\nwhere.core = 1\n"),
              HasSubstr("where.core has no meaning for this kind; leave it out"));
  EXPECT_THAT(Refusal(begin + "kind = \"ring_dead\"\nwhere.link = \"cw33\"\n"),
              AllOf(HasSubstr("where.link = \"cw33\" is not there"), HasSubstr("cw00 to cw32")));
  EXPECT_THAT(Refusal(begin + "kind = \"memory_poison\"\nwhere.channel = 16\n"),
              HasSubstr("where.channel = 16 is not allowed; a whole number, 0 .. 15"));
  EXPECT_THAT(Refusal(begin + "kind = \"core_stop\"\nwhere.core = 8\n", {"card.cores=8"}),
              HasSubstr("where.core = 8 is not allowed; a whole number, 0 .. 7"));
  EXPECT_THAT(Refusal(begin + "kind = \"dma_stuck\"\nwhere.function = 3\n"), HasSubstr("0 .. 2"));
  EXPECT_THAT(Refusal(begin + "kind = \"dma_stuck\"\nlasts_us = 3\n"),
              HasSubstr("lasts_us has no meaning"));
  EXPECT_THAT(Refusal(begin + "kind = \"dma_stuck\"\npercent = 3\n"),
              HasSubstr("percent has no meaning"));
  EXPECT_THAT(Refusal(begin + "kind = \"dma_stuck\"\nwhen.address = 3\n"),
              HasSubstr("when.address has no meaning"));
  EXPECT_THAT(Refusal(begin + "kind = \"dma_stuck\"\nwhen.probability = 1.5\n"),
              HasSubstr("when.probability = 1.5 is not allowed; a number, 0 .. 1"));
  EXPECT_THAT(Refusal(begin + "kind = \"dma_stuck\"\nwhen = 3\n"),
              HasSubstr("when must be a table, found 3"));
  EXPECT_THAT(Refusal(begin + "kind = \"dma_stuck\"\ntimes = 0\n"), HasSubstr("times = 0"));
  EXPECT_THAT(Refusal(begin + "kind = \"pcie_removal\"\ntimes = 2\n"),
              HasSubstr("times has no meaning"));
  EXPECT_THAT(Refusal(begin + "kind = \"power_brake\"\npercent = 0\n"), HasSubstr("1 .. 100"));
  EXPECT_THAT(Refusal(begin + "kind = \"memory_poison\"\n", {"card.memory.ecc=none"}),
              AllOf(HasSubstr("card.memory.ecc = \"none\""), HasSubstr("memory_double_bit")));
}

TEST(FaultTables, BitsOfABlockThatIsNotRtlCannotChange) {
  const std::string flip = "[[fault]]\nkind = \"rtl_bit_flip\"\n";
  EXPECT_THAT(Refusal(flip), HasSubstr("where.block is missing"));
  EXPECT_THAT(Refusal(flip + "where.block = \"pt\"\n"),
              HasSubstr("set card.pt.fidelity = \"rtl\""));
  EXPECT_EQ(Faults(flip + "where.block = \"pt\"\n", {"card.pt.fidelity=rtl"}).size(), 1u);
}

TEST(FaultTables, ASetArgumentDeclaresThemToo) {
  EXPECT_EQ(Faults("", {"fault=[{kind = \"msi_lost\"}]"}).size(), 1u);
  EXPECT_THAT(Refusal("", {"fault=[{kind = \"msi_lots\"}]"}), StartsWith("--set fault="));
}

TEST(FaultTables, TheEffectiveConfigurationReadsBackToTheSame) {
  const std::string text =
      "[[fault]]\nkind = \"memory_poison\"\nwhere = { channel = 2 }\n"
      "[[fault]]\nkind = \"pcie_removal\"\nwhen = { time_us = 12.5 }\n";
  const RunConfig config = ParseConfig(text, "run.toml");
  const std::string effective = ToToml(config);
  EXPECT_THAT(effective, HasSubstr("[[fault]]\nkind = \"memory_poison\"\n"));
  const RunConfig again = ParseConfig(effective, "again.toml");
  EXPECT_EQ(ToToml(again), effective);
  ASSERT_EQ(again.card.faults.size(), 2u);
  EXPECT_EQ(again.card.faults[1].when.time_ps, 12'500'000u);
  EXPECT_THAT(ToJson(config), HasSubstr("\"fault\""));
  EXPECT_EQ(ToJson(RunConfig()).find("\"fault\""), std::string::npos);
}

}  // namespace
}  // namespace spyre::cosim::fault_tables_test
