// SPDX-License-Identifier: Apache-2.0
// [expect] of a configuration: what is not met sets the exit status, and is in report and summary.
#include <gmock/gmock.h>

#include "base/json_text.h"
#include "tests/integration/program_fixture.h"

namespace spyre::test::expect_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kAdd = "[workload]\nop = \"add\"\nrows = 64\ncols = 64\n";

class ExpectTest : public ProgramFixture {
 protected:
  Outcome Run(const std::string& expect) const {
    Write("run.toml", kAdd + ("[expect]\n" + expect));
    return Call("run run.toml --json");
  }
};

TEST_F(ExpectTest, WhatIsMetChangesNothing) {
  const Outcome outcome = Run("max_launch_ns = 1000000\nmax_device_ns = 1000000\n");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json expectations = SortedJsonOf(outcome.out)["expectations"];
  ASSERT_EQ(expectations.size(), 2u);
  EXPECT_EQ(expectations[0]["key"], "expect.max_launch_ns");
  EXPECT_EQ(expectations[1]["met"], true);
}

TEST_F(ExpectTest, WhatIsNotMetIsExitStatusOneAndSaysWhatWasFound) {
  const Outcome outcome = Run("max_launch_ns = 10\nbound_by = \"pt\"\n");
  EXPECT_EQ(outcome.status, 1);
  const json report = SortedJsonOf(outcome.out);
  EXPECT_EQ(report["verified"]["passed"], true) << "the result is right all the same";
  EXPECT_EQ(report["expectations"][0]["met"], false);
  EXPECT_THAT(report["expectations"][1]["found"].get<std::string>(),
              HasSubstr("bound by " + report["bounds"]["bound_by"].get<std::string>()));
  EXPECT_THAT(Call("run run.toml").out, HasSubstr("NOT MET expect.max_launch_ns: launches took"));
}

TEST_F(ExpectTest, WhatNoRunCanHaveIsABadConfiguration) {
  for (const auto& [expect, message] :
       {std::pair{"bound_by = \"memroy\"", "did you mean 'memory'?"},
        std::pair{"bound_by = \"memory bandwidth\"", "must be one of memory, memory_latency"},
        std::pair{"digest = \"12ab\"", "16 hexadecimal digits"}}) {
    const Outcome outcome = Run(std::string(expect) + "\n");
    EXPECT_EQ(outcome.status, 2) << expect;
    EXPECT_THAT(outcome.err, HasSubstr(message)) << expect;
  }
}

TEST_F(ExpectTest, RulesAreOfTheTrace) {
  Write("rules.toml", "[[rule]]\nname = \"one kernel\"\nkind = \"kernel\"\nmax_count = 1\n");
  const Outcome outcome = Run("rules = \"rules.toml\"\n");
  EXPECT_EQ(outcome.status, 1) << "its correction is a kernel as well";
  EXPECT_THAT(SortedJsonOf(outcome.out)["expectations"][0]["key"], "expect.rules, one kernel");
  const std::string out = SortedJsonOf(outcome.out)["trace"]["path"];
  EXPECT_EQ(Call("trace check " + out + " rules.toml --junit junit.xml").status, 1);
  EXPECT_THAT(Read("junit.xml"), HasSubstr("tests=\"1\" failures=\"1\""));
  Write("rules.toml", "[[rule]]\nkind = \"window\"\nmax_time_us = 1000\n");
  EXPECT_EQ(Run("rules = \"rules.toml\"\n").status, 0);
}

TEST_F(ExpectTest, RulesWithoutATraceAreABadConfiguration) {
  Write("run.toml", kAdd + std::string("[trace]\nenabled = false\n[expect]\nrules = \"r.toml\"\n"));
  const Outcome outcome = Call("run run.toml");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("expect.rules is about the trace"));
}

}  // namespace
}  // namespace spyre::test::expect_test
