// SPDX-License-Identifier: Apache-2.0
// Verification of OpSpec sources against what they mean: an emitter that makes something else of a
// source is found, although the outputs are bit for bit what its files say.
#include "cosim/verify/op_spec_verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/files.h"
#include "cosim/arguments/argument_shapes.h"
#include "cosim/reference/bundle_reference.h"
#include "cosim/reference/device_elements.h"
#include "cosim/verify/bundle_verify.h"
#include "cosim/workload/bundle_workload.h"
#include "tests/paths.h"

namespace spyre::cosim::op_spec_verify_test {
namespace {

using compiler::KernelSource;
using ::testing::HasSubstr;

constexpr const char* kSamples = SPYRE_SOURCE_DIR "/tests/data/bundles/symbolic_args/";

KernelSource SourceOf(const std::string& sample) {
  const std::string path = kSamples + sample + "/op_spec.py.txt";
  return compiler::ParseOpSpecSource(ReadFile(path, "OpSpec source", 1 << 20), path);
}

// What a card leaves that executes the files of `emitted`, whatever source they came from.
struct Executed {
  LaunchedBundle launched;
  std::vector<HostData> inputs, outputs;
};

Executed Execute(const KernelSource& emitted) {
  BundleSettings settings;
  settings.lx_bytes = 1 << 20;
  settings.image_bytes = 1 << 16;
  Executed run;
  run.launched =
      PlanBundle(settings,
                 compiler::EmitBundle(emitted, compiler::BundleDialect::kSymbolicArguments),
                 ShapesFromSource(emitted))
          .launched;
  const std::vector<WorkloadTensor>& tensors = run.launched.tensors;
  const std::vector<int> arguments = TensorArguments(run.launched.bundle);
  BundleMemory memory = ReferenceMemory(run.launched, false);
  std::mt19937 random(7);
  for (size_t t = 0; t < tensors.size(); ++t) {
    run.inputs.emplace_back();
    if (!tensors[t].is_input) continue;
    run.inputs[t].resize(static_cast<size_t>(tensors[t].host_bytes()));
    for (int64_t i = 0; i < tensors[t].elements(); ++i) {
      const double value = static_cast<double>(random() % 4096) / 1024 - 2;
      StoreHost(tensors[t].host_format, value, run.inputs[t].data(), i);
    }
    memory.image(arguments[t]) =
        ToDeviceImage(tensors[t].layout, tensors[t].host_format, run.inputs[t]);
  }
  RunBundleReference(run.launched.bundle, {}, memory);
  for (size_t t = 0; t < tensors.size(); ++t) {
    run.outputs.emplace_back();
    if (!tensors[t].is_output) continue;
    run.outputs[t] =
        FromDeviceImage(tensors[t].layout, tensors[t].host_format, memory.image(arguments[t]));
  }
  return run;
}

Verification VerifyAs(const KernelSource& meant, const KernelSource& emitted,
                      const CheckOptions& options = {}) {
  const Executed run = Execute(emitted);
  const Verification bits = VerifyBundle(run.launched, run.inputs, run.outputs, options);
  EXPECT_EQ(bits.mismatches, 0) << "the outputs are what the files say";
  return VerifyOpSpecs(meant, run.launched, run.inputs, run.outputs, options);
}

class EverySource : public ::testing::TestWithParam<const char*> {};

TEST_P(EverySource, IsWhatItsBundleComputes) {
  const KernelSource source = SourceOf(GetParam());
  const Verification result = VerifyAs(source, source);
  EXPECT_TRUE(result.passed()) << result.beyond << " beyond; " << result.reference;
  EXPECT_EQ(result.mismatches, 0);
  EXPECT_EQ(result.error_elements, result.elements);
  EXPECT_EQ(result.unjudged, 0);
  EXPECT_THAT(result.reference, HasSubstr("against the OpSpec source in float64"));
}

INSTANTIATE_TEST_SUITE_P(Samples, EverySource,
                         ::testing::Values("softmax_lx_32x256/flat", "loop_rows_flat_k4/loops",
                                           "sum_stick_dim_32x256/flat", "add_64x128_rows4/flat",
                                           "mm_32x128x192_m4_n3/flat"));

compiler::OpSpec& FirstOp(std::vector<compiler::SpecNode>& nodes) {
  auto* const loop = std::get_if<compiler::LoopSpec>(&nodes.front());
  return loop != nullptr ? FirstOp(loop->body) : std::get<compiler::OpSpec>(nodes.front());
}

TEST(VerifyOpSpecs, AnEmitterThatTakesAnotherOperationIsFound) {
  const KernelSource meant = SourceOf("add_64x128_rows4/flat");
  KernelSource emitted = meant;
  FirstOp(emitted.body).op = "sub";
  const Verification result = VerifyAs(meant, emitted);
  EXPECT_EQ(result.mismatches, 0);
  EXPECT_GT(result.beyond, 8000) << "of 64 x 128 elements";
  EXPECT_FALSE(result.passed());
}

TEST(VerifyOpSpecs, AnEmitterThatAdvancesALoopWronglyIsFound) {
  const KernelSource meant = SourceOf("loop_rows_flat_k4/loops");
  KernelSource emitted = meant;
  // The first input stays at its first tile.
  FirstOp(emitted.body).args.front().tile_advance.reset();
  const Verification result = VerifyAs(meant, emitted);
  EXPECT_GT(result.beyond, 5000) << "three of four tiles of 16 x 128";
  EXPECT_FALSE(result.passed());
}

TEST(VerifyOpSpecs, AGivenToleranceReplacesTheDerivedLimits) {
  const KernelSource source = SourceOf("softmax_lx_32x256/flat");
  CheckOptions options;
  options.tolerance = 0.01;
  EXPECT_TRUE(VerifyAs(source, source, options).passed());
  options.tolerance = 1e-6;
  EXPECT_FALSE(VerifyAs(source, source, options).passed());
}

TEST(VerifyOpSpecs, ASampleSaysWhyALargeSourceIsNotWorkedOut) {
  const KernelSource small = SourceOf("add_64x128_rows4/flat");
  CheckOptions options;
  options.sample = true;
  EXPECT_EQ(VerifyAs(small, small, options).error_elements, 64 * 128);
  KernelSource large = small;
  compiler::OpSpec& op = FirstOp(large.body);
  large.body.insert(large.body.end(), 1 << 14, compiler::SpecNode(op));
  const Executed run = Execute(small);
  const Verification result = VerifyOpSpecs(large, run.launched, run.inputs, run.outputs, options);
  EXPECT_EQ(result.error_elements, 0);
  EXPECT_THAT(result.reference, HasSubstr("not compared with the OpSpec source in float64"));
}

}  // namespace
}  // namespace spyre::cosim::op_spec_verify_test
