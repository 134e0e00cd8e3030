// SPDX-License-Identifier: Apache-2.0
// Program images with a checksum that fits; an image that is read is written as the same program.
#include <vector>

#include "model/contract/memory_map.h"
#include "model/contract/program.h"
#include "model/contract/program_image.h"
#include "tests/fuzz/parsers/parser_fuzz.h"

namespace {

// Version and checksum as the loader wants them, else nothing would get past them.
void Sign(std::vector<uint8_t>& bytes) {
  using namespace spyre;
  if (bytes.size() < kImageHeaderBytes) return;
  image::Put(bytes.data() + image::kVersionAt, image::kVersion);
  const ImageInfo info = ReadImageHeader(bytes.data(), bytes.size());
  if (bytes.size() < info.image_bytes) bytes.resize(info.image_bytes);
  const size_t table_bytes = AlignUp(info.address_table_entries * 8, kStickBytes);
  image::Put(bytes.data() + image::kCrcAt, image::ImageCrc(bytes.data(), info.image_bytes,
                                                           info.address_table_offset, table_bytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace spyre;
  return fuzz::Try([&] {
    std::vector<uint8_t> bytes(data, data + size);
    Sign(bytes);
    const Program program = Decode(bytes.data(), bytes.size());
    const std::vector<uint8_t> again = Encode(program);
    fuzz::Require(Disassemble(Decode(again.data(), again.size())) == Disassemble(program),
                  "the program that was written is the one that was read");
  });
}
