// SPDX-License-Identifier: Apache-2.0
// Recordings. The digests of what the fuzzer makes are put right first, so that it gets past them.
#include <xxhash.h>

#include <cstring>

#include "cosim/replay/recording.h"
#include "tests/fuzz/parsers/parser_fuzz.h"

namespace {

constexpr size_t kHeadBytes = 32, kChunkHeadBytes = 16;

template <typename T>
T Load(const std::string& text, size_t offset) {
  T value;
  std::memcpy(&value, text.data() + offset, sizeof value);
  return value;
}

void Sign(std::string& text, size_t digest_offset, size_t begin, uint64_t bytes) {
  if (bytes > text.size() - begin) return;
  const XXH64_hash_t digest = XXH3_64bits(text.data() + begin, bytes);
  std::memcpy(text.data() + digest_offset, &digest, sizeof digest);
}

void SignAll(std::string& text) {
  if (text.size() < kHeadBytes) return;
  const auto config = Load<uint64_t>(text, 16);
  Sign(text, 24, kHeadBytes, config);
  if (config > text.size() - kHeadBytes) return;
  size_t at = kHeadBytes + config;
  while (text.size() - at >= kChunkHeadBytes) {
    const auto bytes = Load<uint32_t>(text, at);
    Sign(text, at + 8, at + kChunkHeadBytes, bytes);
    if (bytes > text.size() - at - kChunkHeadBytes) return;
    at += kChunkHeadBytes + bytes;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace spyre;
  return fuzz::Try([&] {
    std::string text = fuzz::Text(data, size);
    SignAll(text);
    cosim::ParseRecording(text, "run.rec");
  });
}
