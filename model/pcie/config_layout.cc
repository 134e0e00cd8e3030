// SPDX-License-Identifier: Apache-2.0
#include "model/pcie/config_layout.h"

#include <contract/registers.h>

namespace spyre::model {
namespace {

using namespace config;

// The code of a maximum payload or read request size.
uint32_t SizeCode(uint32_t bytes) { return static_cast<uint32_t>(__builtin_ctz(bytes / 128)); }

constexpr uint32_t kPrefetchable64 = 0xC;  // low bits of a BAR: 64-bit, prefetchable memory

// One step per capability, in address order. `physical` tells the two kinds of function apart.
class Builder {
 public:
  Builder(bool physical, const PcieAbility& ability) : physical_(physical), ability_(ability) {
    Header();
    PowerManagement();
    Msi();
    Express();
    if (physical) VitalProductData();
    ErrorReporting();
    Ari();
    if (physical) Sriov();
  }
  const ConfigLayout& layout() const { return layout_; }

 private:
  void Word(uint32_t offset, uint32_t reset, uint32_t writable = 0, uint32_t clear = 0,
            uint32_t sticky = 0, uint32_t flr_kept = 0) {
    layout_.reset[offset / 4] = reset;
    layout_.writable[offset / 4] = writable;
    layout_.clear[offset / 4] = clear;
    layout_.sticky[offset / 4] = sticky;
    layout_.flr_kept[offset / 4] = flr_kept;
  }

  void Bar(uint32_t offset, uint64_t size) {
    const uint64_t address_bits = ~(size - 1);
    Word(offset, kPrefetchable64, static_cast<uint32_t>(address_bits));
    Word(offset + 4, 0, static_cast<uint32_t>(address_bits >> 32));
  }

  void Header() {
    const uint32_t device = physical_ ? kPciPfDeviceId : kPciVfDeviceId;
    Word(kId, device << 16 | kPciVendorId);
    // Command: memory, bus master, parity, SERR, INTx disable. A VF has only the bus master bit.
    // Status: capability list; error bits are cleared by writing one.
    const uint32_t command = physical_ ? 0x0546u : kCommandBusMaster;
    Word(kCommandStatus, 0x00100000, command, 0xF9000000);
    Word(kClassRevision, kPciClassCode << 8 | kPciRevision);
    if (physical_) {
      Bar(kBar0, kBar0Bytes);
      Bar(kBar0 + 8, kBar2Bytes);
      Bar(kBar0 + 16, kBar4Bytes);
    }
    Word(kSubsystemId, device << 16 | kPciVendorId);
    Word(kCapabilityPointer, kPower);
    Word(kInterruptLine, 0, physical_ ? 0xFF : 0);  // no interrupt pin: MSI only
  }

  void PowerManagement() {
    Word(kPower, 0x01 | kMsi << 8 | 0x0003u << 16);  // version 3; D0 and D3hot, no PME
    Word(kPowerControl, 0x8, 0x3);                   // power state; no soft reset on D3hot to D0
  }

  void Msi() {
    // 64-bit address, mask per vector, 8 vectors.
    Word(kMsi, 0x05 | kExpress << 8 | 0x0186u << 16, 0x0071u << 16);
    Word(kMsiAddressLow, 0, 0xFFFFFFFC);
    Word(kMsiAddressHigh, 0, 0xFFFFFFFF);
    Word(kMsiData, 0, 0xFFFF);
    Word(kMsiMask, 0, (1u << kMsiVectors) - 1);
    Word(kMsiPending, 0);
  }

