// SPDX-License-Identifier: Apache-2.0
#include "model/pcie/link.h"

#include <algorithm>

namespace spyre::model {

namespace {
constexpr uint64_t kPage = 4096;       // no request crosses it
constexpr uint64_t kCreditBytes = 16;  // of one data credit

uint64_t DataCredits(uint64_t bytes) { return (bytes + kCreditBytes - 1) / kCreditBytes; }
uint64_t ToPageEnd(uint64_t address) { return kPage - address % kPage; }
}  // namespace

uint64_t PcieLink::PostedOrder::LeftBefore(uint64_t given_ps) const {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->first <= given_ps) return entry->second;
  }
  return floor_ps_;
}

void PcieLink::PostedOrder::Add(uint64_t given_ps, uint64_t left_ps) {
  auto after = entries_.end();
  while (after != entries_.begin() && std::prev(after)->first > given_ps) {
    --after;
    after->second = std::max(after->second, left_ps);
  }
  if (after != entries_.begin() && std::prev(after)->first == given_ps) {
    std::prev(after)->second = std::max(std::prev(after)->second, left_ps);
    return;
  }
  entries_.insert(after, {given_ps, left_ps});
  if (entries_.size() > kEntries) {
    floor_ps_ = std::max(floor_ps_, entries_.front().second);
    entries_.pop_front();
  }
}

PcieLink::PcieLink(const PcieConfig& config, bool contended, trace::Recorder* recorder)
    : config_(config),
      max_payload_bytes_(config.max_payload_bytes),
      max_read_request_bytes_(config.max_read_request_bytes),
      contended_(contended),
      // 128 of 130 bits are bytes; MT/s are transfers a microsecond.
      bytes_(config.lanes * config.rate_mts * (128 / 8), 130),
      one_way_ps_(config.one_way_ns * 1000),
      credit_return_ps_(config.credit_return_ns * 1000),
      upstream_("pcie.upstream", bytes_, contended, config.host_posted_headers,
                config.host_posted_data, config.host_nonposted_headers),
      downstream_("pcie.downstream", bytes_, contended, config.card_posted_headers,
                  config.card_posted_data, config.card_nonposted_headers),
      host_memory_("host.memory", Clock(config.host_memory_bytes_per_us), contended),
      reads_(config.tags, DataCredits(config.completion_buffer_bytes)) {
  if (recorder == nullptr || !recorder->Wants(trace::kPcie)) return;
  const trace::NameId name = recorder->Intern("packets");
  upstream_.sink = {recorder, trace::kPcie, recorder->AddTrack("pcie", "upstream"), name};
  downstream_.sink = {recorder, trace::kPcie, recorder->AddTrack("pcie", "downstream"), name};
}

// ---------------------------------------------------------------- how transfers are cut

uint64_t PcieLink::WriteShare(uint64_t address, uint64_t bytes) const {
  return std::min({bytes, max_payload_bytes_, ToPageEnd(address)});
}

uint64_t PcieLink::RequestShare(uint64_t address, uint64_t bytes) const {
  return std::min({bytes, max_read_request_bytes_, ToPageEnd(address)});
}

uint64_t PcieLink::CompletionShare(uint64_t address, uint64_t bytes) const {
  const uint64_t most = max_payload_bytes_;
  return bytes <= most ? bytes : most - (address + most) % config_.read_completion_boundary_bytes;
}

// ---------------------------------------------------------------- packets

uint64_t PcieLink::WireBytes(Kind kind, uint64_t address, uint64_t bytes) const {
  // Payload is whole words of 4 bytes, aligned.
  const uint64_t payload =
      kind == Kind::kNonPosted || bytes == 0 ? 0 : (address % 4 + bytes + 3) / 4 * 4;
  const uint64_t header =
      kind == Kind::kCompletion ? config_.completion_header_bytes : config_.header_bytes;
  return config_.framing_bytes + config_.dllp_bytes + header + payload;
}

uint64_t PcieLink::Send(Direction& direction, Kind kind, uint64_t given_ps, uint64_t address,
                        uint64_t bytes) {
  uint64_t start = given_ps;
  if (contended_) {
    start = std::max(start, direction.order.LeftBefore(given_ps));
    if (kind == Kind::kPosted) start = direction.posted.WaitFor(start, DataCredits(bytes));
    if (kind == Kind::kNonPosted) start = direction.nonposted.WaitFor(start, 0);
  }
  const uint64_t left = direction.wire.Reserve(start, WireBytes(kind, address, bytes),
                                               kind == Kind::kNonPosted ? 0 : bytes);
  if (contended_ && kind == Kind::kPosted) direction.order.Add(given_ps, left);
  return left;
}

void PcieLink::Trace(const Direction& direction, uint64_t end_ps, uint64_t wire_bytes,
                     uint64_t bytes, uint64_t flow) const {
  const TraceSink& sink = direction.sink;
  if (sink.recorder == nullptr) return;
  const uint64_t begin = end_ps - std::min(end_ps, bytes_.Edge(wire_bytes));
  sink.recorder->Slice(sink.category, sink.track, sink.name, begin, end_ps, flow, bytes, 0);
}

void PcieLink::Hold(uint64_t at_ps, uint64_t ps) {
  for (Direction* direction : {&upstream_, &downstream_})
    direction->wire.Reserve(at_ps, bytes_.CycleAt(ps));
}

