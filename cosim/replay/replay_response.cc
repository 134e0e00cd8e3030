// SPDX-License-Identifier: Apache-2.0
#include "cosim/replay/replay_response.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "model/contract/control_block.h"

namespace spyre::cosim {
namespace {

struct ResponseField {
  const char* name;
  size_t offset;
  size_t bytes;
};
#define SPYRE_FIELD(name) \
  { #name, offsetof(Response, name), sizeof(Response::name) }
constexpr ResponseField kFields[] = {
    SPYRE_FIELD(sequence),
    SPYRE_FIELD(status),
    SPYRE_FIELD(opcode),
    SPYRE_FIELD(stream),
    SPYRE_FIELD(fault_core),
    SPYRE_FIELD(fault_address),
    SPYRE_FIELD(phase),
    SPYRE_FIELD(device_bytes_read),
    SPYRE_FIELD(device_bytes_written),
    SPYRE_FIELD(macs),
    SPYRE_FIELD(correlation),
    SPYRE_FIELD(magic),
    SPYRE_FIELD(version),
};
#undef SPYRE_FIELD

uint64_t Load(const Response& response, const ResponseField& field) {
  uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const uint8_t*>(&response) + field.offset, field.bytes);
  return value;
}

std::string Text(const ResponseField& field, uint64_t value) {
  switch (field.offset) {
    case offsetof(Response, status):
      return StatusName(static_cast<Status>(value));
    case offsetof(Response, opcode):
      return OpcodeName(static_cast<Opcode>(value));
    case offsetof(Response, fault_address):
      return fmt::format("0x{:x}", value);
    default:
      return fmt::format("{}", value);
  }
}

}  // namespace

std::string ResponseText(const Response& response) {
  return fmt::format("sequence {}, {}, {}", response.sequence,
                     OpcodeName(static_cast<Opcode>(response.opcode)),
                     StatusName(static_cast<Status>(response.status)));
}

std::vector<FieldDifference> CompareResponses(const Response& recorded, const Response& replayed,
                                              bool with_phase) {
  std::vector<FieldDifference> differences;
  for (const ResponseField& field : kFields) {
    if (field.offset == offsetof(Response, phase) && !with_phase) continue;
    const uint64_t a = Load(recorded, field);
    const uint64_t b = Load(replayed, field);
    if (a != b) differences.push_back({field.name, Text(field, a), Text(field, b)});
  }
  return differences;
}

FieldDifference CompareOutputs(std::string_view recorded, std::string_view replayed,
                               uint64_t bytes) {
  const auto [a, b] =
      std::mismatch(recorded.begin(), recorded.end(), replayed.begin(), replayed.end());
  if (a == recorded.end() && b == replayed.end()) return {};
  const auto at = static_cast<uint64_t>(a - recorded.begin());
  if (bytes <= kWholeOutputBytes) {
    return {fmt::format("byte {} of {}", at, bytes),
            fmt::format("0x{:02x}", static_cast<uint8_t>(*a)),
            fmt::format("0x{:02x}", static_cast<uint8_t>(*b))};
  }
  const uint64_t page = at / sizeof(uint64_t);
  const auto digest = [&](std::string_view digests) {
    uint64_t value = 0;
    std::memcpy(&value, digests.data() + page * sizeof value, sizeof value);
    return fmt::format("digest {:016x}", value);
  };
  return {fmt::format("bytes {} to {} of {}", page * kPageBytes,
                      std::min((page + 1) * kPageBytes, bytes) - 1, bytes),
          digest(recorded), digest(replayed)};
}

}  // namespace spyre::cosim
