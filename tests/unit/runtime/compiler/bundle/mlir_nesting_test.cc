// SPDX-License-Identifier: Apache-2.0
// What bundle.mlir must keep to before MLIR's own parser may see it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "runtime/compiler/bundle/bundle.h"

namespace spyre::compiler::mlir_nesting_test {
namespace {

using ::testing::HasSubstr;

// MLIR's parser, and what it makes, recurse wherever something can be nested.
TEST(MlirNesting, IsRefusedHoweverItIsWritten) {
  constexpr int kTimes = 100'000;
  const auto repeated = [](const std::string& text) {
    std::string all;
    for (int i = 0; i < kTimes; ++i) all += text;
    return all;
  };
  const auto bundle = [](const std::string& definitions, const std::string& body) {
    return definitions + "module { func.func @sdsc_bundle(%a: index) {\n" + body + "\nreturn } }";
  };
  std::string attributes = "#a0 = [1]\n", types = "!t0 = !sdscbundle.input_arg<index>\n";
  std::string hidden = "#a-0 = [1]\n";
  for (int i = 1; i < kTimes; ++i) {
    attributes += fmt::format("#a{} = [#a{}]\n", i, i - 1);
    types += fmt::format("!t{} = !sdscbundle.input_arg<!t{}>\n", i, i - 1);
    hidden += fmt::format("#a-{} // =\n = [#a-{}]\n", i, i - 1);
  }
  const std::string deep = "nested deeper than 64 levels", operators = "more than 256 operators";
  const std::string hostile[][2] = {
      {bundle("", "\"a.b\"() {x = " + repeated("[") + "1"), deep},
      {bundle("", repeated("\"a.b\"() ({ ")), deep},
      {bundle("", "%z = affine.load %a[" + repeated("%a mod 4 + ") + "0] : index"), operators},
      {bundle("", "%z = affine.load %a[" + repeated("-") + "%a] : index"), operators},
      {bundle("", "%z = affine.load %a[" + repeated("(0) floordiv ") + "%a] : index"), operators},
      {bundle(attributes, "%c = arith.constant {x = #a99999} 1 : index"), deep},
      {bundle(hidden, "%c = arith.constant {x = #a-99999} 1 : index"), deep},
      {bundle(types, "%c = sdscbundle.input_arg_extract value from %a : !t99999 -> index"), deep}};
  for (const auto& [text, refusal] : hostile) {
    try {
      ParseBundleMlir(text, "bundle.mlir");
      FAIL() << refusal;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(refusal));
    }
  }
}

}  // namespace
}  // namespace spyre::compiler::mlir_nesting_test