  void Express() {
    Word(kExpress, 0x10 | (physical_ ? kVpd << 8 : 0) | 0x0002u << 16);  // endpoint, version 2
    // Payload, extended tags, role-based errors, FLR.
    const uint32_t payload_size = SizeCode(ability_.max_payload_bytes);
    Word(kDeviceCapabilities, payload_size | 1u << 5 | 1u << 15 | 1u << 28);
    // Error reporting, relaxed order, payload, extended tags, no snoop, read request; error status.
    // Initiate FLR reads 0. A VF has FLR and the status only, the rest is its PF's.
    const uint32_t reset = 1u << 4 | payload_size << kPayloadShift | 1u << 8 | 1u << 11 |
                           SizeCode(ability_.max_read_request_bytes) << kReadRequestShift;
    const uint32_t payload = 7u << kPayloadShift;
    if (physical_) {
      Word(kDeviceControl, reset, 0x79FF, 0x000F0000, 0, payload);
    } else {
      Word(kDeviceControl, 0, 0, 0x000F0000);
    }
    const uint32_t speed = ability_.generation;
    const uint32_t width = ability_.lanes;
    Word(kLinkCapabilities, speed | width << 4 | 2u << 10 | 1u << 22);  // ASPM L1
    const uint32_t link_status = (speed | width << 4 | 1u << 12) << 16;
    Word(kLinkControl, physical_ ? link_status : 0, physical_ ? 0x00C3 : 0, 0, 0, 0x3);
    // Completion timeout in the 260 to 900 ms range and can be disabled; 10-bit tags both ways.
    Word(kDeviceCapabilities2, 0x6 | 1u << 4 | 1u << 16 | 1u << 17);
    Word(kDeviceControl2, physical_ ? 0x9 | 1u << 12 : 0, physical_ ? 0x101F : 0);
    Word(kLinkCapabilities2, (2u << speed) - 2);  // from 2.5 GT/s on, a bit each
    Word(kLinkControl2, physical_ ? speed : 0, physical_ ? 0xF : 0, 0, 0xF);
  }

  // The card takes no writes: what is written to the data word is gone.
  void VitalProductData() {
    Word(kVpd, 0x03, 0xFFFC0000 | kVpdDone);
    Word(kVpdData, 0);
  }

  void ErrorReporting() {
    const uint32_t uncorrectable = 0x0077F030;
    const uint32_t correctable = 0x0000F1C1;
    Word(kAer, 0x0001 | 2u << 16 | kAri << 20);
    Word(kUncorrectableStatus, 0, 0, uncorrectable, uncorrectable);
    Word(kUncorrectableMask, 0, uncorrectable, 0, uncorrectable);
    Word(kUncorrectableSeverity, 0x00462030, uncorrectable, 0, uncorrectable);
    Word(kCorrectableStatus, 0, 0, correctable, correctable);
    Word(kCorrectableMask, 0x00002000, correctable, 0, correctable);
    Word(kAerControl, 0, 0, 0, 0x1F);
    for (uint32_t i = 0; i < 4; ++i) Word(kHeaderLog + 4 * i, 0, 0, 0, 0xFFFFFFFF);
  }

  void Ari() { Word(kAri, 0x000E | 1u << 16 | (physical_ ? kSriov << 20 : 0)); }

  void Sriov() {
    Word(kSriov, 0x0010 | 1u << 16);
    Word(kSriov + 4, 1u << 1 | 1u << 2);  // ARI hierarchy preserved; VFs use 10-bit tags
    Word(kSriovControl, 0, kVfEnable | kVfMemoryEnable | 1u << 4);  // and ARI capable hierarchy
    Word(kVfCounts, ability_.total_vfs | ability_.total_vfs << 16);
    Word(kNumVfs, 0, 0xFFFF);
    Word(kVfOffsetStride, 1 | 1u << 16);
    Word(kVfDeviceId, static_cast<uint32_t>(kPciVfDeviceId) << 16);
    Word(kSupportedPageSizes, 0x553);  // the sizes that the specification demands: 4 KB to 4 MB
    Word(kSystemPageSize, 1, 0x553);
    Bar(kVfBar0, kVfBar0Bytes);
  }

  bool physical_;
  PcieAbility ability_;
  ConfigLayout layout_;
};

}  // namespace

ConfigLayout PhysicalConfigLayout(const PcieAbility& ability) {
  return Builder(true, ability).layout();
}

ConfigLayout VirtualConfigLayout(const PcieAbility& ability) {
  return Builder(false, ability).layout();
}

}  // namespace spyre::model
