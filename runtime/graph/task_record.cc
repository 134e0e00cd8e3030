// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/task_record.h"

namespace spyre::runtime {

void ConsumerLists::AddChunk(TaskRecord& producer) {
  uint32_t chunk = free_;
  if (chunk == kNoChunk) {
    chunk = static_cast<uint32_t>(chunks_.size());
    chunks_.emplace_back();
  } else {
    free_ = chunks_[chunk].next;
  }
  chunks_[chunk].next = kNoChunk;
  if (producer.first_chunk == kNoChunk) {
    producer.first_chunk = chunk;
  } else {
    chunks_[producer.last_chunk].next = chunk;
  }
  producer.last_chunk = chunk;
}

void ConsumerLists::Release(TaskRecord& producer) {
  chunks_[producer.last_chunk].next = free_;
  free_ = producer.first_chunk;
  producer.first_chunk = producer.last_chunk = kNoChunk;
}

}  // namespace spyre::runtime
