// SPDX-License-Identifier: Apache-2.0
// The program as users call it: exit statuses, messages, determinism, files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/json_text.h"
#include "cosim/tensors/npy.h"
#include "tests/integration/program_fixture.h"
#include "tests/paths.h"
#include "traces/trace_file.h"

namespace spyre::cosim::cli_test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CommandLineTest : public test::MergedOutputFixture {
 protected:
  json Report(const std::string& out = "out") const {
    return SortedJsonOf(Read(out + "/report.json"));
  }
};

constexpr const char* kMatmul = "[workload]\nm = 256\nk = 128\nn = 192\ntile = { m = 64 }\n";

TEST_F(CommandLineTest, ARunIsVerifiedAndSaysWhereEverythingIs) {
  const Outcome outcome = RunToml(kMatmul, "--details");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("49152 of 49152 elements bit-exact"),
                                  HasSubstr("12 queued, 12 completed"),
                                  HasSubstr("out/report.json"), HasSubstr("out/trace.sctrace"),
                                  HasSubstr("out/out.npy"), HasSubstr("trace summary")));
  const NpyArray out = ReadNpy(dir_ + "/out/out.npy", "out", "f2", {256, 192});
  EXPECT_EQ(out.elements(), 256 * 192);
}

TEST_F(CommandLineTest, TheReportHasEveryDocumentedField) {
  ASSERT_EQ(RunToml(kMatmul).status, 0);
  const json report = Report();
  EXPECT_EQ(report["config"]["workload"]["tile"]["m"], 64);
  EXPECT_EQ(report["config"]["card"]["memory"]["channels"], 16) << "effective, with defaults";
  EXPECT_GT(report["sim_time_ns"], 0);
  EXPECT_GT(report["wall_s"], 0);
  EXPECT_EQ(report["verified"]["elements"], 256 * 192);
  EXPECT_EQ(report["verified"]["mismatches"], 0);
  EXPECT_LT(report["verified"]["max_abs_error"], 0.1);
  EXPECT_GT(report["verified"]["max_ulp_error"], 0);
  EXPECT_TRUE(report["verified"]["reference"].is_string());
  EXPECT_EQ(report["operations"]["queued"], 12);
  EXPECT_EQ(report["operations"]["completed"], 12);
  EXPECT_EQ(report["operations"]["transfers"], 3);
  EXPECT_EQ(report["operations"]["program_loads"], 1);
  ASSERT_EQ(report["kernels"].size(), 4u);
  ASSERT_EQ(report["corrections"].size(), 4u);
  double end = 0;
  for (const json& kernel : report["kernels"]) {
    EXPECT_EQ(kernel["stream"], 0);
    EXPECT_EQ(kernel["macs"], 64 * 128 * 192);
    EXPECT_NEAR(kernel["end_ns"].get<double>() - kernel["start_ns"].get<double>(),
                kernel["device_ns"].get<double>(), 1e-3);
    EXPECT_GE(kernel["start_ns"].get<double>(), end) << "kernels of one stream do not overlap";
    end = kernel["end_ns"];
    EXPECT_GE(kernel["device_bytes_read"], 64 * 128 * 2);
    EXPECT_EQ(kernel["device_bytes_written"], 64 * 192 * 2);
  }
  EXPECT_GT(report["units"].size(), 100u);
  for (const json& unit : report["units"]) {
    EXPECT_GE(unit["utilization"], 0) << unit;
    EXPECT_LE(unit["utilization"], 1) << unit;
    EXPECT_TRUE(unit["busy_ns"].is_number() && unit["bytes"].is_number()) << unit;
  }
}

TEST_F(CommandLineTest, JsonIsTheReportAndNothingElse) {
  const Outcome outcome = RunToml(kMatmul, "--json");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(SortedJsonOf(outcome.text), Report());
}

TEST_F(CommandLineTest, TheSameRunTwiceGivesTheSameTraceAndTimes) {
  ASSERT_EQ(RunToml(kMatmul).status, 0);
  const json first = Report();
  const std::string trace = Read("out/trace.sctrace");
  ASSERT_EQ(RunToml(kMatmul).status, 0);
  EXPECT_EQ(Report()["trace"]["digest"], first["trace"]["digest"]);
  EXPECT_EQ(Report()["kernels"], first["kernels"]);
  EXPECT_TRUE(Read("out/trace.sctrace") == trace) << "trace files differ";
}

