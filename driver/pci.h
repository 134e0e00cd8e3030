// SPDX-License-Identifier: Apache-2.0
// PCI configuration space as the driver sees it: standard offsets, and the capability lists.
//
// Callers: Device and PhysicalFunction, on the thread that opens or resets. Errors: a list that
// does not end or leaves configuration space is a device fault. Offsets and bits: PCIe base
// specification.
#pragma once

#include <cstdint>
#include <optional>

#include "driver/transport.h"

namespace spyre::driver {

namespace pci {
inline constexpr uint32_t kVendorDevice = 0x00;
inline constexpr uint32_t kCommandStatus = 0x04;
inline constexpr uint32_t kCommandMemory = 1u << 1;
inline constexpr uint32_t kCommandBusMaster = 1u << 2;
inline constexpr uint32_t kStatusCapabilityList = 1u << 20;  // bit 4 of Status
inline constexpr uint32_t kBar2Low = 0x18;                   // 64 bits
inline constexpr uint32_t kBar2High = 0x1C;
inline constexpr uint32_t kCapabilityPointer = 0x34;
inline constexpr uint8_t kCapabilityVpd = 0x03;
inline constexpr uint8_t kCapabilityMsi = 0x05;
inline constexpr uint8_t kCapabilityPciExpress = 0x10;
inline constexpr uint16_t kExtendedSriov = 0x0010;

// MSI capability: offsets from its start, and bits of its first word.
inline constexpr uint32_t kMsiEnable = 1u << 16;
inline constexpr uint32_t kMsiCapableShift = 17;  // log2 of the vectors the function can use
inline constexpr uint32_t kMsiEnabledShift = 20;  // log2 of the vectors it may use
inline constexpr uint32_t kMsi64Bit = 1u << 23;

// PCI Express capability.
inline constexpr uint32_t kDeviceCapabilities = 0x04;
inline constexpr uint32_t kDeviceCapabilityFlr = 1u << 28;
inline constexpr uint32_t kDeviceControl = 0x08;
inline constexpr uint32_t kInitiateFlr = 1u << 15;

// SR-IOV extended capability.
inline constexpr uint32_t kSriovControl = 0x08;
inline constexpr uint32_t kSriovVfEnable = 1u << 0;
inline constexpr uint32_t kSriovVfMemory = 1u << 3;
inline constexpr uint32_t kSriovInitialTotal = 0x0C;  // TotalVFs in the high half
inline constexpr uint32_t kSriovNumVfs = 0x10;        // low half
}  // namespace pci

// What the driver programs into the MSI capability: address 0xFEE00000 | function << 12, data
// kMsiVectorBase; vector v is then data kMsiVectorBase + v.
inline constexpr uint32_t kMsiAddressBase = 0xFEE00000;
inline constexpr uint32_t kMsiVectorBase = 0x20;
inline constexpr int kVectorResponse = 0;
inline constexpr int kVectorError = 1;
inline constexpr int kVectorAdmin = 2;

// Offset of the capability in configuration space, if the function has it.
std::optional<uint32_t> FindCapability(Transport& transport, FunctionId function, uint8_t id);
std::optional<uint32_t> FindExtendedCapability(Transport& transport, FunctionId function,
                                               uint16_t id);

// What reads of a card give that is not there any more.
inline constexpr uint32_t kNobodyAnswers = 0xFFFFFFFF;
// Throws Error(kDeviceFault) if a register that is never all ones reads as that. what: was being
// done.
void RequirePresent(FunctionId function, uint32_t value, const char* what);

}  // namespace spyre::driver
