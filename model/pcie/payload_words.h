// SPDX-License-Identifier: Apache-2.0
// A payload of any size as accesses to 32-bit words with byte enables, which is what configuration
// spaces and registers know.
#pragma once

#include <cstdint>
#include <tlm>

#include "model/common/transfer.h"

namespace spyre::model {

// What one request of a processor reaches: up to 4 bytes inside a word, or two whole words.
inline bool InWords(const tlm::tlm_generic_payload& payload) {
  const uint64_t in_word = payload.get_address() % 4;
  const uint64_t bytes = payload.get_data_length();
  return (bytes >= 1 && in_word + bytes <= 4) || (bytes == 8 && in_word == 0);
}

// Calls access(offset, value, byte_enables) for each word in which a byte is enabled, in order of
// addresses. A read leaves the word in `value`; a write finds the enabled bytes there, the others
// 0.
template <typename AccessWord>
void ForEachWord(tlm::tlm_generic_payload& payload, const AccessWord& access) {
  uint8_t* const data = payload.get_data_ptr();
  const uint64_t begin = payload.get_address();
  const uint64_t end = begin + payload.get_data_length();
  for (uint64_t word = begin & ~uint64_t{3}; word < end; word += 4) {
    uint32_t value = 0;
    unsigned enables = 0;
    for (unsigned i = 0; i < 4; ++i) {
      if (word + i < begin || word + i >= end || !ByteEnabled(payload, word + i - begin)) continue;
      enables |= 1u << i;
      if (payload.is_write()) value |= uint32_t{data[word + i - begin]} << (8 * i);
    }
    if (enables == 0) continue;
    access(static_cast<uint32_t>(word), value, enables);
    for (unsigned i = 0; payload.is_read() && i < 4; ++i) {
      if ((enables >> i & 1) != 0) data[word + i - begin] = static_cast<uint8_t>(value >> (8 * i));
    }
  }
}

}  // namespace spyre::model
