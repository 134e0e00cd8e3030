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

// Slices of one track, by lane the last one, which may take its neighbours in.
class Merger {
 public:
  Merger(std::vector<Record>& slices, std::vector<uint32_t>& lanes, std::vector<uint32_t>& counts,
         uint64_t below_ps)
      : slices_(slices), lanes_(lanes), counts_(counts), below_ps_(below_ps) {
    last_.fill(SIZE_MAX);
  }

  void Add(const Record& record, uint32_t lane) {
    if (last_[lane] != SIZE_MAX) {
      Record& slice = slices_[last_[lane]];
      uint32_t& count = counts_[last_[lane]];
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
    last_[lane] = slices_.size();
    slices_.push_back(record);
    lanes_.push_back(lane);
    counts_.push_back(1);
  }

 private:
  std::vector<Record>& slices_;
  std::vector<uint32_t>& lanes_;
  std::vector<uint32_t>& counts_;
  const uint64_t below_ps_;
  std::array<size_t, kPageLanes> last_;
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
  const Lanes lanes = AssignLanes(trace);
  std::vector<std::pair<size_t, size_t>> of_track(trace.tracks.size());  // first, count in order
  for (size_t i = 0; i < lanes.order.size(); ++i) {
    auto& [first, count] = of_track[trace.records[lanes.order[i]].track];
    if (count++ == 0) first = i;
  }
  PageSlices page;
  for (const ProcessTracks& process : Processes(trace)) {
    for (const TrackId id : process.tracks) {
      PageTrack track{id, 1, 0};
      const auto [first, count] = of_track[id];
      for (size_t i = first; i < first + count; ++i) {
        const Record& record = trace.records[lanes.order[i]];
        if (begin_ps != 0 && record.end_ps <= begin_ps) continue;
        const uint32_t lane = std::min(lanes.lane[lanes.order[i]], kPageLanes - 1);
        page.records.push_back(&record);
        page.lanes.push_back(lane);
        track.lanes = std::max(track.lanes, lane + 1);
        ++track.slices;
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
      // Of a forged trace the number can be any.
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