// ---------------------------------------------------------------- the card as requester

PcieLink::Times PcieLink::WriteHost(uint64_t at_ps, uint64_t address, uint64_t bytes,
                                    uint64_t flow) {
  uint64_t left = at_ps, arrived = at_ps;
  uint64_t wire_bytes = 0;
  for (uint64_t offset = 0; offset < bytes;) {
    const uint64_t at = address + offset;
    const uint64_t share = WriteShare(at, bytes - offset);
    left = Send(upstream_, Kind::kPosted, at_ps, at, share);
    arrived = left + one_way_ps_;
    uint64_t drained = 0;
    if (end_ != nullptr) {
      const LinkEnd::WriteTimes times = end_->TakeWrite(arrived, at, share);
      drained = times.room_ps;
      arrived = times.arrived_ps;
    } else {  // the root complex has room again when host memory has taken the packet
      drained = host_memory_.Reserve(arrived, share);
    }
    if (contended_) upstream_.posted.Take(DataCredits(share), drained + credit_return_ps_);
    wire_bytes += WireBytes(Kind::kPosted, at, share);
    offset += share;
  }
  Trace(upstream_, left, wire_bytes, bytes, flow);
  return {arrived, left};
}

uint64_t PcieLink::RequestToHost(uint64_t at_ps, uint64_t address, uint64_t flow) {
  const uint64_t left = Send(upstream_, Kind::kNonPosted, at_ps, address, 0);
  Trace(upstream_, left, WireBytes(Kind::kNonPosted, address, 0), 0, flow);
  const uint64_t here = left + one_way_ps_;
  const uint64_t arrived = end_ == nullptr ? here : end_->TakeRequest(here, address);
  if (contended_) upstream_.nonposted.Take(0, arrived + credit_return_ps_);
  return arrived;
}

PcieLink::Times PcieLink::ReadHost(uint64_t at_ps, uint64_t address, uint64_t bytes,
                                   uint64_t flow) {
  Times times{at_ps, at_ps};
  for (uint64_t offset = 0; offset < bytes;) {
    const uint64_t at = address + offset;
    const uint64_t share = RequestShare(at, bytes - offset);
    const uint64_t tag = contended_ ? reads_.WaitFor(at_ps, DataCredits(share)) : at_ps;
    times.arrived_ps = RequestToHost(tag, at, flow);
    const uint64_t done = CompleteToCard(times.arrived_ps, at, share, flow);
    if (contended_) reads_.Take(DataCredits(share), done);
    times.done_ps = std::max(times.done_ps, done);
    offset += share;
  }
  return times;
}

uint64_t PcieLink::CompleteToCard(uint64_t request_ps, uint64_t address, uint64_t bytes,
                                  uint64_t flow) {
  uint64_t left = request_ps;
  uint64_t wire_bytes = 0;
  for (uint64_t offset = 0; offset < bytes;) {
    const uint64_t at = address + offset;
    const uint64_t share = CompletionShare(at, bytes - offset);
    const uint64_t ready =
        end_ != nullptr ? end_->Answer(request_ps, at, share)
                        : host_memory_.Reserve(request_ps, share) + config_.host_memory_ns * 1000;
    left = Send(downstream_, Kind::kCompletion, ready, at, share);
    wire_bytes += WireBytes(Kind::kCompletion, at, share);
    offset += share;
  }
  Trace(downstream_, left, wire_bytes, bytes, flow);
  return left + one_way_ps_;
}

// ---------------------------------------------------------------- the host as requester

uint64_t PcieLink::WriteCard(uint64_t at_ps, uint64_t address, uint64_t bytes) {
  uint64_t arrived = at_ps;
  for (uint64_t offset = 0; offset < bytes;) {
    const uint64_t at = address + offset;
    const uint64_t share = WriteShare(at, bytes - offset);
    const uint64_t left = Send(downstream_, Kind::kPosted, at_ps, at, share);
    arrived = left + one_way_ps_;
    // The card takes a write as it comes.
    if (contended_) downstream_.posted.Take(DataCredits(share), arrived + credit_return_ps_);
    Trace(downstream_, left, WireBytes(Kind::kPosted, at, share), share, 0);
    offset += share;
  }
  return arrived;
}

uint64_t PcieLink::RequestFromCard(uint64_t at_ps) {
  const uint64_t left = Send(downstream_, Kind::kNonPosted, at_ps, 0, 0);
  const uint64_t arrived = left + one_way_ps_;
  if (contended_) downstream_.nonposted.Take(0, arrived + credit_return_ps_);
  Trace(downstream_, left, WireBytes(Kind::kNonPosted, 0, 0), 0, 0);
  return arrived;
}

uint64_t PcieLink::CompleteToHost(uint64_t ready_ps, uint64_t address, uint64_t bytes) {
  uint64_t left = ready_ps;
  for (uint64_t offset = 0; offset < bytes;) {
    const uint64_t at = address + offset;
    const uint64_t share = CompletionShare(at, bytes - offset);
    left = Send(upstream_, Kind::kCompletion, ready_ps, at, share);
    Trace(upstream_, left, WireBytes(Kind::kCompletion, at, share), share, 0);
    offset += share;
  }
  return left + one_way_ps_;
}

}  // namespace spyre::model
