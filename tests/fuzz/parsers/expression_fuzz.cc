// SPDX-License-Identifier: Apache-2.0
// Expressions; text of one reads back as the same, and values keep within 64 bits.
#include "runtime/compiler/ir/expression.h"
#include "tests/fuzz/parsers/parser_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace spyre;
  return fuzz::Try([&] {
    const auto expression = compiler::ParseExpression(fuzz::Text(data, size));
    const std::string text = compiler::ToString(expression);
    try {
      fuzz::Require(compiler::ToString(compiler::ParseExpression(text)) == text, "round trip");
    } catch (const Error& error) {
      fuzz::Require(false, error.what());
    }
    std::map<std::string, int64_t> values;
    for (const std::string& name : compiler::FreeSymbols(expression)) values[name] = 191;
    compiler::Evaluate(expression, values);
  });
}
