// SPDX-License-Identifier: Apache-2.0
// The initiator's end of a split transaction (TLM-2.0 approximately timed, one request and one
// response phase): Send hands a payload to the target and returns; the payload's client hears of
// its end once. The delay of a response says how long after the call it takes effect, so that a
// target can answer as soon as it knows the time. Kernel thread only; Send never blocks.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <algorithm>

#include "model/common/transfer.h"

namespace spyre::model {

class SplitSocket
    : public tlm_utils::simple_initiator_socket<SplitSocket, kSocketBits, TransferProtocol> {
 public:
  explicit SplitSocket(const char* name)
      : simple_initiator_socket<SplitSocket, kSocketBits, TransferProtocol>(name) {
    register_nb_transport_bw(this, &SplitSocket::Respond);
  }

  // The payload arrives `delay` from now and belongs to the target until its client's Complete,
  // which may come before Send returns.
  void Send(tlm::tlm_generic_payload& payload, sc_core::sc_time delay) {
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    if ((*this)->nb_transport_fw(payload, phase, delay) == tlm::TLM_COMPLETED)
      Respond(payload, phase, delay);
  }

 private:
  tlm::tlm_sync_enum Respond(tlm::tlm_generic_payload& payload, tlm::tlm_phase& /*phase*/,
                             sc_core::sc_time& delay) {
    payload.get_extension<Transfer>()->client->Complete(payload, NowPs() + delay.value());
    return tlm::TLM_COMPLETED;
  }
};

// For transactions from a SystemC thread, which then waits for all of them.
class BlockingClient final : public TransferClient {
 public:
  // One more, whose client this is, is about to be sent.
  void Begin() { ++outstanding_; }
  // Returns when all have taken effect; false: a target refused one.
  bool Wait() {
    while (outstanding_ > 0) sc_core::wait(completed_);
    if (done_ps_ > NowPs()) sc_core::wait(Ps(done_ps_ - NowPs()));
    const bool all_ok = all_ok_;
    all_ok_ = true;
    return all_ok;
  }
  // Of the first that a target refused, once Wait has returned false.
  tlm::tlm_response_status refusal() const { return refusal_; }
  void Complete(tlm::tlm_generic_payload& payload, uint64_t done_ps) override {
    if (!payload.is_response_ok() && all_ok_) refusal_ = payload.get_response_status();
    all_ok_ = all_ok_ && payload.is_response_ok();
    done_ps_ = std::max(done_ps_, done_ps);
    if (--outstanding_ == 0) completed_.notify();
  }

 private:
  uint64_t outstanding_ = 0;
  bool all_ok_ = true;
  tlm::tlm_response_status refusal_ = tlm::TLM_OK_RESPONSE;
  uint64_t done_ps_ = 0;
  sc_core::sc_event completed_;
};

}  // namespace spyre::model
