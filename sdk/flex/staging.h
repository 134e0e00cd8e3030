// SPDX-License-Identifier: Apache-2.0
// Host memory through which copies go, used again and again so that its pages are touched once.
// Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace spyre::sdk {

class StagingPool {
 public:
  // At least `bytes`, aligned to pages; what is in it is not known. Goes back when nobody has it.
  // The pool must outlive it.
  std::shared_ptr<uint8_t[]> Take(uint64_t bytes);

 private:
  static constexpr uint64_t kKeptBytes = 512ull << 20;  // at most, of what nobody uses
  void Give(uint8_t* memory, uint64_t bytes);

  std::mutex mutex_;
  std::map<uint64_t, std::vector<uint8_t*>> free_;  // by size
  uint64_t free_bytes_ = 0;
};

}  // namespace spyre::sdk
