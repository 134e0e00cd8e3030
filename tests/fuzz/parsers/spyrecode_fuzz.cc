// SPDX-License-Identifier: Apache-2.0
// spyrecode.json of a SpyreCode directory.
#include "runtime/spyre/spyre_code.h"
#include "tests/fuzz/parsers/parser_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace spyre;
  fuzz::Write(fuzz::Scratch() / "spyrecode.json", fuzz::Text(data, size));
  fuzz::Write(fuzz::Scratch() / "init_binary.bin", std::string(4096, '\0'));
  fuzz::Write(fuzz::Scratch() / "hcm.json", R"({"version": 1, "records": [{"argument": 0}]})");
  return fuzz::Try([&] { runtime::ReadSpyreCode(fuzz::Scratch()); });
}
