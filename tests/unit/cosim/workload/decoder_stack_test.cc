// SPDX-License-Identifier: Apache-2.0
// Decoder stacks as kernels, tensors and steps: what layers share and what is their own, what a
// step reads, and which sizes are refused.
#include "cosim/workload/decoder_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <set>

#include "cosim/workload/decoder_tables.h"
#include "cosim/workload/model_workload.h"
#include "tests/unit/error_of.h"

namespace spyre::cosim::decoder_stack_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Use = DecoderTensor::Use;

ModelConfig Small() {
  ModelConfig model;
  model.layers = 3;
  model.hidden = 256;
  model.mlp = 512;
  model.heads = 4;
  model.kv_heads = 2;
  model.head_size = 64;
  model.batch = 2;
  model.sequence = 64;
  return model;
}

ModelConfig Decode() {
  ModelConfig model = Small();
  model.sequence = 1;
  model.context = 100;
  return model;
}

DecoderStack Stack(const ModelConfig& model) { return BuildDecoderStack(DecoderSizesOf(model)); }

int64_t Elements(const DecoderStack& stack, Use use) {
  int64_t sum = 0;
  for (const DecoderTensor& tensor : stack.tensors) {
    if (tensor.use != use) continue;
    sum +=
        std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1}, std::multiplies<>());
  }
  return sum;
}

TEST(DecoderStack, LayersLaunchTheSameKernels) {
  ModelConfig one = Small();
  one.layers = 1;
  EXPECT_EQ(Stack(Small()).kernels.size(), Stack(one).kernels.size());
  EXPECT_EQ(Stack(Small()).steps.size(), 3 * Stack(one).steps.size());
  EXPECT_EQ(Stack(one).steps.size(), 15u + 7) << "as below, and each product turns its weight";
  one.weights = "transposed";
  EXPECT_EQ(Stack(one).steps.size(), 15u)
      << "2 norms, q, k, v, o, gate, up, down, 2 rotations, attention, swiglu, 2 sums; no copies";
}

TEST(DecoderStack, LayersHaveTheirOwnWeightsAndCacheAndShareTheRest) {
  ModelConfig one = Small();
  one.layers = 1;
  one.vocabulary = 100;  // so that both have a hidden state between the layers and the head
  ModelConfig three = Small();
  three.vocabulary = 100;
  // norms, q and o, k and v, feed-forward block
  const int64_t layer = 2 * 256 + 2 * 256 * 256 + 2 * 256 * 128 + 3 * 256 * 512;
  const int64_t head = 256 + 256 * 100;
  EXPECT_EQ(Elements(Stack(one), Use::kWeight), layer + head);
  EXPECT_EQ(Elements(Stack(three), Use::kWeight), 3 * layer + head);
  EXPECT_EQ(Elements(Stack(three), Use::kKvCache), 3 * 2 * 64 * 2 * 128);
  EXPECT_EQ(Elements(Stack(three), Use::kActivation), Elements(Stack(one), Use::kActivation));
  EXPECT_EQ(Elements(Stack(three), Use::kTable), Elements(Stack(one), Use::kTable));
}

TEST(DecoderStack, TheDefaultsAreEightBillionParameters) {
  ModelConfig granite;
  granite.layers = 40;
  EXPECT_EQ(Elements(Stack(granite), Use::kWeight),
            40ll * (2 * 4096 + 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 12800));
}

TEST(DecoderStack, EveryStepReadsWhatIsThereAndTheLastWritesTheResult) {
  for (const ModelConfig& model : {Small(), Decode()}) {
    for (const uint64_t vocabulary : {0, 100}) {
      ModelConfig with_head = model;
      with_head.vocabulary = vocabulary;
      const DecoderStack stack = Stack(with_head);
      std::set<size_t> there;
      for (size_t i = 0; i < stack.tensors.size(); ++i)
        if (stack.tensors[i].is_input) there.insert(i);
      for (const DecoderStep& step : stack.steps) {
        for (size_t i = 0; i + 1 < step.tensors.size(); ++i)
          EXPECT_EQ(there.count(step.tensors[i]), 1u) << step.name << ", operand " << i;
        there.insert(step.tensors.back());
      }
      EXPECT_TRUE(stack.tensors[stack.steps.back().tensors.back()].is_output);
      EXPECT_EQ(there.size(), stack.tensors.size()) << "every tensor is used";
    }
  }
}

