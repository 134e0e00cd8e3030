// SPDX-License-Identifier: Apache-2.0
// The generator refuses broken specifications by name. Each file of tests/data/specs says in its
// first line what the message must contain.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/paths.h"
#include "tests/unit/generator_run.h"

namespace spyre::spec_gen_test {
namespace {

namespace fs = std::filesystem;
using test::ExpectRefused;
using test::Outcome;
using test::OutputDirectory;
using test::RunGenerator;
using test::SpecificationsIn;

const fs::path kBrokenSpecs = SPYRE_SOURCE_DIR "/tests/data/specs";

class BrokenSpec : public testing::TestWithParam<std::string> {};

TEST_P(BrokenSpec, IsRefusedNamingTheEntryAndLeavesNoOutput) {
  ExpectRefused(SPYRE_SPEC_GEN, kBrokenSpecs / (GetParam() + ".toml"));
}

INSTANTIATE_TEST_SUITE_P(Files, BrokenSpec, testing::ValuesIn(SpecificationsIn(kBrokenSpecs)),
                         [](const auto& test) { return test.param; });

TEST(SpecGen, RefusesASpecThatIsNotThere) {
  const OutputDirectory out;
  const Outcome outcome = RunGenerator(SPYRE_SPEC_GEN, out.path() / "missing.toml", out.path());
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.message.find("missing.toml"), std::string::npos) << outcome.message;
}

TEST(SpecGen, LeavesFilesThatWouldNotChangeUntouched) {
  const OutputDirectory out;
  const fs::path spec = SPYRE_SOURCE_DIR "/model/contract/registers.toml";
  ASSERT_EQ(RunGenerator(SPYRE_SPEC_GEN, spec, out.path()).status, 0);
  const auto old_time = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(out.path() / "registers.h", old_time);
  const auto stored = fs::last_write_time(out.path() / "registers.h");
  ASSERT_EQ(RunGenerator(SPYRE_SPEC_GEN, spec, out.path()).status, 0);
  EXPECT_TRUE(fs::last_write_time(out.path() / "registers.h") == stored);
}

TEST(SpecGen, WritesAFirmwareHeaderThatACCompilerAccepts) {
  const OutputDirectory out;
  ASSERT_EQ(
      RunGenerator(SPYRE_SPEC_GEN, SPYRE_SOURCE_DIR "/model/contract/registers.toml", out.path())
          .status,
      0);
  std::ofstream(out.path() / "use.c") << "#include \"spyre_registers.h\"\n"
                                         "int use(void) { return SPYRE_OPCODE_COMPUTE; }\n";
  const std::string command = "'" SPYRE_C_COMPILER
                              "' -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only '" +
                              (out.path() / "use.c").string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

TEST(SpecGen, WritesASystemVerilogPackageThatVerilatorAccepts) {
  const OutputDirectory out;
  ASSERT_EQ(
      RunGenerator(SPYRE_SPEC_GEN, SPYRE_SOURCE_DIR "/model/contract/registers.toml", out.path())
          .status,
      0);
  std::ofstream(out.path() / "use_package.sv")
      << "module use_package(output spyre_pkg::opcode_e opcode,\n"
         "                   output spyre_pkg::control_block_t block);\n"
         "  assign opcode = spyre_pkg::OPCODE_COMPUTE;\n"
         "  assign block = 0;\n"
         "endmodule\n";
  const std::string command = "verilator --lint-only --top-module use_package '" +
                              (out.path() / "spyre_pkg.sv").string() + "' '" +
                              (out.path() / "use_package.sv").string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

}  // namespace
}  // namespace spyre::spec_gen_test
