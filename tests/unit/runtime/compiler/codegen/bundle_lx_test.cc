// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/codegen/bundle_lx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

namespace spyre::compiler::bundle_lx_test {
namespace {

// 64 sticks on 2 cores by rows: 32 sticks of 128 bytes on each. No address: in device memory.
SuperDsc Copy(const std::string& op, std::optional<int64_t> from, std::optional<int64_t> to) {
  SuperDsc dsc;
  dsc.op = op;
  dsc.dims = {{"mb", 64, 32, 2}, {"out", 64, 64, 1}};
  for (const std::optional<int64_t> address : {from, to}) {
    SdscTensor tensor;
    tensor.dim_order = {0, 1};
    tensor.scale = {1, 1};
    tensor.stick_dims = {1};
    tensor.stick_sizes = {64};
    tensor.in_lx = address.has_value();
    tensor.start = {address.value_or(0), address.value_or(0)};
    dsc.tensors.push_back(tensor);
  }
  dsc.cores = {0, 1};
  dsc.slice = {{0, 0}, {1, 0}};
  dsc.inputs = {0};
  dsc.outputs = {1};
  return dsc;
}

BundleNode Execute(int dsc) {
  BundleExecute execute;
  execute.dsc = dsc;
  return execute;
}

Bundle Of(std::vector<SuperDsc> dscs, std::vector<BundleNode> body) {
  Bundle bundle;
  for (size_t i = 0; i < dscs.size(); ++i)
    bundle.files.push_back("sdsc_" + std::to_string(i) + ".json");
  bundle.dscs = std::move(dscs);
  bundle.body = std::move(body);
  return bundle;
}

BundleNode Loop(std::vector<BundleNode> body) {
  BundleLoop loop;
  loop.count = 3;
  loop.body = std::move(body);
  return loop;
}

constexpr int64_t kBytes = 32 * 128;

TEST(ResidentLxUses, ATensorStaysFromItsWriterToItsLastReader) {
  const std::vector<LxUse> uses = ResidentLxUses(
      Of({Copy("exp", {}, 0), Copy("neg", 0, kBytes), Copy("abs", 0, {}), Copy("abs", kBytes, {})},
         {Execute(0), Execute(1), Execute(2), Execute(3)}));
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].name, "sdsc_0.json exp");
  EXPECT_EQ(uses[0].address, 0u);
  EXPECT_EQ(uses[0].bytes, 4096u);
  EXPECT_EQ(uses[0].cores, 0b11u);
  EXPECT_EQ(uses[0].first_step, 0);
  EXPECT_EQ(uses[0].last_step, 2);
  EXPECT_EQ(uses[1].address, 4096u);
  EXPECT_EQ(uses[1].first_step, 1);
  EXPECT_EQ(uses[1].last_step, 3);
}

TEST(ResidentLxUses, AResultThatTakesThePlaceOfItsOperandIsAnotherTensor) {
  const std::vector<LxUse> uses =
      ResidentLxUses(Of({Copy("exp", {}, 0), Copy("neg", 0, 0), Copy("abs", 0, {})},
                        {Execute(0), Execute(1), Execute(2)}));
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].last_step, 1);
  EXPECT_EQ(uses[1].name, "sdsc_1.json neg");
  EXPECT_EQ(uses[1].first_step, 1);
  EXPECT_EQ(uses[1].last_step, 2);
}

TEST(ResidentLxUses, WhatALoopReadsStaysUntilTheLoopHasEnded) {
  const std::vector<LxUse> uses =
      ResidentLxUses(Of({Copy("exp", {}, 0), Copy("neg", 0, kBytes), Copy("abs", kBytes, {})},
                        {Execute(0), Loop({Execute(1), Execute(2)})}));
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].first_step, 0);
  EXPECT_EQ(uses[0].last_step, 2) << "the next iteration reads it again";
  EXPECT_EQ(uses[1].first_step, 1);
  EXPECT_EQ(uses[1].last_step, 2);
}

TEST(ResidentLxUses, WhatALoopReadsBeforeItWritesItIsThereAllThroughTheLoop) {
  const std::vector<LxUse> uses =
      ResidentLxUses(Of({Copy("exp", {}, kBytes), Copy("neg", 0, {}), Copy("abs", {}, 0)},
                        {Loop({Execute(0), Execute(1), Execute(2)})}));
  ASSERT_EQ(uses.size(), 3u);
  EXPECT_EQ(uses[1].name, "sdsc_1.json neg");
  EXPECT_EQ(uses[1].first_step, 0);
  EXPECT_EQ(uses[1].last_step, 2);
}

}  // namespace
}  // namespace spyre::compiler::bundle_lx_test
