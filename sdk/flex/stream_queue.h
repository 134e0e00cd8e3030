// SPDX-License-Identifier: Apache-2.0
// A stream of the SDK on a stream of the runtime. What belongs to one launch (the copy of its
// correction input, the correction, the program) arrives in separate calls; it is kept until the
// program comes, and then goes to the card as a whole, with one doorbell, as SpyreStream does it.
// Threads: calls of one queue take turns.
#pragma once

#include <flex/flex.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/flex/flex_stream.h"
#include "sdk/flex/platform.h"

namespace spyre::sdk {

// Gives a stream of the runtime when it is first needed: streams of PyTorch are made by the dozen
// and mostly not used.
using StreamSource = std::function<flex::FlexStream&()>;

}  // namespace spyre::sdk

namespace flex {

class RuntimeStream::Queue {
 public:
  explicit Queue(spyre::sdk::StreamSource source) : source_(std::move(source)) {}

  void CopyToCard(const DmaParams& params);
  void CopyFromCard(const DmaParams& params);
  void Launch(const ComputeParams& params);
  void Fill(const CompositeAddress& destination, double value, DataFormats format);
  bool Query();
  void Synchronize();

 private:
  using Platform = spyre::sdk::Platform;
  using Info = spyre::flex::OperationInfo;
  // Of a launch: joined says that it follows another one of the same launch.
  using Part = std::function<void(bool joined)>;

  spyre::flex::FlexStream& stream();
  void Flush();
  void CopyConverted(Platform& platform, const DmaParams& params, const Chunk& chunk);
  void CopyFromCardConverted(Platform& platform, const DmaParams& params, const Chunk& chunk);

  const spyre::sdk::StreamSource source_;
  std::mutex mutex_;
  spyre::flex::FlexStream* stream_ = nullptr;  // null: not used yet
  std::vector<Part> parts_;                    // of a launch whose program has not come yet
};

}  // namespace flex
