// SPDX-License-Identifier: Apache-2.0
// bundle.mlir.
#include "runtime/compiler/bundle/bundle.h"
#include "tests/fuzz/parsers/parser_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace spyre;
  return fuzz::Try([&] { compiler::ParseBundleMlir(fuzz::Text(data, size), "bundle.mlir"); });
}
