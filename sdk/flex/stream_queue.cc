// SPDX-License-Identifier: Apache-2.0
#include "sdk/flex/stream_queue.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/huge_pages.h"
#include "model/contract/host_conversion.h"
#include "model/contract/memory_map.h"
#include "sdk/flex/touched.h"
#include "sdk/host_functions/correction.h"
#include "sdk/host_functions/formats.h"

namespace flex {
namespace {

using spyre::BadInput;
using spyre::kStickBytes;
using spyre::flex::DeviceHandle;
using spyre::sdk::ByteRange;
using spyre::sdk::Platform;

// A conversion that touches more separate ranges of sticks than this is carried out on the whole
// image, which is read back first.
constexpr size_t kMostRanges = 64;

Chunk CheckedChunk(const DmaParams& params, const char* what) {
  const Chunk& chunk = Platform::ChunkOf(params.device, what);
  if (params.host == nullptr && params.size != 0)
    throw BadInput("{} of {} bytes: the host address is null", what, params.size);
  if (params.size > chunk.size) {
    throw BadInput("{} of {} bytes: the memory on the card has {}", what, params.size, chunk.size);
  }
  return chunk;
}

bool IsProgram(Platform& platform, const DeviceHandle& handle) {
  const auto allocation = platform.context().FindAllocation(handle);
  return allocation && allocation->kind == spyre::flex::MemoryKind::kProgram;
}

// The 64 bits that a fill repeats.
uint64_t PatternOf(double value, DataFormats format) {
  const spyre::DataFormat to = spyre::sdk::FormatOf(format);
  const int bits = spyre::BitsPerElement(to);
  uint8_t element[8] = {};
  const auto number = static_cast<float>(value);
  constexpr uint16_t kSign = 0x8000;
  if (to == spyre::DataFormat::kIeeeInt32 || to == spyre::DataFormat::kSenUint32 ||
      to == spyre::DataFormat::kIeeeInt64) {
    const auto integer = static_cast<int64_t>(value);
    std::memcpy(element, &integer, sizeof integer);
  } else if (to == spyre::DataFormat::kSenInt16) {
    const auto integer = static_cast<int16_t>(value);
    std::memcpy(element, &integer, sizeof integer);
  } else if (to == spyre::DataFormat::kSen169Fp16) {
    // An infinity becomes the largest number. An attention whose maximum begins with -infinity ends
    // with numbers then, which the special code would make NaN; and a fraction of an infinity, as
    // in a softplus whose beta is 0, reads back as one, which a fraction of the 65536 that a copy
    // from the host makes of it (host_conversion.h) does not.
    const uint16_t largest = spyre::kDlfMax | (std::signbit(value) ? kSign : 0);
    const uint16_t code = std::isinf(value) ? largest : spyre::DlfFromDouble(value);
    std::memcpy(element, &code, sizeof code);
  } else if (spyre::CanConvert(spyre::DataFormat::kIeeeFp32, to)) {
    spyre::ConvertElements(spyre::DataFormat::kIeeeFp32, &number, to, element, 1);
  } else {
    throw BadInput("a fill with {}: the card's fill has no such numbers", spyre::FormatName(to));
  }
  uint64_t pattern = 0;
  std::memcpy(&pattern, element, sizeof pattern);
  if (bits < 64) pattern &= (uint64_t{1} << bits) - 1;
  for (int width = bits; width < 64; width *= 2) pattern |= pattern << width;
  return pattern;
}

}  // namespace

spyre::flex::FlexStream& RuntimeStream::Queue::stream() {
  if (stream_ == nullptr) stream_ = &source_();
  return *stream_;
}

void RuntimeStream::Queue::Flush() {
  if (parts_.empty()) return;
  const std::vector<Part> parts = std::exchange(parts_, {});
  const spyre::flex::RuntimeContext::Batch batch(Platform::Get().context());
  bool joined = false;
  for (const Part& part : parts) {
    part(joined);
    joined = true;
  }
}

void RuntimeStream::Queue::CopyToCard(const DmaParams& params) {
  Platform& platform = Platform::Get();
  const Chunk chunk = CheckedChunk(params, "a copy to the card");
  if (params.size == 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  platform.Guarded([&] {
    if (params.conversion) {
      Flush();
      CopyConverted(platform, params, chunk);
      return;
    }
    const DeviceHandle place = platform.HandleOf(chunk);
    const std::shared_ptr<uint8_t[]> bytes = platform.staging().Take(params.size);
    std::memcpy(bytes.get(), params.host, params.size);
    Info info;
    info.keep_alive = bytes;
    if (params.callback) info.then = [call = params.callback, host = params.host] { call(host); };
    const auto copy = [this, bytes, place, size = params.size, info](bool joined) {
      Info joined_info = info;
      joined_info.joined = joined;
      stream().CopyToDevice(bytes.get(), place, size, joined_info);
    };
    if (!IsProgram(platform, place)) {
      Flush();
      copy(false);
      return;
    }
    if (auto arguments = spyre::sdk::TakeCorrectedArguments(params.host)) {
      Flush();
      platform.NoteCorrection(place, std::move(*arguments));
      parts_.emplace_back(copy);
      return;
    }
    Flush();
    platform.NoteProgramCopy(place, bytes.get(), params.size);
    copy(false);
  });
}

void RuntimeStream::Queue::CopyConverted(Platform& platform, const DmaParams& params,
                                         const Chunk& chunk) {
  const spyre::DataConversion conversion = spyre::sdk::ConversionOf(*params.conversion);
  const spyre::sdk::Touched touched =
      spyre::sdk::TouchedSticks(conversion, /*source=*/false, params.size);
  if (touched.ranges.empty()) return;
  const std::shared_ptr<uint8_t[]> image = platform.staging().Take(params.size);
  const DeviceHandle place = platform.HandleOf(chunk);
  std::vector<ByteRange> ranges = touched.ranges;
  if (ranges.size() > kMostRanges) {
    ranges = {{ranges.front().begin, ranges.back().end}};
    stream().CopyFromDevice(image.get() + ranges.front().begin,
                            Offset(place, static_cast<int64_t>(ranges.front().begin)),
                            ranges.front().bytes());
    stream().Synchronize();
  } else if (!touched.full) {
    for (const ByteRange& range : ranges) std::memset(image.get() + range.begin, 0, range.bytes());
  }
  RunHostConversion(conversion, params.host, image.get());
  platform.NoteConversion(conversion, /*to_card=*/true, params.host);
  uint64_t bytes = 0;
  for (const ByteRange& range : ranges) bytes += range.bytes();
  platform.context().ChargeConversion(bytes);
  const spyre::flex::RuntimeContext::Batch batch(platform.context());
  for (const ByteRange& range : ranges) {
    Info info;
    info.bulk = true;
    info.keep_alive = image;
    if (params.callback && &range == &ranges.back())
      info.then = [call = params.callback, host = params.host] { call(host); };
    stream().CopyToDevice(image.get() + range.begin,
                          Offset(place, static_cast<int64_t>(range.begin)), range.bytes(), info);
  }
}

void RuntimeStream::Queue::CopyFromCard(const DmaParams& params) {
  Platform& platform = Platform::Get();
  const Chunk chunk = CheckedChunk(params, "a copy from the card");
  if (params.size == 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  platform.Guarded([&] {
    Flush();
    if (params.conversion) {
      CopyFromCardConverted(platform, params, chunk);
      return;
    }
    // A size that is no multiple of a stick is that of the host's memory.
    const uint64_t bytes = spyre::AlignUp(params.size, kStickBytes);
    Info info;
    if (bytes == params.size) {
      if (params.callback) info.then = [call = params.callback, host = params.host] { call(host); };
      spyre::AdviseHugePages(params.host, bytes);
      stream().CopyFromDevice(params.host, platform.HandleOf(chunk), bytes, info);
      return;
    }
    const std::shared_ptr<uint8_t[]> image = platform.staging().Take(bytes);
    info.keep_alive = image;
    info.then = [image, host = params.host, size = params.size, call = params.callback] {
      std::memcpy(host, image.get(), size);
      if (call) call(host);
    };
    stream().CopyFromDevice(image.get(), platform.HandleOf(chunk), bytes, info);
  });
}

void RuntimeStream::Queue::CopyFromCardConverted(Platform& platform, const DmaParams& params,
                                                 const Chunk& chunk) {
  spyre::DataConversion conversion = spyre::sdk::ConversionOf(*params.conversion);
  const spyre::sdk::Touched touched =
      spyre::sdk::TouchedSticks(conversion, /*source=*/true, params.size);
  if (touched.ranges.empty()) return;
  const ByteRange range = {touched.ranges.front().begin, touched.ranges.back().end};
  const std::shared_ptr<uint8_t[]> image = platform.staging().Take(params.size);
  spyre::flex::RuntimeContext& context = platform.context();
  Info info;
  info.bulk = true;
  info.keep_alive = image;
  info.then = [&platform, &context, conversion = std::move(conversion), image, host = params.host,
               bytes = range.bytes(), call = params.callback] {
    context.ChargeCopyOut(bytes);
    context.ChargeConversion(bytes);
    const ByteRange written = spyre::sdk::DenseSpan(conversion, /*source=*/false);
    spyre::AdviseHugePages(static_cast<uint8_t*>(host) + written.begin, written.bytes());
    RunHostConversion(conversion, image.get(), host);
    platform.NoteConversion(conversion, /*to_card=*/false, host);
    if (call) call(host);
  };
  stream().CopyFromDevice(image.get() + range.begin,
                          Offset(platform.HandleOf(chunk), static_cast<int64_t>(range.begin)),
                          range.bytes(), info);
}

void RuntimeStream::Queue::Launch(const ComputeParams& params) {
  Platform& platform = Platform::Get();
  const Chunk& chunk = Platform::ChunkOf(params.program, "a launch");
  const DeviceHandle place =
      Offset(platform.HandleOf(chunk), static_cast<int64_t>(params.bootstrap_offset));
  std::vector<uint64_t> tensors;
  for (const CompositeAddress* tensor : params.tensors) {
    tensors.push_back(
        ToDeviceVirtual(platform.HandleOf(Platform::ChunkOf(tensor, "an argument of a launch"))));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  platform.Guarded([&] {
    const Platform::Binary binary = platform.BinaryAt(place);
    if (!binary.correction) platform.CheckWrites(place, params.kernel_name);
    Info info;
    info.name = params.kernel_name;
    info.correction = binary.correction;
    info.prepare = binary.correction && binary.one_core;
    info.bulk = !binary.correction;  // times only, if the card is to have no more
    info.tag = platform.NextLaunch();
    parts_.emplace_back([this, &platform, place, info, tensors](bool joined) {
      Info joined_info = info;
      joined_info.joined = joined;
      stream().Launch(place, joined_info);
      platform.NoteLaunch(place, info.name, stream().stream_index(), info.tag,
                          platform.context().scheduler().last_correlation(), tensors);
    });
    if (!binary.correction) Flush();
  });
}

void RuntimeStream::Queue::Fill(const CompositeAddress& destination, double value,
                                DataFormats format) {
  Platform& platform = Platform::Get();
  const Chunk& chunk = Platform::ChunkOf(&destination, "a fill");
  if (chunk.size == 0) return;
  const uint64_t pattern = PatternOf(value, format);
  const std::lock_guard<std::mutex> lock(mutex_);
  platform.Guarded([&] {
    Flush();
    Info info;
    info.bulk = true;
    stream().Fill(platform.HandleOf(chunk), chunk.size, pattern, info);
  });
}

bool RuntimeStream::Queue::Query() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return Platform::Get().Guarded([&] {
    Flush();
    return stream_ == nullptr || stream_->Query();
  });
}

void RuntimeStream::Queue::Synchronize() {
  const std::lock_guard<std::mutex> lock(mutex_);
  Platform::Get().Guarded([&] {
    Flush();
    if (stream_ != nullptr) stream_->Synchronize();
  });
}

}  // namespace flex
