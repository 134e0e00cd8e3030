// SPDX-License-Identifier: Apache-2.0
#include "cosim/memory_study/memory_traffic.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <random>
#include <string_view>

#include "base/error.h"
#include "base/nearest.h"

namespace spyre::cosim {
namespace {

constexpr uint64_t kDefaultStride = 2 << 20;

// Shares of 2^32, so that no rounding of a library decides.
uint64_t ToShare(double fraction) {
  return static_cast<uint64_t>(std::llround(fraction * 4294967296.0));
}

class Pattern : public MemoryTraffic {
 public:
  Pattern(const PatternOptions& options, uint64_t device_bytes)
      : options_(options), blocks_(device_bytes / options.block_bytes), random_(options.seed) {}

  std::optional<MemoryAccess> Next(size_t stream) override {
    if (sent_ == options_.requests) return std::nullopt;
    const uint64_t address = Address(stream);
    const bool read = IsRead(stream);
    ++sent_;
    return MemoryAccess{address, options_.block_bytes, !read, std::nullopt};
  }

 protected:
  virtual uint64_t Address(size_t stream) = 0;
  virtual bool IsRead(size_t /*stream*/) {
    return (random_() >> 32) < ToShare(options_.read_fraction);
  }

  const PatternOptions options_;
  const uint64_t blocks_;  // of the device
  uint64_t sent_ = 0;
  std::mt19937_64 random_;
};

class Sequential : public Pattern {
 public:
  using Pattern::Pattern;
  uint64_t Address(size_t /*stream*/) override { return sent_ % blocks_ * options_.block_bytes; }
};

class Random : public Pattern {
 public:
  using Pattern::Pattern;
  uint64_t Address(size_t /*stream*/) override {
    return random_() % blocks_ * options_.block_bytes;
  }
};

class Stride : public Pattern {
 public:
  Stride(const PatternOptions& options, uint64_t device_bytes)
      : Pattern(options, device_bytes),
        steps_((device_bytes - options.block_bytes) / options.stride_bytes + 1) {}
  uint64_t Address(size_t /*stream*/) override { return sent_ % steps_ * options_.stride_bytes; }

 private:
  uint64_t steps_;
};

class Mix : public Pattern {
 public:
  Mix(const PatternOptions& options, uint64_t device_bytes)
      : Pattern(options, device_bytes),
        region_blocks_(options.stride_bytes / options.block_bytes),
        positions_(options.streams) {}
  size_t streams() const override { return positions_.size(); }
  uint64_t Address(size_t stream) override {
    const uint64_t block = positions_[stream]++ % region_blocks_;
    return stream * options_.stride_bytes + block * options_.block_bytes;
  }
  // Evenly spread: of every ten streams at 0.3, three read.
  bool IsRead(size_t stream) override {
    const uint64_t share = ToShare(options_.read_fraction);
    return ((stream + 1) * share >> 32) > (stream * share >> 32);
  }

 private:
  uint64_t region_blocks_;
  std::vector<uint64_t> positions_;
};

void CheckPattern(const PatternOptions& o, uint64_t device_bytes) {
  static const std::vector<std::string> kPatterns = {"sequential", "random", "stride", "mix"};
  if (std::find(kPatterns.begin(), kPatterns.end(), o.pattern) == kPatterns.end()) {
    throw BadInput("--pattern {} is not known{} (allowed: sequential, random, stride, mix)",
                   o.pattern, DidYouMean(o.pattern, kPatterns));
  }
  if (!(o.read_fraction >= 0 && o.read_fraction <= 1))
    throw BadInput("--read-fraction {} is outside 0 .. 1", o.read_fraction);
  if (o.requests == 0 || o.requests > kMaxRequests)
    throw BadInput("--requests {} is out of range; allowed: 1 .. {}", o.requests, kMaxRequests);
  const uint64_t most = std::min(kMaxAccessBytes, device_bytes);
  if (o.block_bytes == 0 || o.block_bytes > most)
    throw BadInput("--block {} bytes is out of range; allowed: 1 .. {}", o.block_bytes, most);
  if (o.stride_bytes == 0 || o.stride_bytes > device_bytes) {
    throw BadInput("--stride {} bytes is out of range; allowed: 1 .. {}, the device",
                   o.stride_bytes, device_bytes);
  }
  if (o.pattern != "mix") return;
  if (o.stride_bytes < o.block_bytes) {
    throw BadInput("--stride {} bytes, the region of a stream, is below --block {}", o.stride_bytes,
                   o.block_bytes);
  }
  if (o.streams == 0 || o.streams > device_bytes / o.stride_bytes) {
    throw BadInput("--streams {} of --stride {} bytes each do not fit into the device ({} bytes)",
                   o.streams, o.stride_bytes, device_bytes);
  }
}

class Trace : public MemoryTraffic {
 public:
  explicit Trace(std::vector<MemoryAccess> accesses) : accesses_(std::move(accesses)) {}
  std::optional<MemoryAccess> Next(size_t /*stream*/) override {
    if (sent_ == accesses_.size()) return std::nullopt;
    return accesses_[sent_++];
  }

