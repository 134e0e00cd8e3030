// SPDX-License-Identifier: Apache-2.0
#include "driver/vpd.h"

#include "base/error.h"
#include "driver/pci.h"

namespace spyre::driver {
namespace {

constexpr uint32_t kVpdDone = 1u << 31;  // of the capability's first word: the data are there
constexpr uint32_t kVpdAddressMask = 0x7FFF;
constexpr uint32_t kMostBytes = 1024;  // that a card of this kind has
constexpr int kMostLooks = 1000;

constexpr uint8_t kIdentifier = 0x82, kReadOnly = 0x90, kReadWrite = 0x91;  // large resources
constexpr uint8_t kEnd = 0x78;                                              // small, without data

uint32_t ReadWord(Transport& card, uint32_t capability, uint32_t address) {
  const uint32_t head = card.ConfigRead(0, capability) & 0xFFFF;  // id and next pointer
  card.ConfigWrite(0, capability, head | (address & kVpdAddressMask) << 16);
  for (int look = 0; look < kMostLooks; ++look) {
    const uint32_t state = card.ConfigRead(0, capability);
    RequirePresent(0, state, "reading VPD");
    if ((state & kVpdDone) != 0) return card.ConfigRead(0, capability + 4);
  }
  throw DeviceFault("function 0: VPD at {} was not there after {} looks", address, kMostLooks)
      .Subject("VPD");
}

class Resources {
 public:
  explicit Resources(const std::vector<uint8_t>& bytes) : bytes_(bytes) {}

  uint8_t Byte() {
    if (at_ >= bytes_.size()) Fail("it does not end");
    return bytes_[at_++];
  }
  std::string Text(size_t length) {
    std::string text;
    while (text.size() < length) text += static_cast<char>(Byte());
    return text;
  }
  size_t Length() {
    const size_t low = Byte();
    return low | static_cast<size_t>(Byte()) << 8;
  }
  size_t at() const { return at_; }
  [[noreturn]] void Fail(const char* what) const {
    throw DeviceFault("VPD of function 0, byte {}: {}", at_, what).Subject("VPD");
  }
  // The sum of all bytes up to here.
  uint8_t Sum() const {
    uint8_t sum = 0;
    for (size_t i = 0; i < at_; ++i) sum = static_cast<uint8_t>(sum + bytes_[i]);
    return sum;
  }

 private:
  const std::vector<uint8_t>& bytes_;
  size_t at_ = 0;
};

}  // namespace

Vpd ParseVpd(const std::vector<uint8_t>& bytes) {
  Resources resources(bytes);
  Vpd vpd;
  for (uint8_t tag = resources.Byte(); tag != kEnd; tag = resources.Byte()) {
    if (tag != kIdentifier && tag != kReadOnly && tag != kReadWrite)
      resources.Fail("no resource that VPD has");
    const size_t length = resources.Length();
    const size_t end = resources.at() + length;
    if (tag == kIdentifier) {
      vpd.name = resources.Text(length);
      continue;
    }
    while (resources.at() < end) {
      const std::string keyword = resources.Text(2);
      const size_t bytes_of_field = resources.Byte();
      if (resources.at() + bytes_of_field > end) resources.Fail("a field that its resource cuts");
      if (keyword != "RV") {
        vpd.fields[keyword] = resources.Text(bytes_of_field);
        continue;
      }
      if (bytes_of_field == 0) resources.Fail("a checksum without a byte");
      resources.Byte();
      if (resources.Sum() != 0) resources.Fail("the checksum does not match");
      resources.Text(bytes_of_field - 1);
    }
  }
  return vpd;
}

Vpd ReadVpd(Transport& card) {
  const auto capability = FindCapability(card, 0, pci::kCapabilityVpd);
  if (!capability) throw DeviceFault("function 0 has no VPD capability").Subject("VPD");
  std::vector<uint8_t> bytes;
  // The end is known when it is there: a word at a time, until what there is can be parsed.
  while (bytes.size() < kMostBytes) {
    const uint32_t word = ReadWord(card, *capability, static_cast<uint32_t>(bytes.size()));
    for (unsigned i = 0; i < 4; ++i) bytes.push_back(static_cast<uint8_t>(word >> (8 * i)));
    if (word == 0 && bytes.size() > 4) break;  // behind the end
  }
  return ParseVpd(bytes);
}

}  // namespace spyre::driver
