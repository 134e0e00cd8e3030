// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cctype>
#include <random>

#include "base/error.h"
#include "driver/vfio_function.h"

namespace spyre::driver {

VfToken VfToken::Parse(const std::string& uuid) {
  VfToken token;
  constexpr const char* kPattern = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  const std::string pattern = kPattern;
  bool fits = uuid.size() == pattern.size();
  size_t digits = 0;
  for (size_t i = 0; fits && i < pattern.size(); ++i) {
    const char c = uuid[i];
    if (pattern[i] == '-') {
      fits = c == '-';
      continue;
    }
    fits = std::isxdigit(static_cast<unsigned char>(c)) != 0;
    const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    uint8_t& byte = token.bytes[digits++ / 2];
    byte = static_cast<uint8_t>(byte << 4 | digit);
  }
  if (!fits) {
    throw BadInput("VF token \"{}\": a UUID is expected", uuid)
        .Subject("VF token")
        .Value(uuid)
        .Remedy("83d8f4f2-509f-382f-3c1e-e6bfe0fa1001");
  }
  return token;
}

VfToken VfToken::Random() {
  VfToken token;
  std::random_device random;
  for (uint8_t& byte : token.bytes) byte = static_cast<uint8_t>(random());
  return token;
}

std::string VfToken::Text() const {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", bytes[i]);
  }
  return text;
}

}  // namespace spyre::driver