TEST_F(CommandLineTest, TimingOnlyGivesTheSameTimesAsFunctional) {
  ASSERT_EQ(RunToml(kMatmul).status, 0);
  const json functional = Report();
  ASSERT_EQ(RunToml(kMatmul, "--set workload.functional=false").status, 0);
  const json timing = Report();
  EXPECT_TRUE(timing["verified"].is_null());
  EXPECT_EQ(timing["sim_time_ns"], functional["sim_time_ns"]);
  EXPECT_EQ(timing["kernels"], functional["kernels"]);
  EXPECT_EQ(timing["units"], functional["units"]);
  EXPECT_EQ(timing["trace"]["digest"], functional["trace"]["digest"]);
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/out/out.npy") && timing["tensors"].contains("out"));
}

TEST_F(CommandLineTest, TracingDoesNotChangeTimes) {
  ASSERT_EQ(RunToml(kMatmul).status, 0);
  const json traced = Report();
  ASSERT_EQ(RunToml(kMatmul, "--set trace.enabled=false").status, 0);
  EXPECT_EQ(Report()["sim_time_ns"], traced["sim_time_ns"]);
  EXPECT_EQ(Report()["kernels"], traced["kernels"]);
}

TEST_F(CommandLineTest, OwnInputsGiveTheResultOfThoseInputs) {
  ASSERT_EQ(RunToml(kMatmul, "--set output.inputs=true").status, 0);
  const std::string generated = Read("out/out.npy");
  std::filesystem::rename(dir_ + "/out/a.npy", dir_ + "/mine_a.npy");
  std::filesystem::rename(dir_ + "/out/b.npy", dir_ + "/mine_b.npy");
  const Outcome outcome = RunToml(
      std::string(kMatmul) + "seed = 99\ninputs = { a = \"mine_a.npy\", b = \"mine_b.npy\" }\n");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_TRUE(Read("out/out.npy") == generated);
}

TEST_F(CommandLineTest, SampleAndNoneAreSaidToBeThat) {
  EXPECT_THAT(RunToml(kMatmul, "--set workload.verify=sample").text,
              HasSubstr("of 49152 elements bit-exact; 4096 against float64 too; a sample of "));
  const Outcome none = RunToml(kMatmul, "--set workload.verify=none");
  EXPECT_EQ(none.status, 0);
  EXPECT_THAT(none.text, HasSubstr("not verified"));
  EXPECT_TRUE(Report()["verified"].is_null());
}

TEST_F(CommandLineTest, SencoresLimitsTheWorkDivision) {
  Write("run.toml", kMatmul);
  ASSERT_EQ(Call("run run.toml --out out", "SENCORES=4").status, 0);
  EXPECT_LE(Report()["division"]["cores_used"], 4);
  ASSERT_EQ(Call("run run.toml --out out --set workload.cores=16", "SENCORES=4").status, 0);
  EXPECT_GT(Report()["division"]["cores_used"], 4) << "the workload goes before the environment";
  const Outcome bad = Call("run run.toml --out out", "SENCORES=40");
  EXPECT_EQ(bad.status, 2);
  EXPECT_THAT(bad.text, HasSubstr("SENCORES = \"40\" must be a whole number from 1 to 32"));
}

TEST_F(CommandLineTest, CompileRefusesAListThatIsIssuedOneByOne) {
  const Outcome list = Call("compile " SPYRE_SOURCE_DIR "/configs/mlp_two_streams.toml -o code");
  EXPECT_EQ(list.status, 2);
  EXPECT_THAT(list.text, HasSubstr("workload.issue.mode = \"streams\" makes a program of each"));
}

