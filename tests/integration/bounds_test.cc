// SPDX-License-Identifier: Apache-2.0
// What a report says bounds a kernel is what helps it most: the resource that it names, made twice
// as fast by its parameters, takes more time off than any other one does.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/integration/program_fixture.h"

namespace spyre::test::bounds_test {
namespace {

using nlohmann::json;

// Keys of [card] that are not those of the default card.
using Card = std::map<std::string, uint64_t>;

// The parameters of a resource, with what twice as fast is for the default card.
struct Resource {
  const char* name;
  Card faster;
  bool is_rate;  // twice as fast is twice the value, and not half of it
};
const std::vector<Resource> kResources = {
    {"memory", {{"memory.channels", 32}}, true},
    {"memory_latency",
     {{"memory.controller_ns", 35},
      {"memory.t_rcd_ps", 9375},
      {"memory.read_latency_ps", 10625},
      {"memory.write_latency_ps", 5625}},
     false},
    {"ring", {{"ring.bytes_per_cycle", 256}}, true},
    {"ring_latency", {{"ring.hop_cycles", 1}}, false},
    {"partial_sums", {{"ring.psum_bytes_per_cycle", 64}}, true},
    {"lx_port", {{"core.lx_port_bytes_per_cycle", 512}}, true},
    {"pt",
     {{"core.pt_macs_per_cycle", 1024},
      {"core.pt_block_load_cycles", 32},
      {"core.pt_block_load_split_cycles", 49},
      {"core.pt_fill_drain_cycles", 10}},
     true},
    {"vector",
     {{"core.vector_lanes", 128},
      {"core.vector_startup_cycles", 6},
      {"core.vector_reduce_row_cycles", 25},
      {"core.vector_loop_unary_centicycles", 205},
      {"core.vector_loop_function_centicycles", 264},
      {"core.vector_loop_binary_centicycles", 294},
      {"core.vector_loop_constant_centicycles", 330},
      {"core.vector_loop_broadcast_centicycles", 89},
      {"core.vector_loop_reduce_centicycles", 435}},
     true},
    {"token_hand_over", {{"core.token_cycles", 1}}, false},
    {"barrier", {{"core.barrier_cycles", 32}, {"core.step_start_cycles", 90}}, false},
};

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
    std::string text = "[trace]\nenabled = false\n[card]\n";
    for (const auto& [key, value] : card) text += fmt::format("{} = {}\n", key, value);
    return Report(fmt::format("functional = false\n{}", GetParam().workload), text);
  }
  static double DeviceNs(const json& report) {
    double ns = 0;
    for (const json& kernel : report["kernels"]) ns += kernel["device_ns"].get<double>();
    return ns;
  }
  // The kernel's card with the resource twice as fast.
  static Card Faster(const Kernel& kernel, const Resource& resource) {
    Card card = kernel.card;
    for (const auto& [key, value] : resource.faster) {
      const auto own = kernel.card.find(key);
      const bool is_rate = resource.is_rate && resource.faster.size() == 1;
      card[key] = own == kernel.card.end() ? value : is_rate ? own->second * 2 : own->second / 2;
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
  for (const Resource& resource : kResources) {
    const double ns = DeviceNs(Times(Faster(kernel, resource)));
    all += fmt::format("{} {:+.1f} %\n", resource.name, 100 * (ns / before - 1));
    if (ns < best_ns) {
      best_ns = ns;
      best = resource.name;
    }
  }
  EXPECT_EQ(best, kernel.bound_by) << all;
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, BoundsTest,
    ::testing::Values(
        Kernel{"Softmax", "op = \"softmax\"\nrows = 512\ncols = 1024\n", "memory", {}},
        Kernel{"Add", "op = \"add\"\nrows = 512\ncols = 1024\n", "memory", {}},
        Kernel{"Matmul", "op = \"matmul\"\nm = 512\nk = 2048\nn = 512\n", "memory", {}},
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
               "op = \"softmax\"\nrows = 64\ncols = 512\n",
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

}  // namespace
}  // namespace spyre::test::bounds_test
