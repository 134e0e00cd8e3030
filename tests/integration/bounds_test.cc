// SPDX-License-Identifier: Apache-2.0
// What a report says bounds a kernel is what helps it most: the resource that it names, made twice
// as fast by its parameters, takes more time off than any other one does.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "base/ranges.h"
#include "cosim/what_if/resources.h"
#include "tests/integration/program_fixture.h"
#include "tests/paths.h"

namespace spyre::test::bounds_test {
namespace {

using nlohmann::json;

// Keys of [card] that are not those of the default card.
using Card = std::map<std::string, uint64_t>;

struct Kernel {
  const char* what;
  const char* workload;
  const char* bound_by;
  Card card;
};
void PrintTo(const Kernel& kernel, std::ostream* out) { *out << kernel.what; }

class BoundsTest : public ProgramFixture, public ::testing::WithParamInterface<Kernel> {
 protected:
  json Times(const Card& card) const {
    return Report(fmt::format("functional = false\n{}", GetParam().workload),
                  "[trace]\nenabled = false\n" + CardText(card));
  }
  static double DeviceNs(const json& report) {
    double ns = 0;
    for (const json& kernel : report["kernels"]) ns += kernel["device_ns"].get<double>();
    return ns;
  }
  static std::string CardText(const Card& card) {
    std::string text = "[card]\n";
    for (const auto& [key, value] : card) text += fmt::format("{} = {}\n", key, value);
    return text;
  }
  // The kernel's card with the resource twice as fast; nothing: that is no part of the card.
  static std::optional<Card> Faster(const Kernel& kernel,
                                    const cosim::ResourceParameters& resource) {
    const cosim::RunConfig config = cosim::ParseConfig(CardText(kernel.card), "card.toml", {});
    Card card = kernel.card;
    for (const std::string& set : cosim::FasterSets(config, resource, 2)) {
      const size_t equals = set.find('=');
      if (set.rfind("card.", 0) != 0) return std::nullopt;
      card[set.substr(5, equals - 5)] = std::stoull(set.substr(equals + 1));
    }
    return card;
  }
};

TEST_P(BoundsTest, TheResourceThatIsNamedHelpsMost) {
  const Kernel& kernel = GetParam();
  const json report = Times(kernel.card);
  const json& longest = *std::max_element(
      report["kernels"].begin(), report["kernels"].end(), [](const json& a, const json& b) {
        return a["device_ns"].get<double>() < b["device_ns"].get<double>();
      });
  EXPECT_EQ(longest["bounds"]["bound_by"], kernel.bound_by) << longest["bounds"].dump(2);
  EXPECT_EQ(longest["bounds"]["bound_by"], longest["roofline"]["bound_by"]);
  // The path is the kernel's time, picosecond by picosecond.
  EXPECT_NEAR(longest["bounds"]["path_ns"].get<double>(), longest["device_ns"].get<double>(), 0.01);

  const double before = DeviceNs(report);
  std::string best;
  double best_ns = before;
  std::string all;
  for (const cosim::ResourceParameters& resource : cosim::Resources()) {
    const std::optional<Card> card = Faster(kernel, resource);
    if (!card) continue;
    const double ns = DeviceNs(Times(*card));
    all += fmt::format("{} {:+.1f} %\n", resource.resource, 100 * (ns / before - 1));
    if (ns < best_ns) {
      best_ns = ns;
      best = resource.resource;
    }
  }
  EXPECT_EQ(best, kernel.bound_by) << all;
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, BoundsTest,
    ::testing::Values(
        Kernel{"SoftmaxBeyondLx", "op = \"softmax\"\nrows = 8192\ncols = 4096\n", "memory", {}},
        Kernel{"Add", "op = \"add\"\nrows = 512\ncols = 1024\n", "memory", {}},
        Kernel{"Matmul", "op = \"matmul\"\nm = 512\nk = 4096\nn = 512\n", "memory", {}},
        Kernel{
            "MatmulOfOneCore", "op = \"matmul\"\nm = 256\nk = 256\nn = 256\ncores = 1\n", "pt", {}},
        Kernel{"SoftmaxOfOneCore",
               "op = \"softmax\"\nrows = 64\ncols = 256\ncores = 1\n",
               "vector",
               {}},
        Kernel{"SmallAdd", "op = \"add\"\nrows = 64\ncols = 64\n", "memory_latency", {}},
        Kernel{"SoftmaxBehindANarrowPort",
               "op = \"softmax\"\nrows = 256\ncols = 512\n",
               "lx_port",
               {{"core.lx_port_bytes_per_cycle", 16}}},
        Kernel{"SoftmaxWithSlowTokens",
               "op = \"softmax\"\nrows = 64\ncols = 64\n",
               "token_hand_over",
               {{"core.token_cycles", 1024}}},
        Kernel{"AddOnASlowRing",
               "op = \"add\"\nrows = 64\ncols = 256\n",
               "ring_latency",
               {{"ring.hop_cycles", 40}}},
        Kernel{"AddOnANarrowRing",
               "op = \"add\"\nrows = 256\ncols = 1024\n",
               "ring",
               {{"ring.bytes_per_cycle", 32}}},
        Kernel{"GeluBehindASlowController",
               "op = \"gelu\"\nrows = 64\ncols = 512\n",
               "memory_latency",
               {{"memory.controller_ns", 3000}}},
        Kernel{"MatmulOverCores",
               "op = \"matmul\"\nm = 128\nk = 1024\nn = 128\nsplit = { k = 8 }\n",
               "partial_sums",
               {{"ring.psum_bytes_per_cycle", 4}}},
        Kernel{"MatmulBehindANarrowPort",
               "op = \"matmul\"\nm = 256\nk = 256\nn = 256\ncores = 2\n",
               "lx_port",
               {{"core.lx_port_bytes_per_cycle", 32}}},
        Kernel{"MatmulWithSlowMemory",
               "op = \"matmul\"\nm = 256\nk = 1024\nn = 256\n",
               "memory",
               {{"memory.channels", 4}}}),
    [](const ::testing::TestParamInfo<Kernel>& kernel) { return std::string(kernel.param.what); });

class ProgramBoundsTest : public ProgramFixture,
                          public ::testing::WithParamInterface<const char*> {};

// Half a percent is what the refresh of the memory, which falls on other moments, moves.
TEST_P(ProgramBoundsTest, TheResourceThatIsNamedGainsMostInTheWholeProgram) {
  const Outcome outcome = Call(std::string("what-if " SPYRE_SOURCE_DIR "/configs/") + GetParam() +
                               ".toml --resources --json --jobs 1");
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json answer = SortedJsonOf(outcome.out);
  const json& resources = answer["resources"];
  EXPECT_EQ(resources.size(), cosim::Resources().size());
  const auto named = FindIf(resources, [&](const json& resource) {
    return resource["resource"] == answer["base"]["bound_by"];
  });
  ASSERT_NE(named, resources.end()) << answer["base"]["bound_by"];
  EXPECT_LE((*named)["change"].get<double>(), resources[0]["change"].get<double>() + 0.005)
      << *named << "\n"
      << resources[0];
  EXPECT_LT(resources[0]["change"].get<double>(), -0.03);
  EXPECT_EQ(answer["bound_by"], resources[0]["resource"]);
}

INSTANTIATE_TEST_SUITE_P(Programs, ProgramBoundsTest,
                         ::testing::Values("overlap_double_buffer", "gelu", "layernorm",
                                           "mlp_two_streams", "residual_chain", "swiglu"),
                         [](const auto& program) { return std::string(program.param); });

class ClosedFormBoundsTest : public ProgramFixture,
                             public ::testing::WithParamInterface<const char*> {};

// Its terms have parameters of their own, which are those of a resource too.
TEST_P(ClosedFormBoundsTest, TheSameResourceGainsMostInTheClosedForm) {
  std::string bound[2];
  for (const bool fast : {false, true}) {
    const Outcome outcome =
        Call(std::string("what-if " SPYRE_SOURCE_DIR "/configs/") + GetParam() +
             ".toml --resources --json --jobs 1 --set card.fidelity=" + (fast ? "fast" : "timed"));
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const json answer = SortedJsonOf(outcome.out);
    EXPECT_LT(answer["resources"][0]["change"].get<double>(), -0.03);
    bound[fast ? 1 : 0] = answer["bound_by"];
  }
  EXPECT_EQ(bound[0], bound[1]);
}

INSTANTIATE_TEST_SUITE_P(Programs, ClosedFormBoundsTest,
                         ::testing::Values("add", "layernorm", "matmul"),
                         [](const auto& program) { return std::string(program.param); });

}  // namespace
}  // namespace spyre::test::bounds_test
