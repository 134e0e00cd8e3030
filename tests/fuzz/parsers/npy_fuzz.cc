// SPDX-License-Identifier: Apache-2.0
// .npy files.
#include "cosim/tensors/npy.h"
#include "tests/fuzz/parsers/parser_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace spyre;
  return fuzz::Try([&] { cosim::ParseNpy({data, data + size}, "in.npy"); });
}