// Everything a user can get wrong: status 2, and a message that says what would be right.
TEST_F(CommandLineTest, BadInputEndsWithStatus2AndAUsefulMessage) {
  const auto expect = [&](const Outcome& outcome, const std::string& message) {
    EXPECT_EQ(outcome.status, 2) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr(message));
  };
  expect(RunToml("[card]\ncoers = 4\n"),
         "run.toml:2:1: unknown key 'card.coers'; did you mean "
         "'card.cores'?");
  expect(Call("run missing.toml"), "missing.toml: cannot read the configuration");
  expect(RunToml("[workload\n"), "not valid TOML");
  expect(RunToml(kMatmul, "--set card.cores=64"),
         "card.cores = 64 cores is out of range; allowed: 1");
  expect(RunToml(kMatmul, "--set workload.tile.m=512"),
         "tensor 0 ('a'), dimension 0 ('m'): size 256 is smaller than the compiled tile 512");
  expect(RunToml(kMatmul, "--set workload.tile.m=100"),
         "size 256 is not a multiple of the compiled tile 100; 200 or 300 would fit");
  expect(RunToml(kMatmul, "--set workload.tile.k=64"), "dimension 1 ('k')");
  expect(RunToml("[workload]\nop = \"neg\"\nrows = 8388608\ncols = 1024\ntile = { rows = 65536 }\n"
                 "functional = false\n"),
         "17179869184 bytes");
  expect(RunToml("[workload]\nop = \"softmax\"\ncols = 2000000\nschedule = \"own\"\n"), "LX");
  expect(RunToml("[workload]\nop = \"nge\"\ncols = 64\n"), "did you mean 'neg'?");
  expect(RunToml(kMatmul, "--set workload.inputs.a=no.npy"), "no.npy: cannot read the tensor");
  expect(Call("run"), "CONFIG is required");
  expect(Call("rum run.toml"), "'rum' is not a command; did you mean 'run'?");
  expect(Call("run run.toml --frobnicate"), "--frobnicate");
  expect(Call("run run.toml --ste a=b"),
         "'--ste' is not an option of `spyre-cosim run`; did you "
         "mean '--set'?");
  expect(Call("trace sumary out"), "'sumary' is not a command; did you mean 'summary'?");
  expect(Call("trace summary run.toml"), "run.toml");
  expect(Call("disasm missing.bin"), "missing.bin");
  Write("file", "");
  expect(Call("run run.toml --set workload.tile.m=64 --out file/x"), "cannot make the directory");
}

TEST_F(CommandLineTest, WrongNpyFilesAreRefused) {
  const std::vector<float> data(256 * 128);
  WriteNpy(dir_ + "/f32.npy", "f4", {256, 128}, data.data());
  WriteNpy(dir_ + "/rank.npy", "f2", {256, 128, 1}, data.data());
  WriteNpy(dir_ + "/shape.npy", "f2", {128, 256}, data.data());
  const auto message = [&](const std::string& file) {
    const Outcome outcome = RunToml(kMatmul, "--set workload.inputs.a=" + file);
    EXPECT_EQ(outcome.status, 2);
    return outcome.text;
  };
  EXPECT_THAT(message("f32.npy"), HasSubstr("f32.npy: input a must be float16, the file has "
                                            "float32: save x.astype(numpy.float16)"));
  EXPECT_THAT(message("rank.npy"), HasSubstr("must have 2 dimensions [256, 128], the file has 3"));
  EXPECT_THAT(message("shape.npy"),
              HasSubstr("must have shape [256, 128], the file has [128, 256]"));
}

TEST_F(CommandLineTest, DisassemblyOfARunAssemblesToTheSameProgram) {
  ASSERT_EQ(RunToml(kMatmul).status, 0);
  const Outcome listing = Call("disasm out/spyrecode");
  EXPECT_EQ(listing.status, 0);
  EXPECT_THAT(listing.text, AllOf(HasSubstr("matmul"), HasSubstr(".section pt")));
  Write("p.s", ".program p\n.cores 0x1\n.lx 128\n.section load 0x1\n  li r1, 5\n");
  ASSERT_EQ(Call("asm p.s -o p.bin").status, 0);
  const Outcome text = Call("disasm p.bin");
  EXPECT_EQ(text.status, 0);
  Write("q.s", text.text);
  ASSERT_EQ(Call("asm q.s -o q.bin").status, 0);
  EXPECT_TRUE(Read("p.bin") == Read("q.bin"));
}

