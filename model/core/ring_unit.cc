// SPDX-License-Identifier: Apache-2.0
#include "model/core/units.h"
#include "model/ring/ring.h"

namespace spyre::model {

uint64_t RingUnit::Execute(const Instruction& in) {
  const uint64_t start = local_ps();
  switch (in.op) {
    case Op::kSend: {
      const uint64_t done = Send(in);
      Account(in, start, done, reg(in, 3));
      return done;
    }
    case Op::kBarrier: {
      const auto mask = static_cast<uint32_t>(reg(in, 0));
      const unsigned position = core_.PositionIn(job());
      if ((mask >> position & 1) == 0) throw UnitFault{Status::ILLEGAL_INSTRUCTION, mask};
      Sync();
      const uint64_t arrived = NowPs();
      const trace::TrackId last =
          job().fabric->Arrive(position, track(), mask, reg(in, 1), job(), path_);
      CheckAborted();
      AccountWait(Loss::kBarrierWait, arrived, NowPs(), last);
      Spend(Cause::kBarrier);
      Advance(config_.core.barrier_cycles);
      if (job().program->generated_loops) Advance(config_.core.step_start_cycles);
      Spend(Cause::kBarrier);
      Account(in, start, local_ps(), 0);
      return local_ps();
    }
    case Op::kMark: {
      Sync();  // whoever is told reads the clock
      job().step_path = path_;
      if (job().on_step) job().on_step(static_cast<uint32_t>(in.imm), reg(in, 0));
      Advance(1);
      return local_ps();
    }
    default:
      throw UnitFault{Status::ILLEGAL_INSTRUCTION, 0};
  }
}

uint64_t RingUnit::Send(const Instruction& in) {
  Core* const peer = core_.peer(job().first_core + reg(in, 0));
  const uint64_t bytes = Count(in, 3, kLxBytes);
  const uint64_t token = Count(in, 4, kTokens - 1);
  if (peer == nullptr || !peer->Runs(job()))
    throw UnitFault{Status::ILLEGAL_INSTRUCTION, reg(in, 0)};
  uint64_t done = local_ps();
  if (bytes > 0) {
    // Higher bits of a ring address name the core.
    if (reg(in, 1) >> 32 != 0) throw UnitFault{Status::LX_OVERFLOW, reg(in, 1)};
    uint8_t* const data = core_.Lx(reg(in, 2), bytes);
    Sync();
    const uint64_t now = NowPs();
    payload_.info.function = job().function;
    payload_.info.stop = static_cast<uint16_t>(core_.index());
    payload_.info.flow = job().flow;
    payload_.info.functional = job().functional;
    payload_.info.move_data = payload_.info.functional != nullptr;
    auto& payload = payload_.Prepare(tlm::TLM_WRITE_COMMAND,
                                     Ring::PeerAddress(peer->index(), reg(in, 1)), data, bytes);
    const uint64_t from_lx_ps = core_.lx_port().Burst(now, bytes);
    sc_core::sc_time delay = Ps(from_lx_ps - now);
    core_.ring_socket.SendAside(payload, delay);
    if (payload.get_response_status() == tlm::TLM_BURST_ERROR_RESPONSE)
      throw UnitFault{Status::RING_FAULT, Ring::PeerAddress(peer->index(), reg(in, 1))};
    if (payload.get_response_status() != tlm::TLM_OK_RESPONSE)
      throw UnitFault{Status::LX_OVERFLOW, reg(in, 1)};
    done = now + delay.value();
    if (follows_paths()) {
      path_.Until(from_lx_ps, Cause::kLxPort);
      path_.Until(done, Cause::kPartialSums);
    }
    AdvanceTo(done);
  }
  if (token != 0) {
    peer->GiveTokenAt(After(done, config_.core.token_cycles), static_cast<unsigned>(token), track(),
                      follows_paths() ? &path_ : nullptr);
  }
  return done;
}

}  // namespace spyre::model
