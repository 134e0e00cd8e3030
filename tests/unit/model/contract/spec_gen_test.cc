// SPDX-License-Identifier: Apache-2.0
// The generator refuses broken specifications by name. Each file of tests/data/specs says in its
// first line what the message must contain.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/paths.h"

namespace spyre::spec_gen_test {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int status = -1;
  std::string message;
};

Outcome RunSpecGen(const fs::path& spec, const fs::path& out) {
  const std::string command = "'" SPYRE_PYTHON "' -B -W error '" SPYRE_SPEC_GEN "' '" +
                              spec.string() + "' '" + out.string() + "' 2>&1";
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 256> buffer{};
  while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) outcome.message += buffer.data();
  const int status = pclose(pipe);
  if (WIFEXITED(status)) outcome.status = WEXITSTATUS(status);
  return outcome;
}

// A directory of the test's own, gone at its end.
class OutputDirectory {
 public:
  OutputDirectory() {
    std::string pattern = (fs::temp_directory_path() / "spec_gen_XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~OutputDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

const fs::path kBrokenSpecs = SPYRE_SOURCE_DIR "/tests/data/specs";

std::vector<std::string> BrokenSpecs() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kBrokenSpecs)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string TestName(const testing::TestParamInfo<std::string>& param) { return param.param; }

class BrokenSpec : public testing::TestWithParam<std::string> {};

TEST_P(BrokenSpec, IsRefusedNamingTheEntryAndLeavesNoOutput) {
  const fs::path spec = kBrokenSpecs / (GetParam() + ".toml");
  std::ifstream file(spec);
  std::string first;
  std::getline(file, first);
  const std::string marker = "# expect: ";
  ASSERT_EQ(first.rfind(marker, 0), 0u) << spec << " must begin with '" << marker << "'";
  const std::string expected = first.substr(marker.size());

  const OutputDirectory out;
  const Outcome outcome = RunSpecGen(spec, out.path());
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.message.find(expected), std::string::npos)
      << "expected: " << expected << "\nmessage: " << outcome.message;
  EXPECT_TRUE(fs::is_empty(out.path()));
}

INSTANTIATE_TEST_SUITE_P(Files, BrokenSpec, testing::ValuesIn(BrokenSpecs()), TestName);

TEST(SpecGen, RefusesASpecThatIsNotThere) {
  const OutputDirectory out;
  const Outcome outcome = RunSpecGen(out.path() / "missing.toml", out.path());
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.message.find("missing.toml"), std::string::npos) << outcome.message;
}

TEST(SpecGen, LeavesFilesThatWouldNotChangeUntouched) {
  const OutputDirectory out;
  const fs::path spec = SPYRE_SOURCE_DIR "/model/contract/registers.toml";
  ASSERT_EQ(RunSpecGen(spec, out.path()).status, 0);
  const auto old_time = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(out.path() / "registers.h", old_time);
  const auto stored = fs::last_write_time(out.path() / "registers.h");
  ASSERT_EQ(RunSpecGen(spec, out.path()).status, 0);
  EXPECT_TRUE(fs::last_write_time(out.path() / "registers.h") == stored);
}

TEST(SpecGen, WritesAFirmwareHeaderThatACCompilerAccepts) {
  const OutputDirectory out;
  ASSERT_EQ(RunSpecGen(SPYRE_SOURCE_DIR "/model/contract/registers.toml", out.path()).status, 0);
  std::ofstream(out.path() / "use.c") << "#include \"spyre_registers.h\"\n"
                                         "int use(void) { return SPYRE_OPCODE_COMPUTE; }\n";
  const std::string command = "'" SPYRE_C_COMPILER
                              "' -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only '" +
                              (out.path() / "use.c").string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

TEST(SpecGen, WritesASystemVerilogPackageThatVerilatorAccepts) {
  const OutputDirectory out;
  ASSERT_EQ(RunSpecGen(SPYRE_SOURCE_DIR "/model/contract/registers.toml", out.path()).status, 0);
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
