// SPDX-License-Identifier: Apache-2.0
// OpSpec source; what is read is written and read again as the same.
#include "runtime/compiler/op_spec/op_spec.h"
#include "tests/fuzz/parsers/parser_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace spyre;
  return fuzz::Try([&] {
    const auto kernel = compiler::ParseOpSpecSource(fuzz::Text(data, size), "k.py");
    const std::string text = compiler::ToSource(kernel);
    try {
      fuzz::Require(compiler::ToSource(compiler::ParseOpSpecSource(text, "again")) == text,
                    "round trip");
    } catch (const Error& error) {
      fuzz::Require(false, error.what());
    }
  });
}
