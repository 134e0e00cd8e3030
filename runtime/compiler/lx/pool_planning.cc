// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/lx/pool_planning.h"

#include <numeric>
#include <tuple>

#include "base/ranges.h"
#include "model/contract/memory_map.h"
#include "runtime/compiler/ir/ir.h"

namespace spyre::compiler {
namespace {

struct Block {
  int64_t offset;
  int64_t size;
};

class Pool {
 public:
  int64_t bytes() const { return bytes_; }

  int64_t Take(const PoolBuffer& buffer) {
    const auto fits = [&](const Block& block) { return block.size >= buffer.size; };
    const auto it = FindIf(free_, fits);
    if (it != free_.end()) {
      const Block block = *it;
      free_.erase(it);
      const Block rest{block.offset + buffer.size, block.size - buffer.size};
      if (rest.size > 0) free_.push_back(rest);
      return block.offset;
    }
    constexpr auto kLimit = static_cast<int64_t>(kSegmentBytes);
    if (buffer.size > kLimit - bytes_) {
      throw CompileError("RuntimeError", "pool_overflow",
                         fmt::format("intermediate '{}' of {} bytes does not fit: the pool has {} "
                                     "bytes already, and a segment {}",
                                     buffer.name, buffer.size, bytes_, kLimit))
          .Subject(buffer.name);
    }
    const int64_t offset = bytes_;
    bytes_ += buffer.size;
    return offset;
  }

  void GiveBack(const Block& block) { free_.push_back(block); }

 private:
  std::vector<Block> free_;
  int64_t bytes_ = 0;
};

}  // namespace

int64_t PlacePool(std::vector<PoolBuffer>& buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  StableSort(order, [&](size_t a, size_t b) {
    return std::tie(buffers[a].start, buffers[a].end, buffers[a].name) <
           std::tie(buffers[b].start, buffers[b].end, buffers[b].name);
  });
  Pool pool;
  std::vector<size_t> live;
  for (size_t next : order) {
    const auto dead = std::stable_partition(
        live.begin(), live.end(), [&](size_t i) { return buffers[i].end > buffers[next].start; });
    for (auto it = dead; it != live.end(); ++it) {
      pool.GiveBack({buffers[*it].offset, buffers[*it].size});
    }
    live.erase(dead, live.end());
    buffers[next].offset = pool.Take(buffers[next]);
    live.push_back(next);
  }
  return pool.bytes();
}

}  // namespace spyre::compiler
