// SPDX-License-Identifier: Apache-2.0
// Run configurations in TOML.
#include "cosim/config/config.h"
#include "tests/fuzz/parsers/parser_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace spyre;
  return fuzz::Try([&] { cosim::ParseConfig(fuzz::Text(data, size), "run.toml"); });
}
