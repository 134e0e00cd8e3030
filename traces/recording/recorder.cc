// SPDX-License-Identifier: Apache-2.0
#include "traces/recording/recorder.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL  // 48-byte inputs: the call would cost as much as the hash
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "base/printable.h"

namespace spyre::trace {
namespace {

struct NamedCategory {
  const char* name;
  Category category;
};
constexpr std::array<NamedCategory, 10> kCategories = {{{"host", kHost},
                                                        {"control", kControl},
                                                        {"pcie", kPcie},
                                                        {"dma", kDma},
                                                        {"ring", kRing},
                                                        {"memory", kMemory},
                                                        {"core", kCore},
                                                        {"firmware", kFirmware},
                                                        {"wait", kWait},
                                                        {"step", kStep}}};

// Ids are handed out in order of appearance, so hashing the text when it appears covers the ids.
uint64_t HashText(std::string_view text, uint64_t seed) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed + text.size());
}

}  // namespace

const char* CategoryName(Category category) {
  for (const NamedCategory& entry : kCategories) {
    if (entry.category == category) return entry.name;
  }
  return category == kAll ? "all" : "unknown";
}

uint32_t CategoryMask(const std::vector<std::string>& names) {
  uint32_t mask = 0;
  for (const std::string& name : names) {
    uint32_t bit = name == "all" ? static_cast<uint32_t>(kAll) : 0;
    for (const NamedCategory& entry : kCategories) {
      if (name == entry.name && entry.category != kWait && entry.category != kStep)
        bit = entry.category;
    }
    // A core's slices without its waits would not tell what they depended on.
    if (bit == kCore) bit |= kWait;
    if (bit == kControl) bit |= kStep;
    if (bit == 0) {
      throw std::invalid_argument(
          fmt::format("trace category '{}' does not exist; use host, control, pcie, dma, ring, "
                      "memory, core, firmware or all",
                      Printable(name)));
    }
    mask |= bit;
  }
  return mask;
}

Recorder::Recorder(size_t capacity, uint32_t mask) : mask_(mask), capacity_(capacity) {}

Recorder::Recorder(Recorder& whole, std::string name)
    : mask_(whole.mask_), whole_(&whole), part_(std::move(name)), capacity_(0) {}

TrackId Recorder::StreamTrack(std::string_view process, uint32_t stream, uint32_t function) {
  const bool apart = whole_ != nullptr ? whole_->functions_apart_ : functions_apart_;
  return AddTrack(process, apart ? fmt::format("stream {}, function {}", stream, function)
                                 : fmt::format("stream {}", stream));
}

TrackId Recorder::AddTrack(std::string_view process, std::string_view name) {
  if (whole_ != nullptr) return whole_->AddTrack(fmt::format("{}: {}", part_, process), name);
  Track track{Printable(process), Printable(name)};
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [it, is_new] =
      track_ids_.emplace(track.process + '\n' + track.name, static_cast<TrackId>(tracks_.size()));
  if (is_new) {
    digest_ = HashText(track.name, HashText(track.process, digest_ ^ 1));
    tracks_.push_back(std::move(track));
  }
  return it->second;
}

NameId Recorder::Intern(std::string_view name) {
  if (whole_ != nullptr) return whole_->Intern(name);
  std::string text = Printable(name);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [it, is_new] = name_ids_.emplace(text, static_cast<NameId>(names_.size()));
  if (is_new) {
    digest_ = HashText(text, digest_ ^ 2);
    names_.push_back(std::move(text));
  }
  return it->second;
}

void Recorder::Add(const Record& record) {
  if (whole_ != nullptr) return whole_->Add(record);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (record.end_ps < record.start_ps || record.track >= tracks_.size() ||
      record.name >= names_.size()) {
    throw std::logic_error(fmt::format(
        "trace record {} of {} names on track {} of {}: from {} ps to {} ps; ids come from "
        "Intern and AddTrack, and a slice does not end before it starts",
        record.name, names_.size(), record.track, tracks_.size(), record.start_ps, record.end_ps));
  }
  digest_ = XXH3_64bits_withSeed(&record, sizeof record, digest_);
  if (records_.size() < capacity_) {
    records_.push_back(record);
    if (sink_ != nullptr && records_.size() == capacity_) HandOver();
    return;
  }
  ++dropped_;
  // The oldest goes: that is the one recorded first, and not always the one that ended first.
  const Record& oldest = capacity_ == 0 ? record : records_[next_];
  whole_from_ps_ = std::max(whole_from_ps_, oldest.end_ps);
  if (capacity_ == 0) return;
  records_[next_] = record;
  if (++next_ == capacity_) next_ = 0;
}

void Recorder::HandTo(RecordSink& sink, size_t block_records) {
  sink_ = &sink;
  capacity_ = block_records;
  records_.reserve(block_records);
}

void Recorder::Flush() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (sink_ != nullptr) HandOver();
}

void Recorder::HandOver() {
  sink_->Take(*this, records_);
  records_.clear();
}

std::vector<Record> Recorder::Records() const {
  std::vector<Record> out;
  out.reserve(records_.size());
  const auto oldest = records_.begin() + static_cast<std::ptrdiff_t>(next_);
  out.insert(out.end(), oldest, records_.end());
  out.insert(out.end(), records_.begin(), oldest);
  return out;
}

uint64_t Recorder::Digest() const { return digest_; }

}  // namespace spyre::trace
