// SPDX-License-Identifier: Apache-2.0
// Transport: the interface between the driver and a card, be it the model in this process, a model
// in another process, or a real card through VFIO. Everything a driver can do to a card is here.
//
// Threads: implementations serialise calls; any thread may call. Blocking: only WaitInterrupt waits
// for the card. Time is the card's simulated time in picoseconds; it moves only inside these calls.
// Errors: a lost or hung card throws spyre::Error(kDeviceFault); a bad argument throws
// Error(kBadInput).
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>

namespace spyre::driver {

using FunctionId = uint16_t;  // 0 the physical function, n virtual function n
using IoAddress = uint64_t;   // IO virtual address: what the card uses to reach host memory

enum class WaitResult {
  kInterrupt,  // the vector fired (or had fired since the last wait)
  kDeadline,   // the deadline passed first
  kStalled,    // nothing is left to happen in the card: no interrupt can come. Diagnose() says who
               // waits
};

// What host memory that the card is to reach has to keep to.
struct DmaRules {
  // What a mapping is made of: the card reaches whole pages around the memory. A power of two.
  uint64_t page_bytes = 1;
  unsigned address_bits = 64;  // that IO addresses have
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual uint32_t ConfigRead(FunctionId function,
                              uint32_t offset) = 0;  // offset a multiple of 4, below 4096
  virtual void ConfigWrite(FunctionId function, uint32_t offset, uint32_t value) = 0;

  virtual uint32_t Read32(FunctionId function, int bar, uint64_t offset) = 0;  // a round trip
  // Posted. What the caller stored to mapped host memory before is visible to the card before the
  // write arrives.
  virtual void Write32(FunctionId function, int bar, uint64_t offset, uint32_t value) = 0;

  // Starts a function-level reset. The default uses Initiate FLR in the PCI Express capability; the
  // function is ready some time later. DeviceFault if the function has no such reset.
  virtual void Reset(FunctionId function);
  // Switches SR-IOV off and, if count is not 0, on again with `count` virtual functions, of which
  // there are so many. The default uses the SR-IOV capability of function 0; a kernel that owns
  // that has its own way. DeviceFault if function 0 has no SR-IOV.
  virtual void EnableVirtualFunctions(int count);

  // Resets the whole card, as the port above it does by taking its link down for a moment: every
  // function is as after power-on, and ready some time later. BadInput if this way to the card
  // cannot, which is the default.
  virtual void HotReset();

  virtual DmaRules dma_rules() const { return {}; }
  // Makes [host, host + size) reachable for the function's DMA until Unmap. The memory stays the
  // caller's and must outlive the mapping.
  virtual IoAddress MapHost(FunctionId function, void* host, size_t size) = 0;
  virtual void UnmapHost(FunctionId function, IoAddress address) = 0;

  // Of a card that others of the same host can reach: where on the bus its memory window (BAR2)
  // belongs, as the platform has planned it; 0: nowhere.
  virtual IoAddress PeerWindow() const { return 0; }
  // Makes [offset, offset + size) of the memory window of card `peer` reachable for the function's
  // DMA until UnmapPeer. Cards are numbered as the platform has them. BadInput, which is the
  // default, if this way to the card has no such peer.
  virtual IoAddress MapPeer(FunctionId function, unsigned peer, uint64_t offset, uint64_t size);
  virtual void UnmapPeer(FunctionId function, IoAddress address);

  // Waits until MSI `vector` of the function has fired since the last call, at most until time
  // `deadline_ps`.
  virtual WaitResult WaitInterrupt(FunctionId function, int vector, uint64_t deadline_ps) = 0;

  virtual uint64_t NowPs() = 0;
  virtual void Advance(
      uint64_t host_ps) = 0;           // charges host work: simulated time moves on by this much
  virtual std::string Diagnose() = 0;  // who waits on what, one line each; for error messages

 private:
  friend class FunctionClaim;
  std::mutex claims_mutex_;
  std::set<FunctionId> claims_;  // functions that a Device has open
};

// Keeps a function for one opener: two that program the rings of one function would take each
// other's responses. BadInput if the function is open already, by way of this transport.
class FunctionClaim {
 public:
  FunctionClaim(Transport& transport, FunctionId function);
  ~FunctionClaim();
  FunctionClaim(const FunctionClaim&) = delete;
  FunctionClaim& operator=(const FunctionClaim&) = delete;

 private:
  Transport& transport_;
  FunctionId function_;
};

}  // namespace spyre::driver
