// SPDX-License-Identifier: Apache-2.0
// The control-block processor's RTL (control/control_processor.sv) as a C++ object: transactions
// in, clocks, transactions out. No SystemC: model/control turns clocks into time. What is put in
// counts for the next clock; what comes out is of the last. Functions are 0 PF, n VF n. Must not be
// used by several threads at once. MakeControlRtl (rtl_blocks.h) makes one.
#pragma once

#include <cstdint>
#include <tuple>

#include "model/contract/control_block.h"

namespace spyre::model {

class Waves;

class ControlRtl {
 public:
  // Of what one operation at a time is at work in: the DMA engine for a function, in and out; a
  // part of the cores; the service core. In this order (control_pkg.sv).
  static constexpr unsigned kPorts = 2 * kMaxFunctions + kMaxPartitions + 1;

  struct Settings {
    bool serial = true;
    unsigned compute_ports = 1;  // programs side by side, up to kMaxPartitions
    uint32_t fetch_batch = 1;
    uint64_t decode_ps = 0, dispatch_ps = 0, respond_ps = 0;
  };
  // Clocks that choosing, sealing and posting a response takes; respond_ps must cover them.
  static constexpr uint64_t kRespondClocks = 18;

  ControlRtl() = default;
  virtual ~ControlRtl() = default;
  ControlRtl(const ControlRtl&) = delete;
  ControlRtl& operator=(const ControlRtl&) = delete;

  // One rising edge at now_ps.
  virtual void Clock(uint64_t now_ps) = 0;
  // What the time of the function on an engine counts for others' turns: 65536 / weight; how many
  // of its programs may be at work at once.
  virtual void SetShare(unsigned function, uint32_t cost, unsigned programs) = 0;
  // Nothing will change until something is put in or now_ps reaches wake_ps(); UINT64_MAX: never.
  virtual bool idle() const = 0;
  virtual uint64_t wake_ps() const = 0;

  // --- commands of the registers: one a clock ---
  struct Ring {
    uint64_t submission_base = 0;
    uint32_t submission_entries = 0;
    uint64_t response_base = 0;
    uint32_t response_entries = 0;
    bool enabled = false;
    bool operator==(const Ring& other) const {
      const auto fields = [](const Ring& ring) {
        return std::tie(ring.submission_base, ring.submission_entries, ring.response_base,
                        ring.response_entries, ring.enabled);
      };
      return fields(*this) == fields(other);
    }
  };
  virtual void SetRing(unsigned function, const Ring& ring) = 0;
  virtual void Doorbell(unsigned function, uint32_t tail,
                        uint64_t arrival_ps) = 0;  // if doorbell_ready
  virtual void CancelDoorbell(unsigned function) = 0;
  virtual void ResponsesConsumed(unsigned function, uint32_t head) = 0;
  virtual void ClearError(unsigned function) = 0;
  virtual void Reset(unsigned function) = 0;
  virtual bool doorbell_ready(unsigned function) const = 0;

  // --- what registers show ---
  virtual uint32_t submission_head(unsigned function) const = 0;
  virtual uint32_t response_tail(unsigned function) const = 0;
  virtual Status error(unsigned function) const = 0;
  // Functions, one bit each, whose queue has just stopped, or whose response asks for an interrupt.
  virtual uint32_t errors_raised() const = 0;
  virtual uint32_t responses_raised() const = 0;

  // --- host memory ---
  struct Read {
    unsigned function;
    uint64_t address;
    uint32_t entries;
  };
  virtual bool TakeRead(Read* read) const = 0;       // false: none
  virtual void PresentEntry(const void* entry) = 0;  // null: no more; stays until changed
  virtual void FailRead() = 0;
  // The host does not answer now: the block goes on with other functions, and asks again when the
  // function is not silent any more.
  virtual void PutReadAside() = 0;
  virtual void SetSilent(uint32_t functions) = 0;  // one bit each; stays until changed
  virtual bool entry_next() const = 0;             // the next entry, please
  virtual bool entries_drop() const = 0;           // nor that nor any other
  struct Write {
    unsigned function;
    uint64_t address;
    Response response;
  };
  virtual bool TakeWrite(Write* write) const = 0;
  virtual void EndWrite(bool accepted) = 0;

  // --- management controller: translates the entry that is present ---
  virtual bool message() const = 0;
  virtual void AnswerMessage(Status status, uint64_t fault, const ControlBlock& block) = 0;

  // --- engines ---
  struct Node {  // of a held operation
    unsigned function;
    unsigned slot;
  };
  struct Taken {
    Node node;
    unsigned port;  // kPorts: none, the operation ends here
    ControlBlock block;
  };
  // An operation leaves those that wait: for an engine, where it starts later, once.
  virtual bool TakeOperation(Taken* taken) const = 0;
  struct Started {
    unsigned port;
    bool aborted;  // its function was reset meanwhile
  };
  virtual bool TakeStart(Started* started) const = 0;
  // status, fault and counters of it; one a clock
  virtual void EndOperation(unsigned port, const Response& outcome) = 0;

  // --- for observers: an operation was accepted, from the entry that was present ---
  virtual bool accepted(Node* node) const = 0;

  // A declared fault: a bit of the state changes that `seed` chooses, of the table of held
  // operations or of the registers of a queue.
  virtual void FlipBit(uint64_t seed) = 0;

  // Dumps both edges of every clock from now on; the falling one comes half of `period_ps` after
  // the rising one. Null: no more.
  virtual void SetWaves(Waves* waves, uint64_t period_ps) = 0;
};

}  // namespace spyre::model
