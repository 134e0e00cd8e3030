// SPDX-License-Identifier: Apache-2.0
#include "model/pcie/vpd_image.h"

#include <numeric>
#include <string>
#include <string_view>

namespace spyre::model {

namespace {

constexpr uint8_t kIdentifier = 0x82, kReadOnly = 0x90;  // large resources
constexpr uint8_t kEnd = 0x78;
constexpr size_t kWordBytes = 4;
constexpr std::string_view kName = "IBM Spyre Accelerator, simulated";

void Append(std::vector<uint8_t>& bytes, std::string_view text) {
  bytes.insert(bytes.end(), text.begin(), text.end());
}

void BeginResource(std::vector<uint8_t>& bytes, uint8_t tag, size_t length) {
  bytes.push_back(tag);
  bytes.push_back(static_cast<uint8_t>(length));
  bytes.push_back(static_cast<uint8_t>(length >> 8));
}

std::string Field(std::string_view keyword, std::string_view value) {
  std::string field(keyword);
  field += static_cast<char>(value.size());
  field += value;
  return field;
}

}  // namespace

std::vector<uint8_t> VpdImage(const VpdConfig& config) {
  const std::string fields = Field("PN", config.part_number) + Field("SN", config.serial_number) +
                             Field("MN", "1014") + "RV" + '\x01';
  std::vector<uint8_t> bytes;
  BeginResource(bytes, kIdentifier, kName.size());
  Append(bytes, kName);
  BeginResource(bytes, kReadOnly, fields.size() + 1);  // and the checksum
  Append(bytes, fields);
  bytes.push_back(static_cast<uint8_t>(-std::accumulate(bytes.begin(), bytes.end(), 0)));
  bytes.push_back(kEnd);
  bytes.resize((bytes.size() + kWordBytes - 1) / kWordBytes * kWordBytes);
  return bytes;
}

}  // namespace spyre::model
