// SPDX-License-Identifier: Apache-2.0
// SuperDSC JSON; a file that is read has finite strides and a footprint.
#include "runtime/compiler/sdsc/super_dsc.h"
#include "tests/fuzz/parsers/parser_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace spyre;
  return fuzz::Try([&] {
    const compiler::SuperDsc dsc = compiler::ParseSuperDsc(fuzz::Text(data, size), "sdsc_0.json");
    for (const compiler::SdscTensor& tensor : dsc.tensors) {
      fuzz::Require(compiler::DimStrides(dsc, tensor).size() == dsc.dims.size(), "strides");
      fuzz::Require(compiler::FootprintBytes(dsc, tensor) >= 128, "footprint");
    }
  });
}
