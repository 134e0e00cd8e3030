// SPDX-License-Identifier: Apache-2.0
// Every configuration in configs/ takes the same times with data and without: the same trace,
// record for record, and the same figures. Large ones are made smaller, so that these tests stay
// short; what they show, tiles, remainders, streams and engines, is the same.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "base/json_text.h"
#include "tests/integration/program_fixture.h"

namespace spyre::test::shipped_configs_test {
namespace {

using nlohmann::json;

// What makes a run short, by the name of the configuration.
std::string Smaller(const std::string& name) {
  const std::string model =
      "workload.model.layers=2 workload.model.hidden=512 workload.model.mlp=1024 "
      "workload.model.heads=4 workload.model.kv_heads=2 workload.model.vocabulary=2048 "
      "workload.model.load_weights=true trace.enabled=true ";
  static const std::map<std::string, std::string> sets = {
      {"add", "workload.rows=256"},
      {"batch_matmul", "workload.batch=4"},
      {"gelu", "workload.rows=256"},
      {"granite_8b_decode", model + "workload.model.context=128"},
      {"granite_8b_prefill", model + "workload.model.sequence=128"},
      {"interleaved", "workload.rows=256"},
      {"symbolic", "workload.dims.s0=30"},
      {"large_tensor", "workload.dims.M=96 workload.dims.N=640 workload.chunk_bytes=100000"},
      {"matmul_timing", "workload.k=512 workload.n=1600"},
      {"overlap_double_buffer", "workload.m=1280"},
      {"overlap_streams", "workload.m=1280"},
      {"own_inputs", "workload.inputs.a=a.npy workload.inputs.b=b.npy"},
      {"reduction_device", "workload.k=4096"},
      {"reduction_lx", "workload.k=4096"},
      {"reduction_plan", "workload.k=4096"},
      {"remainder_kernel", "workload.m=1000 workload.tile.m=256"},
      {"remainder_pad", "workload.m=1000 workload.tile.m=256"},
      {"tensor_parallel_attention",
       "cards.count=2 workload.dims.S=64 workload.dims.T=64 workload.dims.H=256"},
      {"tensor_parallel_mlp",
       "cards.count=2 workload.dims.S=64 workload.dims.H=256 workload.dims.I=512"},
      {"tiled_matmul", "workload.m=1024 workload.tile.m=256"},
      {"tiled_matmul_pf", "workload.m=1024 workload.tile.m=256"},
      {"tiled_matmul_rtl",
       "workload.m=256 workload.k=256 workload.n=256 workload.tile.m=128 output.compare=none"},
  };
  const auto found = sets.find(name);
  return found == sets.end() ? "" : found->second;
}

class ShippedConfigs : public ProgramFixture, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    dir_ = ::testing::TempDir() + "shipped_" + GetParam();
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_ + "/tmp");
  }
  // Arrays of 256x512 and 512x128 half floats, all of them zero.
  void WriteInputs() const {
    const auto write = [this](const std::string& name, size_t rows, size_t cols) {
      std::string header = "{'descr': '<f2', 'fortran_order': False, 'shape': (" +
                           std::to_string(rows) + ", " + std::to_string(cols) + "), }";
      header.resize(117, ' ');
      header += '\n';
      const std::string magic("\x93NUMPY\x01\x00", 8);
      const std::string length{static_cast<char>(header.size()), '\0'};
      Write(name, magic + length + header + std::string(rows * cols * 2, '\0'));
    };
    write("a.npy", 256, 512);
    write("b.npy", 512, 128);
  }
  json Report(const char* functional) const {
    std::string command = "run '" SPYRE_SOURCE_DIR "/configs/" + GetParam() +
                          ".toml' --json --no-progress --set workload.verify=none "
                          "--set workload.functional=" +
                          functional + " --out " + functional;
    std::istringstream sets(Smaller(GetParam()));
    for (std::string set; sets >> set;) {
      // Paths are relative to the configuration.
      if (set.find(".npy") != std::string::npos) set.insert(set.find('=') + 1, dir_ + "/");
      command += " --set " + set;
    }
    const Outcome outcome = Call(command);
    EXPECT_EQ(outcome.status, 0) << command << ": " << outcome.err;
    return outcome.status == 0 ? SortedJsonOf(outcome.out) : json();
  }
};

TEST_P(ShippedConfigs, TakesTheSameTimesWithDataAndWithout) {
  if (GetParam() == "own_inputs") WriteInputs();
  const json with_data = Report("true");
  const json times_only = Report("false");
  ASSERT_FALSE(with_data.is_null() || times_only.is_null());
  for (const char* figure :
       {"sim_time_ns", "window_ns", "launch_ns", "operations", "kernels", "corrections", "units",
        "device_memory", "balance", "lost_time", "overlap", "tile_kernels"}) {
    EXPECT_EQ(times_only.value(figure, json()), with_data.value(figure, json())) << figure;
  }
  ASSERT_TRUE(with_data["trace"].contains("digest"));
  EXPECT_EQ(times_only["trace"]["digest"], with_data["trace"]["digest"]);
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(SPYRE_SOURCE_DIR "/configs")) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}
INSTANTIATE_TEST_SUITE_P(Configs, ShippedConfigs, ::testing::ValuesIn(Names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace spyre::test::shipped_configs_test
