// SPDX-License-Identifier: Apache-2.0
// Where things are in the configuration space, and which bits of it exist, may be written, are
// cleared by writing one, and survive which reset. Used by ConfigSpace; offsets also by tests.
// Names and bit positions are those of the PCI Express base specification and of SR-IOV.
#pragma once

#include <contract/registers.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace spyre::model {

inline constexpr size_t kConfigBytes = 4096;
inline constexpr size_t kConfigDwords = kConfigBytes / 4;

namespace config {

// Type 0 header
inline constexpr uint32_t kId = 0x00;
inline constexpr uint32_t kCommandStatus = 0x04;
inline constexpr uint32_t kCommandMemory = 1u << 1;
inline constexpr uint32_t kCommandBusMaster = 1u << 2;
inline constexpr uint32_t kCommandParity = 1u << 6;         // answer to damaged data
inline constexpr uint32_t kMasterDataParity = 1u << 24;     // a read of ours brought damaged data
inline constexpr uint32_t kReceivedTargetAbort = 1u << 28;  // a request of ours was aborted
inline constexpr uint32_t kReceivedMasterAbort = 1u << 29;  // a request of ours had no taker
inline constexpr uint32_t kDetectedParity = 1u
                                            << 31;  // damaged data came, in a request or an answer
inline constexpr uint32_t kClassRevision = 0x08;
inline constexpr uint32_t kBar0 = 0x10;
inline constexpr uint32_t kSubsystemId = 0x2C;
inline constexpr uint32_t kCapabilityPointer = 0x34;
inline constexpr uint32_t kInterruptLine = 0x3C;

inline constexpr uint32_t kPower = 0x40;
inline constexpr uint32_t kPowerControl = kPower + 0x04;

inline constexpr uint32_t kMsi = 0x50;  // control in the upper half
inline constexpr uint32_t kMsiEnable = 1u << 16;
inline constexpr unsigned kMsiMultipleEnableShift = 20;
inline constexpr uint32_t kMsiAddressLow = kMsi + 0x04;
inline constexpr uint32_t kMsiAddressHigh = kMsi + 0x08;
inline constexpr uint32_t kMsiData = kMsi + 0x0C;
inline constexpr uint32_t kMsiMask = kMsi + 0x10;
inline constexpr uint32_t kMsiPending = kMsi + 0x14;

inline constexpr uint32_t kExpress = 0x70;
inline constexpr uint32_t kDeviceCapabilities = kExpress + 0x04;
inline constexpr uint32_t kDeviceControl = kExpress + 0x08;  // status in the upper half
inline constexpr uint32_t kInitiateFlr = 1u << 15;
inline constexpr uint32_t kCorrectableDetected = 1u << 16;
inline constexpr uint32_t kNonFatalDetected = 1u << 17;
inline constexpr uint32_t kFatalDetected = 1u << 18;
inline constexpr uint32_t kUnsupportedDetected = 1u << 19;
inline constexpr uint32_t kTransactionsPending = 1u << 21;
inline constexpr unsigned kPayloadShift = 5;
inline constexpr unsigned kReadRequestShift = 12;
inline constexpr uint32_t kLinkCapabilities = kExpress + 0x0C;
inline constexpr uint32_t kLinkControl = kExpress + 0x10;
inline constexpr uint32_t kDeviceCapabilities2 = kExpress + 0x24;
inline constexpr uint32_t kDeviceControl2 = kExpress + 0x28;
inline constexpr uint32_t kCompletionTimeoutOff = 1u << 4;
inline constexpr uint32_t kLinkCapabilities2 = kExpress + 0x2C;
inline constexpr uint32_t kLinkControl2 = kExpress + 0x30;

inline constexpr uint32_t kVpd = 0xB0;  // PF; address and flag in the upper half
inline constexpr uint32_t kVpdDone = 1u << 31;
inline constexpr uint32_t kVpdData = kVpd + 0x04;

inline constexpr uint32_t kAer = 0x100;
inline constexpr uint32_t kUncorrectableStatus = kAer + 0x04;
inline constexpr uint32_t kPoisoned = 1u << 12;
inline constexpr uint32_t kCompletionTimeout = 1u << 14;
inline constexpr uint32_t kMalformed = 1u << 18;
inline constexpr uint32_t kUnsupportedRequest = 1u << 20;
inline constexpr uint32_t kUncorrectableMask = kAer + 0x08;
inline constexpr uint32_t kUncorrectableSeverity = kAer + 0x0C;
inline constexpr uint32_t kCorrectableStatus = kAer + 0x10;
inline constexpr uint32_t kReceiverError = 1u << 0;
inline constexpr uint32_t kAdvisoryNonFatal = 1u << 13;
inline constexpr uint32_t kCorrectableMask = kAer + 0x14;
inline constexpr uint32_t kAerControl = kAer + 0x18;
inline constexpr uint32_t kHeaderLog = kAer + 0x1C;  // four words

inline constexpr uint32_t kAri = 0x150;

inline constexpr uint32_t kSriov = 0x160;
inline constexpr uint32_t kSriovControl = kSriov + 0x08;
inline constexpr uint32_t kVfEnable = 1u << 0;
inline constexpr uint32_t kVfMemoryEnable = 1u << 3;
inline constexpr uint32_t kVfCounts = kSriov + 0x0C;  // InitialVFs, TotalVFs
inline constexpr uint32_t kNumVfs = kSriov + 0x10;
inline constexpr uint32_t kVfOffsetStride = kSriov + 0x14;
inline constexpr uint32_t kVfDeviceId = kSriov + 0x18;  // in the upper half
inline constexpr uint32_t kSupportedPageSizes = kSriov + 0x1C;
inline constexpr uint32_t kSystemPageSize = kSriov + 0x20;
inline constexpr uint32_t kVfBar0 = kSriov + 0x24;

}  // namespace config

// Views of the space, one 32-bit word each.
struct ConfigLayout {
  std::array<uint32_t, kConfigDwords> reset{};
  std::array<uint32_t, kConfigDwords> writable{};
  std::array<uint32_t, kConfigDwords> clear{};     // write one to clear
  std::array<uint32_t, kConfigDwords> sticky{};    // survives every reset but that of power-on
  std::array<uint32_t, kConfigDwords> flr_kept{};  // of the link: survives a function-level reset
};

// What the card and its link can do, and does.
struct PcieAbility {
  uint32_t generation = 5;  // 3: 8 GT/s, 4: 16 GT/s, 5: 32 GT/s
  uint32_t lanes = 16;
  uint32_t total_vfs = kTotalVfs;          // that answer
  uint32_t max_payload_bytes = 512;        // 128 to 4,096, a power of two
  uint32_t max_read_request_bytes = 4096;  // set when the host starts; 128 to 4,096
};

ConfigLayout PhysicalConfigLayout(const PcieAbility& ability = {});
ConfigLayout VirtualConfigLayout(const PcieAbility& ability = {});

}  // namespace spyre::model
