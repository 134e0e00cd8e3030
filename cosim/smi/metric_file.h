// SPDX-License-Identifier: Apache-2.0
// Metric files in the public binary format of the card's runtime ("AiuM", version 1.0), which the
// card's public tools read. Little-endian; everything lies on multiples of 8 bytes:
//
//   header    "AiuM", u32 bytes of the file, u8[4] version, u32 sections, u64 ms, u64 0,
//             then u32 type, u32 bytes of each section
//   section   u32 type, u32 bytes, u32 number of the reading, u32 metrics, u64 ms, u32 interval in
//             ms, u32 0, then u32 metric, u32 words of each, then the words, u64
//
// While a file is being changed its first byte is '!'. Bytes are cumulative, in KiB. What the
// public description leaves open, and how it is read here, is in docs/telemetry.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/input_guard.h"
#include "cosim/smi/reading.h"

namespace spyre::cosim {

// The bytes of a file: reading number `number`, from 0, of a series with this interval; power is
// the mean since `before`.
std::vector<uint8_t> MetricBytes(const SmiReading& before, const SmiReading& now, uint32_t number,
                                 uint64_t interval_ps);

// A file that is there for whoever watches it, and always the latest reading. Single thread.
class MetricFile {
 public:
  // "%BUSID" in the path becomes the PCI address that the card's dumps have. Throws
  // Error(kBadInput) if it cannot be made.
  explicit MetricFile(const std::string& path);
  ~MetricFile();
  MetricFile(const MetricFile&) = delete;
  MetricFile& operator=(const MetricFile&) = delete;

  void Write(const std::vector<uint8_t>& bytes);

 private:
  void WriteAt(const uint8_t* bytes, size_t size, size_t offset) const;

  std::string path_;
  std::optional<OutputClaim> claim_;
  int file_ = -1;
};

}  // namespace spyre::cosim
