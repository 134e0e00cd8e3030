// SPDX-License-Identifier: Apache-2.0
// The TLM extension that every payload inside the card carries: who asks, for which job, and
// whether data moves. The initiator owns payload and extension and reuses them once its client has
// heard of the end; after that, targets must not keep pointers to either.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <systemc>
#include <tlm>
#include <vector>

#include "model/common/functional_queue.h"
#include "model/common/path_time.h"
#include "traces/recording/recorder.h"

namespace spyre::model {

// Who waits for the end of a split transaction (split_socket.h).
class TransferClient {
 public:
  // The transaction has ended, with the payload's response status, and takes effect at done_ps, now
  // or later. The payload may be used again.
  virtual void Complete(tlm::tlm_generic_payload& payload, uint64_t done_ps) = 0;

 protected:
  ~TransferClient() = default;
};

// How the requester's bytes lie: all behind each other, or in pieces, which one access may join
// where they follow each other in device memory alone.
struct Pieces {
  uint64_t bytes = 0;  // of a piece, of which the access has whole ones; 0: one piece
  uint64_t stride = 0;

  bool operator==(const Pieces& other) const {
    return bytes == other.bytes && stride == other.stride;
  }
  // From the start of the requester's bytes to byte `offset` of the access.
  uint64_t At(uint64_t offset) const { return bytes == 0 ? offset : offset / bytes * stride; }
  // Calls visit(offset of the access, bytes) for each piece of `total`.
  template <typename Visit>
  void ForEach(uint64_t total, Visit visit) const {
    const uint64_t step = bytes == 0 ? total : bytes;
    for (uint64_t offset = 0; offset < total; offset += step) visit(offset, step);
  }
};

// The answer to a read whose data come from outside of the simulation, from a process that takes
// its own time. Who has been asked keeps it, and fills it in; who reads keeps it, and then reads
// again.
struct LateAnswer {
  bool here = false;
  bool good = false;           // then: the data are there; else the read is refused
  std::vector<uint8_t> data;   // as many bytes as were asked for
  std::function<void()> told;  // called when it is here

  void Come(bool is_good) {
    if (here) return;
    here = true;
    good = is_good;
    if (told) told();
  }
};

// What the initiator says of a transfer.
struct TransferRequest {
  uint16_t function = 0;    // requester: 0 PF, n VF n
  uint16_t stop = 0;        // ring stop of the requester
  uint32_t group = 0;       // multicast: mask of the cores that share this read, 0 unicast
  bool takes_turn = false;  // unicast: it waits for its turn at the memory stop, as multicasts do
  uint64_t flow = 0;        // correlation of the control block
  bool move_data = true;    // false: price the transfer, touch no data
  FunctionalQueue* functional = nullptr;  // moves the data; null: the target does, at the call
  Pieces pieces;                          // of the payload's data
  // Bytes of device memory from the start of this access to that of the next one of a row of
  // accesses; 0: there is none.
  uint64_t spacing = 0;
};

struct Transfer : tlm::tlm_extension<Transfer>, TransferRequest {
  uint16_t port = 0;      // set by the ring: its requester, of which a stop may have several
  bool poisoned = false;  // set by the root complex: a read's data are marked as damaged
  bool peer = false;      // set by the root complex: another card has answered
  // A read that no answer came to, or a damaged one, may be sent again: set by the endpoint. Of a
  // read that is sent again: set by who does.
  bool transient = false;
  // Of a read: set by the root complex if it cannot answer yet, with an incomplete response. When
  // the answer is here, the same read is sent with it, and is answered.
  std::shared_ptr<LateAnswer> late;
  int msi_vector = -1;  // of an MSI: its vector, below the number that the host allows
  TransferClient* client = nullptr;
  BurstTimes times;  // set by the ring and by memory

  // For the next transfer on the ring.
  void Ask(const TransferRequest& request, TransferClient* who) {
    static_cast<TransferRequest&>(*this) = request;
    client = who;
    times = {};
  }

  // Moves data by `work()`, which touches `ranges` of LX, now or in turn; not at all if none move.
  template <typename Work>
  void Move(const LxRanges& ranges, const Work& work) const {
    if (!move_data) return;
    if (functional != nullptr) {
      functional->Push(ranges, work);
    } else {
      work();
    }
  }

  bool unanswered() const { return late != nullptr && !late->here; }

  tlm::tlm_extension_base* clone() const override { return new Transfer(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override {
    *this = static_cast<const Transfer&>(other);
  }
};

// The protocol of sockets inside the card, and from the card to the root complex: the calls of the
// TLM-2.0 base protocol with payloads that carry a Transfer. A type of its own, so that a socket of
// the base protocol, whose payloads carry none, does not bind.
struct TransferProtocol {
  using tlm_payload_type = tlm::tlm_generic_payload;
  using tlm_phase_type = tlm::tlm_phase;
};
inline constexpr unsigned kSocketBits = 32;

// A payload with its Transfer attached, ready for reuse.
class TransferPayload {
 public:
  TransferPayload() { payload_.set_extension(&info); }
  ~TransferPayload() { payload_.clear_extension(&info); }
  TransferPayload(const TransferPayload&) = delete;
  TransferPayload& operator=(const TransferPayload&) = delete;

  tlm::tlm_generic_payload& Prepare(tlm::tlm_command command, uint64_t address, uint8_t* data,
                                    uint64_t bytes) {
    payload_.set_command(command);
    payload_.set_address(address);
    payload_.set_data_ptr(data);
    payload_.set_data_length(static_cast<unsigned>(bytes));
    payload_.set_streaming_width(static_cast<unsigned>(bytes));
    payload_.set_byte_enable_ptr(nullptr);
    payload_.set_dmi_allowed(false);
    payload_.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    return payload_;
  }

  // The payload as it was last prepared.
  const tlm::tlm_generic_payload& Prepared() const { return payload_; }

  Transfer info;

 private:
  tlm::tlm_generic_payload payload_;
};

// Byte i of the payload is part of the access.
inline bool ByteEnabled(const tlm::tlm_generic_payload& payload, uint64_t i) {
  const uint8_t* const enables = payload.get_byte_enable_ptr();
  return enables == nullptr || enables[i % payload.get_byte_enable_length()] == TLM_BYTE_ENABLED;
}
// Between the payload's data and `own`, the target's bytes at its address.
inline void CopyEnabledBytes(const tlm::tlm_generic_payload& payload, uint8_t* own) {
  uint8_t* const data = payload.get_data_ptr();
  for (uint64_t i = 0; i < payload.get_data_length(); ++i) {
    if (ByteEnabled(payload, i))
      (payload.is_read() ? data[i] : own[i]) = payload.is_read() ? own[i] : data[i];
  }
}

// Asked for all the time: the kernel's clock stays at its place, so it is looked up once.
inline uint64_t NowPs() {
  static const sc_core::sc_time& now = sc_core::sc_time_stamp();
  return now.value();
}
inline sc_core::sc_time Ps(uint64_t ps) { return sc_core::sc_time::from_value(ps); }

}  // namespace spyre::model
