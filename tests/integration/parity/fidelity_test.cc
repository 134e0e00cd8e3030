// SPDX-License-Identifier: Apache-2.0
// The same work on every combination of timed and RTL blocks: equal outputs, responses and order of
// responses; times within the bounds that docs/fidelity.md states. That document is written from
// here: run the test DocumentIsCurrent with SPYRE_UPDATE_DOCS=1 to bring it up to date.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/json_text.h"
#include "cosim/config/config.h"
#include "cosim/session/compare.h"
#include "cosim/session/session.h"
#include "tests/card_choices.h"
#include "tests/integration/parity/random_host.h"
#include "tests/integration/parity/two_cards.h"
#include "tests/paths.h"

namespace spyre::test::fidelity_test {
namespace {

using cosim::RunConfig;
using cosim::RunDigest;

struct Combination {
  const char* name;
  const char* control;
  const char* management;
  const char* pt;
};
constexpr Combination kCombinations[] = {
    {"timed", "timed", "behavioural", "timed"},     {"control", "rtl", "behavioural", "timed"},
    {"management", "timed", "rtl", "timed"},        {"control + management", "rtl", "rtl", "timed"},
    {"pt (core 0)", "timed", "behavioural", "rtl"}, {"all", "rtl", "rtl", "rtl"},
};

struct Work {
  const char* name;
  const char* mode;
  const char* toml;
};
constexpr Work kWorks[] = {
    {"tiled matmul 512x192x256, VF", "vf",
     "op = \"matmul\"\nm = 512\nk = 192\nn = 256\ntile = { m = 128 }"},
    {"matmul 64x128x64 on one core, PF", "pf",
     "op = \"matmul\"\nm = 64\nk = 128\nn = 64\ncores = 1"},
    {"add 256x512, VF", "vf", "op = \"add\"\nrows = 256\ncols = 512"},
    {"softmax 128x512, VF", "vf", "op = \"softmax\"\nrows = 128\ncols = 512"},
    {"sum 512x256, PF", "pf", "op = \"sum\"\nrows = 512\ncols = 256"},
};

// What a launch may be off from the timed model: bounds of docs/fidelity.md.
constexpr double kControlBound = 0.01;           // of the launch
constexpr uint64_t kMessageBoundPs = 4'000'000;  // for each message, firmware on its core

RunConfig ConfigOf(const Work& work, const Combination& combination) {
  RunConfig config = cosim::ParseConfig(std::string("[trace]\nenabled = false\n[output]\ntensors = "
                                                    "false\n[card.memory]\nrefresh = \"none\"\n") +
                                            "[card]\nmode = \"" + work.mode + "\"\n[workload]\n" +
                                            work.toml + "\n",
                                        work.name);
  config.card.control.fidelity = test::Named(combination.control);
  config.card.management.fidelity = test::Named(combination.management);
  config.card.pt.fidelity = test::Named(combination.pt);
  return config;
}

RunDigest RunInChild(const Work& work, const Combination& combination) {
  const std::string text = InChild([&] {
    std::string pattern = (std::filesystem::temp_directory_path() / "spyre_parity_XXXXXX").string();
    const std::string dir = mkdtemp(pattern.data());
    const cosim::RunResult result = cosim::RunSession(ConfigOf(work, combination), dir);
    std::filesystem::remove_all(dir);
    EXPECT_TRUE(result.verification && result.verification->passed());
    const RunDigest digest = cosim::DigestOf(result);
    return nlohmann::json{digest.sim_ps, digest.window_ps, digest.launch_ps, digest.output_digest,
                          digest.responses}
        .dump();
  });
  const auto json = SortedJsonOf(text);
  return {json[0], json[1], json[2], 0, json[3], json[4]};
}

std::vector<std::vector<RunDigest>> RunAll() {
  std::vector<std::vector<RunDigest>> all;
  for (const Work& work : kWorks) {
    all.emplace_back();
    for (const Combination& combination : kCombinations)
      all.back().push_back(RunInChild(work, combination));
  }
  return all;
}

const char* const kHead = R"(# Fidelity: timed models and their RTL

Written by `tests/integration/parity` (`SPYRE_UPDATE_DOCS=1 build/release/tests/integration
--gtest_filter='Fidelity.*'`); a test keeps it current.

Three blocks exist twice, behind one interface each. `card.control.fidelity`, `card.management.fidelity` and
`card.pt.fidelity` choose; any combination works.

| block | timed or behavioural | RTL |
|---|---|---|
| control-block processor | `model/control/timed_control_processor`: latencies from `card.control.*_ns` | `model/rtl/control`: ring fetch, CRC, decode, order, events, dispatch, responses at `card.control.clock_mhz` |
| management controller | `firmware/` as host code, `card.management.message_ns` a request | `firmware/` as an ELF on the RV32IM core of `model/rtl/rv32` at `card.management.clock_mhz` |
| PT arrays of chosen cores | SIMD kernels and the formula of `model/core/pt_unit.cc` | `model/rtl/pt`: 8 x 8 elements of 8 lanes, SEN169_FP16 |

What is equal, for every workload and combination below and for the random traffic of the other parity tests (good and
bad entries, rings at their limits, resets in the middle): output tensors bit for bit, statuses and fault addresses,
responses and their order. What may differ is time, within these bounds (asserted):

- control-block processor: 8 of its clocks for each step of an operation, and 1 % of a launch;
- management controller: 4 us for each message of a virtual function, because real firmware takes more than the 0.3 us
  that `message_ns` assumes; [firmware](firmware.md#the-time-of-a-message) has what it takes, and why the default differs;
- PT array: nothing; its cycles are those of the formula, checked after every MATMUL.

RTL, from first to last launch operation, beside the timed model (refresh of memory off: it comes at its own times, so
that a later start may meet it or not):

)";

std::string Document(const std::vector<std::vector<RunDigest>>& all) {
  std::string text = kHead;
  text += "| workload |";
  for (const Combination& combination : kCombinations)
    text += fmt::format(" {} |", combination.name);
  text +=
      "\n|---|" +
      fmt::format("{}", fmt::join(std::vector<std::string>(std::size(kCombinations), "---|"), "")) +
      "\n";
  for (size_t w = 0; w < std::size(kWorks); ++w) {
    text += fmt::format("| {} |", kWorks[w].name);
    const auto base = static_cast<double>(all[w][0].launch_ps);
    for (size_t c = 0; c < std::size(kCombinations); ++c) {
      const auto time = static_cast<double>(all[w][c].launch_ps);
      text += fmt::format(" {:.3f} us", time / 1e6);
      if (c > 0) text += fmt::format(" ({:+.2f} %)", 100 * (time / base - 1));
      text += " |";
    }
    text += "\n";
  }
  return text;
}

TEST(Fidelity, EveryCombinationAgreesAndTheDocumentIsCurrent) {
  const auto all = RunAll();
  for (size_t w = 0; w < std::size(kWorks); ++w) {
    const RunDigest& timed = all[w][0];
    const bool vf = kWorks[w].mode == std::string("vf");
    for (size_t c = 1; c < std::size(kCombinations); ++c) {
      SCOPED_TRACE(fmt::format("{}: {}", kWorks[w].name, kCombinations[c].name));
      EXPECT_EQ(cosim::Difference(all[w][c], timed), "");
      const bool firmware = vf && std::string(kCombinations[c].management) == "rtl";
      const uint64_t bound =
          static_cast<uint64_t>(kControlBound * static_cast<double>(timed.launch_ps)) +
          (firmware ? kMessageBoundPs * timed.responses.size() : 0);
      EXPECT_LE(all[w][c].launch_ps, timed.launch_ps + bound);
      EXPECT_GE(all[w][c].launch_ps + bound, timed.launch_ps);
    }
  }
  const std::string path = SPYRE_SOURCE_DIR "/docs/fidelity.md";
  const std::string text = Document(all);
  if (std::getenv("SPYRE_UPDATE_DOCS") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  const std::string kept{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(kept, text) << "run again with SPYRE_UPDATE_DOCS=1";
}

// Random traffic of the PF and two VFs, whose messages pass the firmware; resets come in the
// middle.
class ManagementParity : public ::testing::TestWithParam<std::tuple<const char*, uint32_t>> {};

TEST_P(ManagementParity, RandomTrafficGivesTheSameResponsesRegistersAndMemory) {
  model::CardConfig plain, rtl;
  plain.num_vfs = rtl.num_vfs = 2;
  rtl.management.fidelity = model::ManagementFidelity::kRtl;
  rtl.control.fidelity = test::Named(std::get<0>(GetParam()));
  const uint32_t seed = 100 + std::get<1>(GetParam());
  const auto [one, other] = OnTwoCards(
      [&](const model::CardConfig& config) { return RandomHost(config, seed).RunRounds(12); },
      plain, rtl);
  EXPECT_GT(one.size(), 10'000u) << "bytes of log";
  EXPECT_TRUE(one == other) << "seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(Seeds, ManagementParity,
                         ::testing::Combine(::testing::Values("timed", "rtl"),
                                            ::testing::Range(1u, 5u)));

}  // namespace
}  // namespace spyre::test::fidelity_test
