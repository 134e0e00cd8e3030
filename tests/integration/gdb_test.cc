// SPDX-License-Identifier: Apache-2.0
// GDB on the firmware while it runs on the RTL controller of a card that works: gdb-multiarch in
// batch mode against spyre-cosim run --gdb.
#include <gmock/gmock.h>

#include "base/json_text.h"
#include "tests/integration/program_fixture.h"
#include "tests/paths.h"

namespace spyre::cosim::gdb_test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr const char* kElf = SPYRE_BUILD_DIR "/firmware/management.elf";
constexpr const char* kConfig = R"(
[card]
management.fidelity = "rtl"
cores = 2
num_vfs = 2
[workload]
op = "neg"
rows = 64
cols = 64
)";

class Gdb : public test::ProgramFixture {
 protected:
  struct Session {
    int status;        // of the run
    std::string text;  // what GDB printed
  };

  // Debugs a run with GDB's `commands`, from the first instruction of the firmware.
  Session Debug(const std::vector<std::string>& commands,
                const std::string& firmware = kElf) const {
    Write("run.toml", kConfig);
    const std::string run = "cd '" + dir_ +
                            "' && '" SPYRE_BUILD_DIR
                            "/spyre-cosim' run run.toml --out debugged --no-progress --gdb 0 "
                            "--set card.management.firmware=" +
                            firmware + " 2>&1 >out.txt";
    FILE* card = popen(run.c_str(), "r");
    const std::string waiting = "gdb: waiting on port ";
    std::string line;
    while (NextLine(card, &line) && line.rfind(waiting, 0) != 0) {
    }
    std::string gdb = "gdb-multiarch -nx -batch " + firmware +
                      " -ex 'target remote 127.0.0.1:" + line.substr(waiting.size()) + "'";
    for (const std::string& command : commands) gdb += " -ex '" + command + "'";
    Session session;
    FILE* output = popen((gdb + " 2>&1 </dev/null").c_str(), "r");
    while (NextLine(output, &line)) session.text += line + "\n";
    pclose(output);
    while (NextLine(card, &line)) {
    }
    const int status = pclose(card);
    session.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return session;
  }

 private:
  static bool NextLine(FILE* file, std::string* line) {
    line->clear();
    int c = EOF;
    while ((c = std::fgetc(file)) != EOF && c != '\n') line->push_back(static_cast<char>(c));
    return c != EOF || !line->empty();
  }
};

TEST_F(Gdb, StopsAtAFunctionOfTheFirmwareWithItsCallers) {
  const Session session = Debug({"break fw_serve_message", "continue", "backtrace", "continue"});
  EXPECT_THAT(session.text, AllOf(ContainsRegex("Breakpoint 1, .*fw_serve_message"),
                                  ContainsRegex("#[1-9] .*fw_service"), ContainsRegex("in main")));
}

TEST_F(Gdb, StartsAtResetBeforeAnythingHasRun) {
  const Session session = Debug({"info symbol $pc", "print $minstret", "detach"});
  EXPECT_THAT(session.text, AllOf(HasSubstr("_start in section"), HasSubstr("$1 = 0\n")));
  EXPECT_EQ(session.status, 0);
}

TEST_F(Gdb, StepsInstructionByInstruction) {
  const Session session =
      Debug({"break fw_service", "continue", "print $minstret", "stepi", "print $minstret - $1",
             "stepi 5", "print $minstret - $1", "detach"});
  EXPECT_THAT(session.text, AllOf(HasSubstr("$2 = 1\n"), HasSubstr("$3 = 6\n")));
  EXPECT_EQ(session.status, 0);
}

TEST_F(Gdb, ReadsAndWritesMemoryAndRegisters) {
  const Session session =
      Debug({"break fw_service", "continue", "print fw->vfs", "set var fw->heartbeat = 41",
             "print fw->heartbeat", "set $t3 = 77", "print $t3", "print/x $misa", "detach"});
  EXPECT_THAT(session.text, AllOf(HasSubstr("$1 = 2\n"), HasSubstr("$2 = 41\n"),
                                  HasSubstr("$3 = 77\n"), HasSubstr("$4 = 0x40001100\n")));
  EXPECT_EQ(session.status, 0);
}

TEST_F(Gdb, SeesTheEndOfTheRun) {
  const Session session = Debug({"continue"});
  EXPECT_THAT(session.text, HasSubstr("exited normally"));
  EXPECT_EQ(session.status, 0);
}

TEST_F(Gdb, SeesFirmwareThatHasTrapped) {
  const Session session = Debug({"continue", "info symbol $pc", "print/x $mcause", "continue"},
                                SPYRE_BUILD_DIR "/tests/firmware/trap.elf");
  EXPECT_THAT(session.text, AllOf(HasSubstr("SIGILL"), HasSubstr("trap"), HasSubstr("$1 = 0x2\n")));
  EXPECT_EQ(session.status, 3);
}

TEST_F(Gdb, CostsNoSimulatedTime) {
  const Session session = Debug({"break fw_serve_message", "continue", "stepi 20", "continue",
                                 "stepi 3", "delete", "continue"});
  EXPECT_EQ(session.status, 0) << session.text;
  const Outcome alone = Call("run run.toml --out alone --no-progress");
  EXPECT_EQ(alone.status, 0) << alone.err;
  const auto debugged = SortedJsonOf(Read("debugged/report.json"));
  EXPECT_EQ(debugged["sim_time_ns"], SortedJsonOf(Read("alone/report.json"))["sim_time_ns"]);
  EXPECT_EQ(debugged["trace"]["digest"],
            SortedJsonOf(Read("alone/report.json"))["trace"]["digest"]);
}

TEST_F(Gdb, NeedsAProcessorToDebug) {
  Write("run.toml", "[workload]\nop = \"neg\"\nrows = 64\ncols = 64\n");
  const Outcome outcome = Call("run run.toml --gdb 0");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("card.management.fidelity"));
}

}  // namespace
}  // namespace spyre::cosim::gdb_test