 private:
  std::vector<MemoryAccess> accesses_;
  size_t sent_ = 0;
};

// Words of a line up to a comment; at most one more than a line may have.
struct Words {
  std::array<std::string_view, 5> at;
  size_t count = 0;
};

Words Split(std::string_view line) {
  Words words;
  line = line.substr(0, line.find('#'));
  constexpr std::string_view kSpace = " \t\r";
  while (words.count < words.at.size()) {
    const size_t begin = line.find_first_not_of(kSpace);
    if (begin == std::string_view::npos) break;
    const size_t end = std::min(line.find_first_of(kSpace, begin), line.size());
    words.at[words.count++] = line.substr(begin, end - begin);
    line.remove_prefix(end);
  }
  return words;
}

class TraceReader {
 public:
  TraceReader(const std::string& name, uint64_t device_bytes)
      : name_(name), device_bytes_(device_bytes) {}

  std::vector<MemoryAccess> Read(std::string_view text) {
    for (line_ = 1; !text.empty(); ++line_) {
      const size_t end = std::min(text.find('\n'), text.size());
      const Words words = Split(text.substr(0, end));
      if (words.count != 0) Add(words);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (accesses_.empty()) throw BadInput("{}: has no request", name_);
    return std::move(accesses_);
  }

 private:
  template <class... Args>
  Error Wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return BadInput("{}:{}: {}", name_, line_, fmt::format(format, std::forward<Args>(args)...));
  }
  // Words come from a file: shown short and printable.
  static std::string Shown(std::string_view word) {
    std::string text(word.substr(0, 40));
    for (char& c : text)
      if (c < ' ' || c > '~') c = '?';
    return text;
  }
  uint64_t Number(std::string_view word, const char* what) const {
    std::string_view digits = word;
    int base = 10;
    if (digits.size() > 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
      digits.remove_prefix(2);
      base = 16;
    }
    uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (error != std::errc() || end != digits.data() + digits.size())
      throw Wrong("{} '{}' is not a number (decimal or 0x..)", what, Shown(word));
    return value;
  }
  // Nanoseconds with up to three decimals.
  uint64_t Picoseconds(std::string_view word) const {
    const size_t dot = std::min(word.find('.'), word.size());
    std::string fraction(word.substr(std::min(dot + 1, word.size())));
    if (fraction.size() > 3 || (dot < word.size() && fraction.empty()))
      throw Wrong("arrival '{}' must be nanoseconds with at most three decimals", Shown(word));
    fraction.resize(3, '0');
    const uint64_t whole = Number(word.substr(0, dot), "arrival");
    if (whole > kMaxArrivalNs)
      throw Wrong("arrival {} ns is beyond the {} ns of a run", whole, kMaxArrivalNs);
    return whole * 1000 + Number(fraction, "arrival");
  }

  void Add(const Words& words) {
    const bool timed = words.count == 4;
    if (!timed && words.count != 3)
      throw Wrong("must be '[ARRIVAL_NS] R|W ADDRESS BYTES', for example 'R 0x1000 128'");
    if (!accesses_.empty() && timed != accesses_.front().arrival_ps.has_value())
      throw Wrong("either all requests have an arrival or none has");
    if (accesses_.size() == kMaxRequests) throw Wrong("more than {} requests", kMaxRequests);
    MemoryAccess access{};
    if (timed) access.arrival_ps = Picoseconds(words.at[0]);
    if (timed && !accesses_.empty() && *access.arrival_ps < *accesses_.back().arrival_ps)
      throw Wrong("arrival {} ns is before that of the request above", Shown(words.at[0]));
    const std::string_view kind = words.at[timed ? 1 : 0];
    if (kind != "R" && kind != "W") throw Wrong("'{}' must be R or W", Shown(kind));
    access.write = kind == "W";
    access.address = Number(words.at[timed ? 2 : 1], "address");
    access.bytes = Number(words.at[timed ? 3 : 2], "size");
    if (access.bytes == 0 || access.bytes > kMaxAccessBytes)
      throw Wrong("{} bytes is out of range; allowed: 1 .. {}", access.bytes, kMaxAccessBytes);
    if (access.address > device_bytes_ || access.bytes > device_bytes_ - access.address) {
      throw Wrong("{} bytes at {:#x} reach beyond the device of {} bytes ({:#x})", access.bytes,
                  access.address, device_bytes_, device_bytes_);
    }
    accesses_.push_back(access);
  }

  static constexpr uint64_t kMaxArrivalNs = 1'000'000'000'000;
  const std::string& name_;
  const uint64_t device_bytes_;
  uint64_t line_ = 0;
  std::vector<MemoryAccess> accesses_;
};

}  // namespace

std::unique_ptr<MemoryTraffic> MakePattern(const PatternOptions& options, uint64_t device_bytes) {
  PatternOptions complete = options;
  if (complete.stride_bytes == 0) complete.stride_bytes = kDefaultStride;
  CheckPattern(complete, device_bytes);
  if (complete.pattern == "random") return std::make_unique<Random>(complete, device_bytes);
  if (complete.pattern == "stride") return std::make_unique<Stride>(complete, device_bytes);
  if (complete.pattern == "mix") return std::make_unique<Mix>(complete, device_bytes);
  return std::make_unique<Sequential>(complete, device_bytes);
}

std::unique_ptr<MemoryTraffic> ParseTrace(const std::string& text, const std::string& name,
                                          uint64_t device_bytes) {
  return std::make_unique<Trace>(TraceReader(name, device_bytes).Read(text));
}

}  // namespace spyre::cosim
