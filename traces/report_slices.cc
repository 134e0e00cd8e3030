// SPDX-License-Identifier: Apache-2.0
#include "traces/report_slices.h"

#include <algorithm>
#include <array>
#include <map>

#include "traces/lanes.h"

namespace spyre::trace {
namespace {

constexpr size_t kColumns = 8;

void AddNumber(std::string& column, uint64_t value) {
  for (; value >= 0x80; value >>= 7) column += static_cast<char>(value | 0x80);
  column += static_cast<char>(value);
}

uint64_t Fold(uint64_t difference) {
  return difference >> 63 != 0 ? ~(difference << 1) : difference << 1;
}

// Work gets the first lane that is free, so that what runs at the same time, or inside something
// else, stands below it. Waits lie behind the work of the first lane.
class PageLanes {
 public:
  uint32_t Place(const Record& record) {
    if (record.category == kWait) return 0;
    uint32_t lane = 0;
    while (lane + 1 < kPageLanes && used_[lane] && busy_until_[lane] > record.start_ps) ++lane;
    used_[lane] = true;
    busy_until_[lane] = std::max(busy_until_[lane], record.end_ps);
    return lane;
  }

 private:
  std::array<uint64_t, kPageLanes> busy_until_ = {};
  std::array<bool, kPageLanes> used_ = {};
};

// Slices of one track, by lane the last one, which may take its neighbours in.
class Merger {
 public:
  Merger(std::vector<Record>& slices, std::vector<uint32_t>& lanes, std::vector<uint32_t>& counts,
         uint64_t below_ps)
      : slices_(slices), lanes_(lanes), counts_(counts), below_ps_(below_ps) {
    last_.fill(SIZE_MAX);
  }

  void Add(const Record& record, uint32_t lane) {
    size_t& last = last_[record.category == kWait ? kPageLanes : lane];
    if (last != SIZE_MAX) {
      Record& slice = slices_[last];
      uint32_t& count = counts_[last];
      const bool is_close =
          record.start_ps <= slice.end_ps || record.start_ps - slice.end_ps < below_ps_;
      const bool is_short = (slice.end_ps - slice.start_ps) / count < below_ps_ &&
                            record.end_ps - record.start_ps < below_ps_;
      if (is_close && is_short && slice.category == record.category) {
        slice.end_ps = std::max(slice.end_ps, record.end_ps);
        slice.bytes += record.bytes;
        ++count;
        return;
      }
    }
    last = slices_.size();
    slices_.push_back(record);
    lanes_.push_back(lane);
    counts_.push_back(1);
  }

