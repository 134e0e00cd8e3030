// SPDX-License-Identifier: Apache-2.0
// One function of a card, opened: identified, enabled, with its rings running. There is one Device
// for each function in use; a second one is refused while the first lives.
//
// Callers: the runtime, tests, bring-up. Threads: calls are serialised by the caller. The transport
// must outlive the Device. Errors: Error(kDeviceFault) when the function is not what it should be
// or does not answer; Error(kBadInput) for options out of range.
#pragma once

#include <contract/registers.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "driver/function_registers.h"
#include "driver/options.h"
#include "driver/queue_pair.h"
#include "driver/transport.h"
#include "model/contract/memory_map.h"

namespace spyre::driver {

struct Identity {
  uint16_t vendor_id = 0;
  uint16_t device_id = 0;
  FunctionId function = 0;
  uint32_t spec_version = 0;
  int cores = 0;
  bool pipelined = false;  // operations of different streams overlap, and may complete out of order
  int partitions = 1;      // programs that may run side by side, each on a part of the cores
  uint64_t memory_bytes = 0;                      // device memory usable by the function
  std::array<uint64_t, kRegions> region_bytes{};  // VF: lengths of its regions, 0 if not assigned
  int regions = 0;                                // VF: regions with a length
};

struct ErrorState {
  bool stopped = false;      // the queue has stopped
  Status code = Status::OK;  // why
};

class Device {
 public:
  // Opens `function`: PCI ids, contract version, memory and bus-master enable, MSI, rings.
  Device(Transport& transport, FunctionId function, const DeviceOptions& options = {});
  ~Device();  // stops the queue, releases the rings
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  bool is_physical() const { return function_ == 0; }
  FunctionId function() const { return function_; }
  const Identity& identity() const { return identity_; }
  const DeviceOptions& options() const { return options_; }
  Transport& transport() { return transport_; }

  QueuePair& queue();  // BadInput after Close

  // Function-level reset, then opens again. Outstanding operations get no response any more; what
  // the PF had mapped is forgotten by the card.
  void Reset();
  void Close();

  ErrorState ReadError();
  uint64_t ReadTimePs();  // the device's clock
  // Reads the region lengths again (the PF may assign regions while a VF is open).
  void RefreshRegions();

  // Makes a user's buffer reachable / unreachable, and charges the host for it.
  IoAddress MapHost(void* host, size_t size);
  void UnmapHost(IoAddress address);
  void Charge(double ns);  // host work
  // The same, as a slice of the trace with that name.
  void ChargeFor(const char* what, double ns, uint64_t bytes);

  FunctionRegisters& registers() { return registers_; }

 private:
  void Open();
  void CheckIds();
  void EnableMsi();
  std::string Subject() const;  // of errors: "function 3"
  void Identify();
  void WaitReady();

  Transport& transport_;
  FunctionId function_;
  FunctionClaim claim_;
  DeviceOptions options_;
  FunctionRegisters registers_;
  Identity identity_;
  std::unique_ptr<QueuePair> queue_;
};

}  // namespace spyre::driver