TEST_F(CommandLineTest, CorruptProgramsAreRefusedByTheDisassembler) {
  Write("p.s", ".program p\n.cores 0x1\n.lx 128\n.section load 0x1\n  li r1, 5\n");
  ASSERT_EQ(Call("asm p.s -o p.bin").status, 0);
  std::string image = Read("p.bin");
  image[image.size() - 100] = static_cast<char>(image[image.size() - 100] ^ 1);
  Write("bad.bin", image);
  const Outcome crc = Call("disasm bad.bin");
  EXPECT_EQ(crc.status, 2);
  EXPECT_THAT(crc.text, AllOf(HasSubstr("bad.bin"), HasSubstr("CRC")));
  Write("cut.bin", image.substr(0, 100));
  EXPECT_EQ(Call("disasm cut.bin").status, 2);
  Write("bad.s", ".program p\n.cores 0x1\n.section load 0x1\n  lo r1, 5\n");
  const Outcome text = Call("asm bad.s -o x.bin");
  EXPECT_EQ(text.status, 2);
  EXPECT_THAT(text.text, HasSubstr("bad.s:4"));
}

TEST_F(CommandLineTest, ACorruptProgramOfADirectoryIsNamedWithItsFile) {
  ASSERT_EQ(RunToml(kMatmul).status, 0);
  std::string image = Read("out/spyrecode/init_binary.bin");
  image[200] = static_cast<char>(image[200] ^ 1);
  Write("out/spyrecode/init_binary.bin", image);
  const Outcome outcome = Call("disasm out/spyrecode");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("out/spyrecode/init_binary.bin: "), HasSubstr("CRC")));
}

TEST_F(CommandLineTest, CheckPrintsAConfigurationThatReadsBackTheSame) {
  Write("run.toml", kMatmul);
  const Outcome first = Call("check run.toml --set card.cores=8");
  EXPECT_EQ(first.status, 0);
  EXPECT_THAT(first.text, AllOf(HasSubstr("cores = 8  # cores"), HasSubstr("channels = 16")));
  Write("effective.toml", first.text);
  EXPECT_EQ(Call("check effective.toml").text, first.text);
  EXPECT_EQ(SortedJsonOf(Call("check --json").text)["card"]["cores"], 32);
}

TEST_F(CommandLineTest, RegistersArePrintedInThreeForms) {
  EXPECT_THAT(Call("regs").text, HasSubstr("SQ_TAIL"));
  EXPECT_THAT(Call("regs --markdown").text, HasSubstr("| 0x100c | SQ_TAIL | RW |"));
  const json registers = SortedJsonOf(Call("regs --json").text);
  EXPECT_EQ(registers[0]["name"], "MAGIC");
  EXPECT_EQ(registers[0]["reset"], 0x52595053);
}

TEST_F(CommandLineTest, TheTraceOfARunCanBeSummarisedAndExported) {
  ASSERT_EQ(RunToml(kMatmul).status, 0);
  const Outcome summary = Call("trace summary out/trace.sctrace");
  EXPECT_EQ(summary.status, 0);
  EXPECT_THAT(summary.text, AllOf(HasSubstr("COMPUTE matmul"), HasSubstr("DMA_IN")));
  EXPECT_EQ(Call("trace export --format perfetto -o t.pftrace out/trace.sctrace").status, 0);
  EXPECT_GT(std::filesystem::file_size(dir_ + "/t.pftrace"), 1000u);
}

TEST_F(CommandLineTest, LinesOfTheSummaryFitTheWidthButForNamesOfFiles) {
  Write("run.toml", kMatmul);
  const Outcome outcome = Call("run run.toml --out out", "COLUMNS=60");
  ASSERT_EQ(outcome.status, 0) << outcome.text;
  std::istringstream text(outcome.text);
  for (std::string line; std::getline(text, line) && line.rfind("report:", 0) != 0;) {
    EXPECT_LE(line.size(), 60u) << line;
  }
}

TEST_F(CommandLineTest, ColourIsThereIfItIsAskedFor) {
  const std::string green = "\033[1;32mverified\033[0m: ";
  EXPECT_THAT(RunToml(kMatmul, "--color always").text, HasSubstr(green));
  EXPECT_THAT(RunToml(kMatmul).text, ::testing::Not(HasSubstr("\033["))) << "a pipe";
  EXPECT_THAT(Call("--help --color always").text, HasSubstr("\033[1mUsage:\033[0m"));
  EXPECT_EQ(RunToml(kMatmul, "--color sometimes").status, 2);
}

