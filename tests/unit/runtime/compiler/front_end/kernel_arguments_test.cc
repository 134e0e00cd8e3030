// SPDX-License-Identifier: Apache-2.0
// Lists that the campaign of random lists found: refused in words of a bundle, or for no reason.
#include "runtime/compiler/front_end/kernel_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/json_text.h"
#include "runtime/compiler/ir/ir.h"

namespace spyre::compiler::kernel_arguments_test {
namespace {

using ::testing::HasSubstr;

FrontEndResult CompileList(const char* text) {
  return CompileNamedGraph(ReadNamedGraph(JsonOf(text)), {});
}

TEST(RefuseShortArguments, SaysWhichArgumentAndHowFar) {
  FrontEndResult result = CompileList(R"({"dims": {"A": 128, "B": 256},
      "tensors": [{"name": "x", "dims": ["A", "B"]}],
      "ops": [{"op": "exp", "inputs": ["x"], "output": "y"}]})");
  result.arguments[0].layout.device_size = {4, 64, 64};
  try {
    RefuseShortArguments(result, EmitBundle(result.source, DialectFor(result, {})));
    FAIL() << "half of x is enough";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.message_kind(), "argument_reach");
    EXPECT_THAT(error.what(), HasSubstr("65536 bytes of 'x', which has 32768 on the device"));
  }
}

TEST(RefuseShortArguments, AcceptsTensorsThatAreLongEnough) {
  const FrontEndResult result = CompileList(R"({"dims": {"A": 128, "B": 256},
      "tensors": [{"name": "x0", "dims": ["A", "B"]},
                  {"name": "x1", "dims": ["A", "B"], "stick": "A"}],
      "ops": [{"op": "minimum", "inputs": ["x1", "x0"], "output": "t3"}]})");
  EXPECT_NO_THROW(RefuseShortArguments(result, EmitBundle(result.source, DialectFor(result, {}))));
}

TEST(TwoHintsAlongOneDimension, CompileAroundAnOperationThatOnlyWorksOnTiles) {
  const FrontEndResult result = CompileList(R"({"dims": {"A": 128, "B": 128},
      "tensors": [{"name": "x", "dims": ["B", "A"]}],
      "ops": [{"op": "exp", "inputs": ["x"], "output": "t"},
              {"op": "relu", "inputs": ["t"], "output": "u"},
              {"op": "neg", "inputs": ["u"], "output": "y"}],
      "hints": [{"slices": {"B": 4}}, {"slices": {"B": 2}}]})");
  for (const BundleDialect dialect :
       {BundleDialect::kSymbolicArguments, BundleDialect::kSymbolicConstants})
    EXPECT_EQ(EmitBundle(result.source, dialect).dscs.size(), 3u);
}

}  // namespace
}  // namespace spyre::compiler::kernel_arguments_test
