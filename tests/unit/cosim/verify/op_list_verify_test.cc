// SPDX-License-Identifier: Apache-2.0
// Verification of lists against what they mean: a wrong value is found although it is what the
// bundle says, and what rounding explains is not.
#include "cosim/verify/op_list_verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "cosim/tensors/reference_numbers.h"
#include "cosim/verify/rounding_limits.h"
#include "cosim/verify/sample.h"

namespace spyre::cosim::op_list_verify_test {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kSize = 4096;

WorkloadTensor Tensor(const std::string& name, bool is_output) {
  WorkloadTensor tensor;
  tensor.name = name;
  tensor.is_input = !is_output;
  tensor.is_output = is_output;
  tensor.shape = {kSize};
  return tensor;
}

// y = exp(x) * 3 of x = -4 .. 4, as the card gives it, with one element replaced.
Verification VerifyExp(int64_t replaced, double by, double tolerance = 0, bool sample = false) {
  const compiler::NamedGraph graph = compiler::ReadNamedGraph(JsonOf(
      R"({"dims": {"N": 4096}, "tensors": [{"name": "x", "dims": ["N"]}],
          "ops": [{"op": "exp", "inputs": ["x"], "output": "e"},
                  {"op": "mul", "inputs": ["e", 3], "output": "y"}]})"));
  std::vector<HostData> inputs(2), outputs(2);
  inputs[0] = HostData(2 * kSize);
  outputs[1] = HostData(2 * kSize);
  for (int64_t i = 0; i < kSize; ++i) {
    const uint16_t x = NearestHalf(SenValue(NearestSen(static_cast<double>(i - 2048) / 512)));
    const double e = SenValue(NearestSen(std::exp(HalfValue(x))));
    const uint16_t y = i == replaced ? NearestHalf(by) : HalfOfSen(NearestSen(e * 3));
    std::memcpy(inputs[0].data() + 2 * i, &x, 2);
    std::memcpy(outputs[1].data() + 2 * i, &y, 2);
  }
  Verification result;
  result.elements = kSize;  // equal bit by bit
  result.tolerance = tolerance;
  CheckOptions options;
  options.sample = sample;
  MeasureAgainstOperations(graph, {Tensor("x", false), Tensor("y", true)}, inputs, outputs, options,
                           result);
  return result;
}

TEST(MeasureAgainstOperations, RoundingIsExplained) {
  const Verification result = VerifyExp(-1, 0);
  EXPECT_TRUE(result.passed());
  EXPECT_EQ(result.error_elements, kSize);
  EXPECT_GT(result.max_abs_error, 0);
}

TEST(MeasureAgainstOperations, AWrongValueIsFoundWhateverTheBundleSays) {
  const double right = 3 * std::exp(1024.0 / 512);
  const Verification result = VerifyExp(2048 + 1024, right * 1.1);
  EXPECT_EQ(result.mismatches, 0);
  EXPECT_EQ(result.beyond, 1);
  EXPECT_FALSE(result.passed());
  ASSERT_TRUE(result.worst);
  EXPECT_EQ(result.worst->tensor, "y");
  EXPECT_EQ(result.worst->element, 2048 + 1024);
}

TEST(MeasureAgainstOperations, AnOutputThatIsNotFiniteIsWrong) {
  const Verification result = VerifyExp(7, HUGE_VAL);
  EXPECT_EQ(result.not_finite, 1);
  EXPECT_FALSE(result.passed());
}

TEST(MeasureAgainstOperations, AGivenToleranceReplacesTheDerivedOne) {
  EXPECT_TRUE(VerifyExp(2048 + 1024, 3 * std::exp(2) * 1.1, 0.1).passed());
  EXPECT_FALSE(VerifyExp(-1, 0, 1e-6).passed());
}

TEST(MeasureAgainstOperations, ASampleIsComparedToo) {
  const Verification right = VerifyExp(-1, 0, 0, true);
  EXPECT_TRUE(right.passed());
  EXPECT_EQ(right.error_elements, 16);
  EXPECT_THAT(right.reference, ::testing::HasSubstr("over 16 of 4096 elements"));
  int found = 0;
  for (int64_t element = 0; element < kSize / 16; ++element)
    found += VerifyExp(element, 1000, 0, true).passed() ? 0 : 1;
  EXPECT_EQ(found, 1) << "one element of the first sixteenth is in the sample";
}

// Rows are independent; columns are summed.
TEST(GraphSample, LeavesOutIndicesOfDimensionsThatAreNotMixed) {
  const compiler::NamedGraph graph = compiler::ReadNamedGraph(JsonOf(
      R"({"dims": {"B": 3, "R": 100, "K": 200, "N": 300},
          "tensors": [{"name": "x", "dims": ["B", "R", "K"]}, {"name": "w", "dims": ["K", "N"]}],
          "ops": [{"op": "matmul", "inputs": ["x", "w"], "output": "y"},
                  {"op": "relu", "inputs": ["y"], "output": "z"}]})"));
  const GraphSample sample(graph, 1);
  std::vector<int64_t> sizes;
  for (const compiler::NamedDim& dim : sample.graph().dims) sizes.push_back(dim.size);
  EXPECT_THAT(sizes, ::testing::ElementsAre(3, 16, 200, 16));
  const std::vector<int64_t> w = sample.ElementsOf(1);
  ASSERT_EQ(w.size(), 200u * 16);
  EXPECT_EQ(w[16 * 7] / 300, 7) << "every row of the weights is there";
  EXPECT_EQ(w[16 * 7] % 300, w[0] % 300) << "and of each the same columns";
  EXPECT_LT(w[15], 300);
}

TEST(GraphSample, TakesAllOfWhatASoftmaxOrAnAttentionMixes) {
  const compiler::NamedGraph graph = compiler::ReadNamedGraph(JsonOf(
      R"({"dims": {"S": 32, "T": 48, "D": 64},
          "tensors": [{"name": "q", "dims": ["S", "D"]}, {"name": "k", "dims": ["T", "D"]},
                      {"name": "v", "dims": ["T", "D"]}],
          "ops": [{"op": "attention", "inputs": ["q", "k", "v"], "output": "y"}]})"));
  std::vector<int64_t> sizes;
  const GraphSample sample(graph, 1);
  for (const compiler::NamedDim& dim : sample.graph().dims) sizes.push_back(dim.size);
  EXPECT_THAT(sizes, ::testing::ElementsAre(16, 48, 64));
}

// Without rounding, y is 1; a rounded 1 + 2^-12 is 1, so that rounding loses all of x.
TEST(RoundingLimits, GrowWhereAChainAmplifiesErrors) {
  const DoubleTensor ideal = {1, 1, 1, 1};
  EXPECT_LT(RoundingLimits(ideal, {1.0001, 0.9999, 1.0001, 1}).Of(3), 0.01);
  EXPECT_GT(RoundingLimits(ideal, {1.1, 0.9, 1.1, 1}).Of(3), 1);
}

}  // namespace
}  // namespace spyre::cosim::op_list_verify_test