TEST_F(CommandLineTest, VersionReportAndTraceSayWhatWasBuilt) {
  const Outcome version = Call("--version");
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.text, AllOf(StartsWith("spyre-cosim "), HasSubstr("\ncommit "),
                                  HasSubstr("\nSystemC "), HasSubstr("\nVerilator ")));
  ASSERT_EQ(RunToml(kMatmul).status, 0);
  const json build = Report()["build"];
  const std::string commit = build["commit"];
  EXPECT_THAT(version.text, HasSubstr("commit " + commit));
  for (const char* name : {"version", "compiler", "systemc", "verilator"})
    EXPECT_THAT(version.text, HasSubstr(build[name].get<std::string>())) << name;
  const trace::Trace trace = trace::ReadTrace(dir_ + "/out/trace.sctrace");
  EXPECT_EQ(SortedJsonOf(trace.metadata)["build"], build);
}

TEST_F(CommandLineTest, NothingThatCannotBeWrittenPassesForSuccess) {
  Write("p.s", ".program p\n.cores 0x1\n.lx 128\n.section load 0x1\n  li r1, 5\n");
  ASSERT_EQ(Call("asm p.s -o p.bin").status, 0);
  Write("empty", "");
  ASSERT_EQ(RunToml(kMatmul).status, 0);
  for (const char* command :
       {"--help", "--version", "run --help", "run run.toml --out out2", "run run.toml --json",
        "trace summary out/trace.sctrace", "trace query out/trace.sctrace",
        "trace diff out/trace.sctrace out/trace.sctrace",
        "trace export --format csv -o - out/trace.sctrace", "trace report -o - out/trace.sctrace",
        "trace --help", "memory --requests 10", "check", "check --reference", "regs",
        "disasm p.bin", "completion bash", "man"}) {
    const Outcome outcome = Call(std::string(command) + " >/dev/full");
    EXPECT_THAT(outcome.status, ::testing::AnyOf(2, 4)) << command << ": " << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("standard output: cannot write")) << command;
  }
}

TEST_F(CommandLineTest, BashCompletesCommandsAndKeysOfTheConfiguration) {
  ASSERT_EQ(Call("completion bash > c.bash").status, 0);
  Write("ask.bash",
        "source ./c.bash\nCOMP_WORDS=(spyre-cosim \"$@\")\nCOMP_CWORD=$#\n_spyre_cosim\n"
        "echo \"${COMPREPLY[*]}\" > offered\n");
  const auto complete = [&](const std::string& words) {
    EXPECT_EQ(std::system(("cd '" + dir_ + "' && bash --norc ask.bash " + words).c_str()), 0);
    return Read("offered");
  };
  EXPECT_EQ(complete("cal"), "calibrate\n");
  EXPECT_EQ(complete("trace exp"), "export\n");
  EXPECT_EQ(complete("run --set card.core.lx_by"), "card.core.lx_bytes=\n");
  EXPECT_EQ(complete("trace export --format p"), "perfetto\n");
}

TEST_F(CommandLineTest, TheManualPageHasEveryCommand) {
  const std::string page = Call("man").text;
  for (const char* part : {".TH SPYRE", ".SS run", ".SS trace summary", ".SS completion",
                           ".SH EXIT STATUS", ".SH ENVIRONMENT", "\\-\\-set KEY=VALUE"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
}

TEST_F(CommandLineTest, HelpIsOnEverySubcommand) {
  std::vector<std::string> commands = {"", "trace summary", "trace report"};
  std::istringstream listed(Call("--help").text);
  for (std::string line; std::getline(listed, line) && line != "Common options:";) {
    const size_t end = line.find("  ", 2);
    if (line.substr(0, 2) == "  " && line[2] != ' ' && end != std::string::npos)
      commands.push_back(line.substr(2, end - 2));
  }
  EXPECT_GT(commands.size(), 20u);
  for (const std::string& command : commands) {
    const Outcome outcome = Call(command + " --help");
    EXPECT_EQ(outcome.status, 0) << command;
    EXPECT_THAT(outcome.text, HasSubstr("Usage: spyre-")) << command;
  }
  EXPECT_THAT(Call("run --help").text, HasSubstr("Exit status: 0 done and verified; 1"));
}

}  // namespace
}  // namespace spyre::cosim::cli_test
