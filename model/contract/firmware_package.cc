// SPDX-License-Identifier: Apache-2.0
#include "model/contract/firmware_package.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "model/contract/control_block.h"

namespace spyre {
namespace {

uint32_t HeaderCrc(const FirmwareHeader& header) {
  return Crc32c(&header, offsetof(FirmwareHeader, crc));
}

UpdateStatus CheckHeader(const FirmwareHeader& header) {
  if (header.magic != kFirmwareMagic) return UpdateStatus::BAD_MAGIC;
  if (header.header_version != kFirmwareHeaderVersion) return UpdateStatus::BAD_HEADER_VERSION;
  if (header.crc != HeaderCrc(header)) return UpdateStatus::BAD_HEADER_CRC;
  const bool reserved_zero = std::all_of(std::begin(header.reserved0), std::end(header.reserved0),
                                         [](uint32_t word) { return word == 0; });
  if (!reserved_zero) return UpdateStatus::BAD_FIELD;
  if (header.target != kFirmwareTargetRv32im) return UpdateStatus::BAD_TARGET;
  if (header.minimum_spec > kSpecVersion) return UpdateStatus::BAD_HARDWARE;
  return UpdateStatus::DONE;
}

// Differences, never sums: those could be beyond 32 bits.
UpdateStatus CheckPlace(const FirmwareHeader& header) {
  const uint32_t bytes = header.payload_bytes;
  if (bytes == 0 || bytes % 4 != 0 || bytes > kControllerSramBytes) return UpdateStatus::BAD_LENGTH;
  const uint32_t load = header.load_address;
  if (load % 4 != 0 || load < kControllerSramBase ||
      load - kControllerSramBase > kControllerSramBytes - bytes) {
    return UpdateStatus::BAD_LOAD;
  }
  if (header.entry % 4 != 0 || header.entry < load || header.entry - load >= bytes)
    return UpdateStatus::BAD_ENTRY;
  return UpdateStatus::DONE;
}

}  // namespace

PackageVersion ParsePackageVersion(const std::string& text) {
  const auto bad = [&text] {
    return BadInput("\"{}\" is not a version: three numbers, as in 1.2.3, up to 255.255.65535",
                    text)
        .Subject("version")
        .Value(text)
        .Remedy("three numbers, as in 1.2.3");
  };
  constexpr uint32_t kLimits[] = {0xFF, 0xFF, 0xFFFF};
  uint32_t numbers[3] = {};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int i = 0; i < 3; ++i) {
    if (i > 0 && (at == end || *at++ != '.')) throw bad();
    const auto [next, error] = std::from_chars(at, end, numbers[i]);
    if (error != std::errc() || numbers[i] > kLimits[i]) throw bad();
    at = next;
  }
  if (at != end) throw bad();
  return {static_cast<uint8_t>(numbers[0]), static_cast<uint8_t>(numbers[1]),
          static_cast<uint16_t>(numbers[2])};
}

std::string VersionText(const FirmwareHeader& header) {
  return fmt::format("{}.{}.{}", header.version_major, header.version_minor, header.version_patch);
}

std::vector<uint8_t> PackFirmware(const FirmwareProgram& program, const PackageVersion& version) {
  std::vector<uint8_t> payload = program.payload;
  payload.resize((payload.size() + 3) / 4 * 4);
  FirmwareHeader header;
  header.magic = kFirmwareMagic;
  header.header_version = kFirmwareHeaderVersion;
  header.target = kFirmwareTargetRv32im;
  header.version_major = version.major;
  header.version_minor = version.minor;
  header.version_patch = version.patch;
  header.minimum_spec = kSpecVersion;
  header.payload_bytes = static_cast<uint32_t>(payload.size());
  header.load_address = program.load_address;
  header.entry = program.entry;
  header.payload_crc = Crc32c(payload.data(), payload.size());
  header.build_id = FirmwareBuildId(payload.data(), payload.size());
  header.crc = HeaderCrc(header);
  std::vector<uint8_t> image(sizeof(header) + payload.size());
  std::memcpy(image.data(), &header, sizeof(header));
  std::copy(payload.begin(), payload.end(), image.begin() + sizeof(header));
  const UpdateStatus status = CheckFirmware(image.data(), image.size());
  if (status != UpdateStatus::DONE) {
    throw BadInput(
        "a program of {} bytes at 0x{:08x} with entry 0x{:08x} is not firmware for the card: {} "
        "({}); it has 1 to {} bytes in the SRAM at 0x{:08x}",
        payload.size(), program.load_address, program.entry, Describe(status).description,
        Describe(status).name, kControllerSramBytes, kControllerSramBase);
  }
  return image;
}

UpdateStatus CheckFirmware(const uint8_t* image, size_t bytes, FirmwareHeader* header) {
  FirmwareHeader read;
  const bool has_header = bytes >= sizeof(read);
  if (has_header) std::memcpy(static_cast<void*>(&read), image, sizeof(read));
  if (header != nullptr) *header = read;
  if (!has_header) return UpdateStatus::BAD_LENGTH;
  UpdateStatus status = CheckHeader(read);
  if (status == UpdateStatus::DONE) status = CheckPlace(read);
  if (status != UpdateStatus::DONE) return status;
  if (bytes - sizeof(read) != read.payload_bytes) return UpdateStatus::BAD_LENGTH;
  const uint8_t* const payload = image + sizeof(read);
  if (Crc32c(payload, read.payload_bytes) != read.payload_crc) return UpdateStatus::BAD_PAYLOAD_CRC;
  if (FirmwareBuildId(payload, read.payload_bytes) != read.build_id) return UpdateStatus::BAD_BUILD;
  return UpdateStatus::DONE;
}

FirmwareProgram UnpackFirmware(const std::vector<uint8_t>& image) {
  FirmwareHeader header;
  std::memcpy(static_cast<void*>(&header), image.data(), sizeof(header));
  return {header.load_address, header.entry, {image.begin() + sizeof(header), image.end()}};
}

uint64_t FirmwareBuildId(const uint8_t* payload, size_t bytes) {
  uint64_t hash = 0xCBF29CE484222325;  // offset basis and prime of FNV-1a
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ payload[i]) * 0x100000001B3;
  return hash;
}

const EnumName<UpdateStatus>& Describe(UpdateStatus status) {
  static constexpr EnumName<UpdateStatus> kUnknown{UpdateStatus::DONE, "UNDEFINED",
                                                   "An outcome that this program does not know"};
  for (const EnumName<UpdateStatus>& entry : kUpdateStatusNames) {
    if (entry.value == status) return entry;
  }
  return kUnknown;
}

}  // namespace spyre
