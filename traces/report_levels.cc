// SPDX-License-Identifier: Apache-2.0
#include "traces/report_levels.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace spyre::trace {
namespace {

constexpr uint16_t kNoKind = 0xFFFF;

struct Bin {
  double busy_ps = 0, wait_ps = 0;
  double votes = 0;
  uint16_t kind = kNoKind;
};

class TrackBins {
 public:
  TrackBins(uint64_t from_ps, uint64_t to_ps)
      : from_(from_ps),
        to_(std::max(to_ps, from_ps + 1)),
        bin_ps_(static_cast<double>(to_ - from_) / kLevelBins),
        bins_(kLevelBins) {}

  // In order of start: time that several slices share counts once, for the first.
  void Add(const Record& record, uint16_t kind) {
    const bool is_wait = record.category == kWait;
    uint64_t& covered = is_wait ? waited_until_ : busy_until_;
    const uint64_t start = std::max({record.start_ps, covered, from_});
    const uint64_t end = std::min(record.end_ps, to_);
    covered = std::max(covered, record.end_ps);
    if (record.start_ps == record.end_ps && record.start_ps >= from_ && record.start_ps < to_) {
      Touch(bins_[BinOf(record.start_ps)], 0, is_wait, kind);
      return;
    }
    if (start >= end) return;
    const size_t last = BinOf(end - 1);
    for (size_t bin = BinOf(start); bin <= last; ++bin) {
      const double low = std::max(static_cast<double>(start - from_), bin_ps_ * bin);
      const double high = std::min(static_cast<double>(end - from_), bin_ps_ * (bin + 1));
      Touch(bins_[bin], std::max(high - low, 0.0), is_wait, kind);
    }
  }

  void AppendTo(std::string& out) const {
    for (const Bin& bin : bins_) out += Share(bin.busy_ps, bin.kind != kNoKind);
    for (const Bin& bin : bins_) out += Share(bin.wait_ps, bin.wait_ps > 0);
    for (const Bin& bin : bins_) {
      out += static_cast<char>(bin.kind & 0xFF);
      out += static_cast<char>(bin.kind >> 8);
    }
  }

 private:
  size_t BinOf(uint64_t time_ps) const {
    return std::min(kLevelBins - 1,
                    static_cast<size_t>(static_cast<double>(time_ps - from_) / bin_ps_));
  }
  static void Touch(Bin& bin, double time_ps, bool is_wait, uint16_t kind) {
    if (is_wait) {
      bin.wait_ps += time_ps;
      return;
    }
    bin.busy_ps += time_ps;
    if (bin.kind == kind || bin.kind == kNoKind) {
      bin.kind = kind;
      bin.votes += time_ps;
    } else if (bin.votes < time_ps) {
      bin.kind = kind;
      bin.votes = time_ps - bin.votes;
    } else {
      bin.votes -= time_ps;
    }
  }
  char Share(double time_ps, bool any) const {
    const double share = std::min(1.0, time_ps / bin_ps_);
    return static_cast<char>(std::max(std::lround(share * 255), any ? 1L : 0L));
  }

  const uint64_t from_, to_;
  const double bin_ps_;
  uint64_t busy_until_ = 0, waited_until_ = 0;
  std::vector<Bin> bins_;
};

}  // namespace

PageLevels MakeLevels(const PageSlices& page, uint64_t from_ps, uint64_t to_ps) {
  PageLevels levels;
  levels.from_ps = from_ps;
  levels.to_ps = std::max(to_ps, from_ps + 1);
  std::map<std::pair<NameId, uint32_t>, uint16_t> kind_of;
  for (size_t i = 0; i < std::min<size_t>(page.kinds.size(), kNoKind); ++i) {
    kind_of[page.kinds[i]] = static_cast<uint16_t>(i);
  }
  size_t next = 0;
  for (size_t track = 0; track < page.tracks.size(); ++track) {
    const size_t first = next;
    next += page.tracks[track].slices;
    if (page.tracks[track].slices < kLevelSlices) continue;
    TrackBins bins(levels.from_ps, levels.to_ps);
    for (size_t i = first; i < next; ++i) {
      const Record& record = *page.records[i];
      const auto kind = kind_of.find({record.name, record.category});
      bins.Add(record, kind == kind_of.end() ? uint16_t{0} : kind->second);
    }
    levels.tracks.push_back(track);
    bins.AppendTo(levels.bytes);
  }
  return levels;
}

}  // namespace spyre::trace