TEST(DecoderStack, ADecodeAppendsToTheCacheBeforeItIsRead) {
  ModelConfig model = Decode();
  model.weights = "transposed";
  const DecoderStack stack = Stack(model);
  std::vector<std::string> names;
  for (const DecoderStep& step : stack.steps)
    if (step.layer == 1) names.push_back(step.name);
  EXPECT_THAT(names, ::testing::ElementsAre("layers.1.norm1", "layers.1.q", "layers.1.k",
                                            "layers.1.v", "layers.1.rotate_q", "layers.1.rotate_k",
                                            "layers.1.append_k", "layers.1.append_v",
                                            "layers.1.attention", "layers.1.o", "layers.1.add1",
                                            "layers.1.norm2", "layers.1.gate", "layers.1.up",
                                            "layers.1.swiglu", "layers.1.down", "layers.1.add2"));
  for (const DecoderKernel& kernel : stack.kernels) {
    if (kernel.part != DecoderPart::kCopy) continue;
    const auto& copy = std::get<RowCopy>(kernel.work);
    EXPECT_EQ(copy.to_row, 99) << "behind the 99 tokens of the past";
    EXPECT_EQ(copy.to_rows, 128) << "100 in whole sticks";
  }
}

TEST(DecoderStack, TablesSayWhoSeesWhomAndHowFarHeadsAreTurned) {
  const auto at = [](const HostData& data, int64_t i) {
    return HostValue(DataFormat::kIeeeFp16, HostBits(DataFormat::kIeeeFp16, data.data(), i));
  };
  ModelConfig model = Small();
  model.sequence = 40;
  model.context = 50;  // of 64 rows
  const DecoderTables tables(DecoderSizesOf(model));
  const auto mask = tables.Data("mask");
  for (int64_t s = 0; s < 40; ++s)
    for (int64_t t = 0; t < 64; ++t)
      EXPECT_EQ(at(*mask, s * 64 + t) == 0, t <= 10 + s) << "token " << s << ", row " << t;
  // Position 10 of the first new token; element 32 begins the second half and has rate 1 again.
  EXPECT_NEAR(at(*tables.Data("cos"), 0), -0.8390715, 1e-3);
  EXPECT_NEAR(at(*tables.Data("sin"), 32), -0.5440211, 1e-3);
  // (a, b) to (-b, a): row 32 is the first of b, and goes to the first of the result.
  const auto rotation = tables.Data("rotation");
  EXPECT_EQ(at(*rotation, 32 * 64 + 0), -1);
  EXPECT_EQ(at(*rotation, 0 * 64 + 32), 1);
  double sum = 0;
  for (int64_t i = 0; i < 64 * 64; ++i) sum += std::abs(at(*rotation, i));
  EXPECT_EQ(sum, 64);
}

TEST(DecoderStack, RefusesSizesThatNoCardCouldRun) {
  const auto refusal = [](const std::string& keys) {
    return test::FailureOf([&] {
      PlanModel(ParseConfig("[workload]\nfunctional = false\n[workload.model]\n" + keys, "m.toml"));
    });
  };
  EXPECT_THAT(refusal("layers = 1\nhidden = 100\n"),
              AllOf(HasSubstr("workload.model.hidden = 100 must be a multiple of 64"),
                    HasSubstr("128 padded with zeros")));
  EXPECT_THAT(refusal("layers = 1\nmlp = 65\n"), HasSubstr("workload.model.mlp = 65"));
  EXPECT_THAT(refusal("layers = 1\nhead_size = 80\n"), HasSubstr("workload.model.head_size = 80"));
  EXPECT_THAT(refusal("layers = 1\nheads = 10\nkv_heads = 4\n"),
              HasSubstr("workload.model.heads = 10 must be a multiple of workload.model.kv_heads"));
  EXPECT_THAT(refusal("layers = 1\nsequence = 64\ncontext = 63\n"),
              HasSubstr("workload.model.context = 63 is less than workload.model.sequence = 64"));
  EXPECT_THAT(refusal("layers = 40\nsequence = 1\ncontext = 1000000\n"),
              AllOf(HasSubstr("of KV cache (batch 1, context 1000000)"),
                    HasSubstr("the card has 120259084288"), HasSubstr("a shorter context")));
  for (const char* key : {"hidden", "mlp", "heads", "kv_heads", "head_size", "batch", "sequence"})
    EXPECT_THAT(refusal("layers = 1\n" + std::string(key) + " = 0\n"),
                AllOf(HasSubstr("workload.model." + std::string(key)), HasSubstr("0")));
  EXPECT_THAT(test::FailureOf([] {
                PlanModel(ParseConfig("[workload.model]\nlayers = 1\nload_weights = false\n", "m"));
              }),
              HasSubstr("workload.model.load_weights = false"));
}

}  // namespace
}  // namespace spyre::cosim::decoder_stack_test
