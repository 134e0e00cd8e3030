// SPDX-License-Identifier: Apache-2.0
// The PCIe link in time: packets each way with their headers and framing, flow-control credits,
// tags, the order of packets, and host memory behind it. No data and no SystemC: who calls says
// when, and learns when; later packets are taken into account only as far as they have been asked
// for. PcieEndpoint is the only caller. Kernel thread only; times are picoseconds.
//
// Rules (PCI Express base specification): writes are posted, at most the max payload and never
// across 4 KiB; reads are requests of at most the max read request and never across 4 KiB, answered
// by completions of at most the max payload that end on read-completion boundaries; nothing
// overtakes a posted write that was given earlier, posted writes overtake the rest. Arithmetic of
// the sustained rates: docs/timing.md.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "model/common/card_config.h"
#include "model/common/clock.h"
#include "model/common/resource.h"
#include "model/pcie/credits.h"

namespace spyre::model {

// What the card's link ends at where that is not a root complex: a port of a switch
// (model/pcie_switch). Times are picoseconds at that end. Kernel thread only.
class LinkEnd {
 public:
  struct WriteTimes {
    uint64_t room_ps;     // there is room for another packet of its size
    uint64_t arrived_ps;  // it is where it goes
  };
  // One packet of a write, which reaches this end at `at_ps`.
  virtual WriteTimes TakeWrite(uint64_t at_ps, uint64_t address, uint64_t bytes) = 0;
  // A read request that reaches this end at `at_ps`: when it is at whoever answers it.
  virtual uint64_t TakeRequest(uint64_t at_ps, uint64_t address) = 0;
  // Of such a request, which was at whoever answers it at `request_ps`, one completion: when it is
  // ready to leave this end for the card.
  virtual uint64_t Answer(uint64_t request_ps, uint64_t address, uint64_t bytes) = 0;

 protected:
  ~LinkEnd() = default;
};

class PcieLink {
 public:
  // contended: false leaves the latencies and takes away waiting for wires, credits and tags.
  PcieLink(const PcieConfig& config, bool contended, trace::Recorder* recorder);

  // The values that software has set; at first those of `config`. Powers of two from 128 to 4,096.
  void SetSizes(uint64_t max_payload_bytes, uint64_t max_read_request_bytes) {
    max_payload_bytes_ = max_payload_bytes;
    max_read_request_bytes_ = max_read_request_bytes;
  }

  // Instead of a root complex with host memory, from now on; it must outlive the link's use.
  void EndAt(LinkEnd* end) { end_ = end; }

  struct Times {
    uint64_t arrived_ps;  // the last packet of the card is at the host
    uint64_t done_ps;     // for the card: a write's last packet has left, a read's data are here
  };
  // The card reads or writes [address, +bytes) of host memory, from `at_ps` on. bytes > 0.
  Times ReadHost(uint64_t at_ps, uint64_t address, uint64_t bytes, uint64_t flow);
  Times WriteHost(uint64_t at_ps, uint64_t address, uint64_t bytes, uint64_t flow);

  // The two steps of a read of one request, for a switch, whose link to the host this is, and whose
  // requesters keep their tags: when the request is at the host; and, of data that it asked for at
  // `request_ps`, when the last completion is back.
  uint64_t RequestToHost(uint64_t at_ps, uint64_t address, uint64_t flow);
  uint64_t CompleteToCard(uint64_t request_ps, uint64_t address, uint64_t bytes, uint64_t flow);

  // The host writes to the card: when the last packet is there.
  uint64_t WriteCard(uint64_t at_ps, uint64_t address, uint64_t bytes);
  // The host reads from the card: when the request is there, and, for data that are ready at
  // `ready_ps`, when the last completion is at the host.
  uint64_t RequestFromCard(uint64_t at_ps);
  uint64_t CompleteToHost(uint64_t ready_ps, uint64_t address, uint64_t bytes);

  // Nothing passes for `ps`, from `at_ps` on or from when the link is free: it trains again.
  void Hold(uint64_t at_ps, uint64_t ps);

  uint64_t one_way_ps() const { return one_way_ps_; }
  std::vector<UnitStatistics> Statistics() const {
    return {upstream_.wire.statistics(), downstream_.wire.statistics()};
  }

 private:
  enum class Kind { kPosted, kNonPosted, kCompletion };

  // The posted writes of one direction: when everything given up to a time has left.
  class PostedOrder {
   public:
    uint64_t LeftBefore(uint64_t given_ps) const;
    void Add(uint64_t given_ps, uint64_t left_ps);

   private:
    static constexpr size_t kEntries = 64;
    uint64_t floor_ps_ = 0;                              // of those forgotten
    std::deque<std::pair<uint64_t, uint64_t>> entries_;  // given, all up to it have left
  };

  // One direction, with the credits of the receiver at its end.
  struct Direction {
    Direction(const char* name, const Clock& bytes, bool contended, uint64_t posted_headers,
              uint64_t posted_data, uint64_t nonposted_headers)
        : wire(name, bytes, contended),
          posted(posted_headers, posted_data),
          nonposted(nonposted_headers, UINT64_MAX) {}
    Resource wire;
    CreditPool posted;
    CreditPool nonposted;
    PostedOrder order;
    TraceSink sink;
  };

  // One packet given at `given_ps`; returns when its last byte has left.
  uint64_t Send(Direction& direction, Kind kind, uint64_t given_ps, uint64_t address,
                uint64_t bytes);
  uint64_t WireBytes(Kind kind, uint64_t address, uint64_t bytes) const;
  // The next packet's share of [address, +bytes).
  uint64_t WriteShare(uint64_t address, uint64_t bytes) const;
  uint64_t RequestShare(uint64_t address, uint64_t bytes) const;
  uint64_t CompletionShare(uint64_t address, uint64_t bytes) const;
  void Trace(const Direction& direction, uint64_t end_ps, uint64_t wire_bytes, uint64_t bytes,
             uint64_t flow) const;

  const PcieConfig config_;
  uint64_t max_payload_bytes_;
  uint64_t max_read_request_bytes_;
  const bool contended_;
  const Clock bytes_;  // of the link, each way
  const uint64_t one_way_ps_;
  const uint64_t credit_return_ps_;
  Direction upstream_, downstream_;
  Resource host_memory_;
  LinkEnd* end_ = nullptr;  // null: the root complex
  CreditPool reads_;        // tags, and room for completions
};

}  // namespace spyre::model
