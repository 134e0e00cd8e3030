// SPDX-License-Identifier: Apache-2.0
// Follows the rings of every function from outside: what the host writes to queue registers, and
// what the card writes to host memory. Says which host memory the card may read, and when a
// response has come with the output that it announces.
//
// Owner: a recording transport or a replay, which tell it of every access, on one thread. The
// mappings must outlive it. Entries are looked at, not checked: checking them is the card's work.
#pragma once

#include <contract/registers.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "cosim/host/host_mappings.h"

namespace spyre::cosim {

struct IoRange {
  driver::IoAddress address = 0;
  uint64_t bytes = 0;
};

struct CardResponse {
  driver::FunctionId function = 0;
  driver::IoAddress slot = 0;
  Response response{};
  bool outstanding = false;  // its operation was submitted and not answered before
  // What a DMA_OUT has written; 0 bytes for others, if it failed, if it moves no data, and if
  // another DMA_OUT to the same bytes is on its way, whose data may be there already.
  IoRange output;
};

class QueueWatch {
 public:
  explicit QueueWatch(const HostMappings& mappings) : mappings_(mappings) {}

  // Before the card sees a write to BAR0 of the function. True: it may start to read the ranges of
  // Readable now.
  bool HostWrote(driver::FunctionId function, uint64_t offset, uint32_t value);

  // The submission ring, and sources of the DMA_INs that are not answered.
  std::vector<IoRange> Readable(driver::FunctionId function) const;

  // Called after the card has written host memory; returns the ring entries that this completed.
  std::vector<CardResponse> CardWrote(driver::FunctionId function, driver::IoAddress address,
                                      uint64_t bytes);

 private:
  struct Transfer {  // of an operation: empty unless it is a DMA between host and card
    bool to_host = false;
    IoRange range;
  };
  struct Queue {
    uint64_t submission_base = 0, response_base = 0;
    uint32_t submission_entries = 0, response_entries = 0;
    uint32_t tail = 0;                         // SQ_TAIL as last written
    std::map<uint64_t, Transfer> outstanding;  // by sequence number
  };

  void Submitted(driver::FunctionId function, Queue& queue, uint32_t tail);
  CardResponse Answered(driver::FunctionId function, driver::IoAddress slot);
  bool Overlapped(driver::FunctionId function, const IoRange& range) const;

  const HostMappings& mappings_;
  std::map<driver::FunctionId, Queue> queues_;
};

}  // namespace spyre::cosim
