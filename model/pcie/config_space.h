// SPDX-License-Identifier: Apache-2.0
// The 4 KB PCI configuration space of one function, physical or virtual: identity, BARs, power
// management, MSI, PCI Express, AER, ARI and (PF) SR-IOV. No SystemC, no time.
//
// Owned by the PCIe endpoint and called on the simulation thread. Callbacks run inside the write
// that causes them. Reserved and read-only bits hold; capabilities and their values follow the
// public description of the card (docs/facts.md): Gen5 x16, 512-byte payloads, 4,096-byte read
// requests, 8 MSI vectors, FLR. Settings that platform firmware makes before any driver runs
// (payload and read request size, completion timeout 260-900 ms) are the reset values here.
//
// One deliberate difference to the SR-IOV specification: a VF shows its IDs (1014:06a8) instead of
// FFFF, as every host presents VFs to drivers.
#pragma once

#include <contract/registers.h>

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "model/pcie/config_layout.h"

namespace spyre::model {

// The four words of a request's header, as the Header Log register shows them.
using TlpHeader = std::array<uint32_t, 4>;
// The header of a memory request of the host; bytes > 0.
TlpHeader MemoryRequestHeader(bool write, uint64_t address, uint64_t bytes);

class ConfigSpace {
 public:
  explicit ConfigSpace(const PcieAbility& ability = {});  // the physical function
  // Virtual function `number`, from 1. `physical` must outlive it: BARs, memory enable and transfer
  // sizes of a VF are settings of its PF.
  ConfigSpace(const ConfigSpace& physical, int number);
  ConfigSpace(const ConfigSpace&) = delete;
  ConfigSpace& operator=(const ConfigSpace&) = delete;

  // PF: what its VPD capability shows, a whole number of words. Before the host reads it.
  void SetVpd(std::vector<uint8_t> bytes) { vpd_ = std::move(bytes); }

  // Host side. `offset` is a multiple of 4 below 4096, else throws Error(kBadInput). Bit i of
  // `byte_enables` writes byte i.
  uint32_t Read32(uint32_t offset) const;
  void Write32(uint32_t offset, uint32_t value, unsigned byte_enables = 0xF);

  // Function-level reset was requested. The space has been reset already (sticky bits stay).
  std::function<void()> on_flr;
  std::function<void(int count)> on_vf_enable;  // PF: VFs 1..count exist from now on
  std::function<void()> on_vf_disable;          // PF: no VF exists any more; also before on_flr
  // MSI settings, masks, bus mastering or power state were written: an interrupt held back may now
  // be deliverable.
  std::function<void()> on_msi_change;

  // These two without callbacks.
  void Reset();     // as after power-on: everything, sticky bits too
  void HotReset();  // everything but sticky bits

  bool bus_master_enabled() const;  // may read and write host memory and send MSIs
  bool memory_enabled() const;  // answers in its BARs. VF: the PF's VF enable and VF memory enable
  int max_payload_bytes() const;
  int max_read_request_bytes() const;
  // How long a read of the host waits for its completion, in microseconds; 0: for ever. Of the
  // range that software has chosen, the lower end.
  uint64_t completion_timeout_us() const;

  uint64_t bar_address(int index) const;  // 0, 2 or 4, as assigned; VF: its part of the PF's VF BAR
  uint64_t bar_size(int index) const;     // 0: the function has no such BAR

  bool msi_enabled() const;
  int msi_vectors() const;  // that the host allows: 1, 2, 4 or 8. Vector v is sent as v modulo this
  bool MsiMasked(int vector) const;
  bool MsiPending(int vector) const;
  void SetMsiPending(int vector, bool pending);
  uint64_t msi_address() const;
  uint32_t MsiData(int vector) const;

  bool vf_enabled() const;  // these three: PF only
  int num_vfs() const;
  bool vf_memory_enabled() const;

  // Advanced error reporting: sets status bits as the error logic of the endpoint would. `bits` are
  // those of the Uncorrectable and Correctable Error Status registers; `header` is of the request,
  // null if there is none to show. Errors of which an interrupt message would tell the host are
  // only noted: the model has no root port that would take the message.
  void ReportUncorrectableError(uint32_t bits, const TlpHeader* header = nullptr);
  void ReportCorrectableError(uint32_t bits);
  // A request that this function cannot serve, as role-based error reporting has it: of one that is
  // answered (not `posted`), the error is advisory while its severity is non-fatal.
  void ReportUnsupportedRequest(bool posted, const TlpHeader* header = nullptr);
  void ReportPoisonedRequest(const TlpHeader& header);  // a write whose data are marked as damaged
  // What became of a read of the function.
  void ReportMasterAbort();         // it was answered by "unsupported request"
  void ReportTargetAbort();         // by "completer abort"
  void ReportPoisonedCompletion();  // by data that are marked as damaged
  void ReportCompletionTimeout();   // not at all

 private:
  uint32_t Get(uint32_t offset) const { return values_[offset / 4]; }
  void Set(uint32_t offset, uint32_t value) { values_[offset / 4] = value; }
  void Load(bool keep_sticky, bool keep_link);
  void SetStatus(uint32_t bits) { Set(config::kCommandStatus, Get(config::kCommandStatus) | bits); }
  uint32_t WritableBits(uint32_t offset) const;
  uint32_t Legalize(uint32_t offset, uint32_t old, uint32_t value) const;
  void AfterWrite(uint32_t offset, uint32_t old, uint32_t value);
  void FunctionLevelReset();
  void AnswerVpd();
  bool powered() const;
  uint64_t vf_bar_size() const;
  unsigned VectorBit(int vector) const;

  const PcieAbility ability_;
  const ConfigLayout layout_;
  const ConfigSpace* physical_ = nullptr;  // null for the PF
  int number_ = 0;
  std::array<uint32_t, kConfigDwords> values_{};
  std::vector<uint8_t> vpd_;
};

}  // namespace spyre::model