 private:
  std::vector<Record>& slices_;
  std::vector<uint32_t>& lanes_;
  std::vector<uint32_t>& counts_;
  const uint64_t below_ps_;
  std::array<size_t, kPageLanes + 1> last_;  // by lane, that of waits behind them
};

void MergeUntilTheyFit(PageSlices& page, size_t max_slices) {
  uint64_t first = UINT64_MAX, last = 0;
  for (const Record* record : page.records) {
    first = std::min(first, record->start_ps);
    last = std::max(last, record->end_ps);
  }
  const uint64_t coarsest_ps = std::max<uint64_t>(last - first, 1);  // about one a lane
  uint64_t below_ps = coarsest_ps / 1'000'000 + 1;
  std::vector<Record> slices;
  std::vector<uint32_t> lanes, counts;
  std::vector<uint64_t> of_track(page.tracks.size());
  for (;;) {
    slices.clear();
    lanes.clear();
    counts.clear();
    size_t i = 0;
    for (size_t track = 0; track < page.tracks.size(); ++track) {
      const size_t before = slices.size();
      Merger merger(slices, lanes, counts, below_ps);
      for (uint64_t n = page.tracks[track].slices; n > 0; --n, ++i) {
        merger.Add(*page.records[i], page.lanes[i]);
      }
      of_track[track] = slices.size() - before;
    }
    if (slices.size() <= max_slices || below_ps == coarsest_ps) break;
    below_ps = below_ps > coarsest_ps / 2 ? coarsest_ps : below_ps * 2;
  }
  for (size_t track = 0; track < of_track.size(); ++track) {
    page.tracks[track].slices = of_track[track];
  }
  page.merged_below_ps = below_ps;
  page.merged = std::move(slices);
  page.lanes = std::move(lanes);
  page.counts = std::move(counts);
  page.records.clear();
  for (const Record& record : page.merged) page.records.push_back(&record);
}

}  // namespace

PageSlices SlicesForPage(const Trace& trace, uint64_t begin_ps, size_t max_slices) {
  std::vector<std::vector<const Record*>> of_track(trace.tracks.size());
  for (const Record& record : trace.records) {
    if (begin_ps == 0 || record.end_ps > begin_ps) of_track[record.track].push_back(&record);
  }
  PageSlices page;
  for (const ProcessTracks& process : Processes(trace)) {
    for (const TrackId id : process.tracks) {
      auto& records = of_track[id];
      std::stable_sort(records.begin(), records.end(), [](const Record* a, const Record* b) {
        return a->start_ps != b->start_ps ? a->start_ps < b->start_ps : a->end_ps > b->end_ps;
      });
      PageTrack track{id, 1, records.size()};
      PageLanes lanes;
      for (const Record* record : records) {
        page.records.push_back(record);
        page.lanes.push_back(lanes.Place(*record));
        track.lanes = std::max(track.lanes, page.lanes.back() + 1);
      }
      page.tracks.push_back(track);
    }
  }
  if (page.records.size() > max_slices) MergeUntilTheyFit(page, max_slices);
  std::map<std::pair<NameId, uint32_t>, size_t> known;
  for (const Record* record : page.records) {
    const std::pair<NameId, uint32_t> kind{record->name, record->category};
    if (known.emplace(kind, known.size()).second) page.kinds.push_back(kind);
  }
  return page;
}

std::vector<std::string> EncodeSlices(const Trace& trace, const PageSlices& page) {
  std::map<std::pair<NameId, uint32_t>, size_t> kind_of;
  for (size_t i = 0; i < page.kinds.size(); ++i) kind_of[page.kinds[i]] = i;
  std::vector<uint32_t> page_track(trace.tracks.size());
  for (size_t i = 0; i < page.tracks.size(); ++i) {
    page_track[page.tracks[i].id] = static_cast<uint32_t>(i);
  }
  std::vector<std::string> blocks;
  for (size_t begin = 0; begin < page.records.size(); begin += kPageBlockSlices) {
    const size_t end = std::min(page.records.size(), begin + kPageBlockSlices);
    std::array<std::string, kColumns> columns;
    uint64_t flow = 0;
    for (size_t i = begin; i < end; ++i) {
      const Record& record = *page.records[i];
      const bool continues = i > begin && page.records[i - 1]->track == record.track;
      uint64_t detail = 0;
      if (record.category == kStep) detail = record.detail;
      // In a forged trace the number can be anything.
      if (record.category == kWait && record.detail < page_track.size()) {
        detail = page_track[record.detail];
      }
      AddNumber(columns[0], record.start_ps - (continues ? page.records[i - 1]->start_ps : 0));
      AddNumber(columns[1], record.end_ps - record.start_ps);
      AddNumber(columns[2], kind_of.at({record.name, record.category}));
      AddNumber(columns[3], Fold(record.flow - flow));
      AddNumber(columns[4], record.bytes);
      AddNumber(columns[5], detail);
      AddNumber(columns[6], page.lanes[i]);
      AddNumber(columns[7], page.counts.empty() ? 1 : page.counts[i]);
      flow = record.flow;
    }
    std::string block;
    for (const std::string& column : columns) {
      for (int shift = 0; shift < 32; shift += 8) {
        block += static_cast<char>(column.size() >> shift & 0xFF);
      }
      block += column;
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace spyre::trace
