// SPDX-License-Identifier: Apache-2.0
#include "traces/report.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "traces/lanes.h"
#include "traces/summary.h"
#include "traces/text.h"

namespace spyre::trace {
namespace {

constexpr size_t kRows = 4;  // drawn rows per track; what overlaps further shares the last

// What the page draws: a slice, or several short ones of one row that follow each other.
struct Bar {
  uint64_t start_ps, end_ps;
  const Record* first;
  uint64_t count;
  uint64_t bytes;
  size_t row;
};

// Merges neighbours when both and the gap between them are shorter than `pixel_ps`.
std::vector<Bar> Bars(const std::vector<const Record*>& records, uint64_t pixel_ps) {
  std::vector<Bar> bars;
  std::array<uint64_t, kRows> row_end = {};
  std::array<size_t, kRows> last_bar;
  last_bar.fill(SIZE_MAX);
  for (const Record* record : records) {
    size_t row = 0;
    while (row + 1 < kRows && row_end[row] > record->start_ps) ++row;
    row_end[row] = std::max(row_end[row], record->end_ps);
    const uint64_t length = record->end_ps - record->start_ps;
    if (last_bar[row] != SIZE_MAX) {
      Bar& bar = bars[last_bar[row]];
      const bool is_close =
          record->start_ps <= bar.end_ps || record->start_ps - bar.end_ps < pixel_ps;
      const bool is_short = (bar.end_ps - bar.start_ps) / bar.count < pixel_ps && length < pixel_ps;
      if (is_close && is_short) {
        bar.end_ps = std::max(bar.end_ps, record->end_ps);
        ++bar.count;
        bar.bytes += record->bytes;
        continue;
      }
    }
    last_bar[row] = bars.size();
    bars.push_back({record->start_ps, record->end_ps, record, 1, record->bytes, row});
  }
  return bars;
}

// Of what ends in the window of the summary.
nlohmann::json TimelineJson(const Trace& trace, const Summary& summary, size_t max_slices) {
  std::vector<std::vector<const Record*>> by_track(trace.tracks.size());
  for (const uint32_t index : AssignLanes(trace).order) {
    const Record& record = trace.records[index];
    if (summary.begin_ps == 0 || record.end_ps > summary.begin_ps)
      by_track[record.track].push_back(&record);
  }
  uint64_t pixel_ps = 0;
  const uint64_t coarsest_ps = std::max<uint64_t>(summary.run_ps(), 1);  // about one bar per row
  std::vector<std::vector<Bar>> bars(trace.tracks.size());
  for (;;) {
    size_t total = 0;
    for (size_t i = 0; i < bars.size(); ++i) {
      bars[i] = Bars(by_track[i], pixel_ps);
      total += bars[i].size();
    }
    if (total <= max_slices || pixel_ps == coarsest_ps) break;
    pixel_ps =
        pixel_ps > coarsest_ps / 4 ? coarsest_ps : std::max(pixel_ps * 4, coarsest_ps / 65536 + 1);
  }
  auto processes = nlohmann::json::array();
  for (const ProcessTracks& process : Processes(trace)) {
    auto tracks = nlohmann::json::array();
    for (const TrackId id : process.tracks) {
      size_t rows = 1;
      auto numbers = nlohmann::json::array();  // flat: the page reads seven numbers per bar
      for (const Bar& bar : bars[id]) {
        rows = std::max(rows, bar.row + 1);
        numbers.insert(numbers.end(), {bar.start_ps, bar.end_ps - bar.start_ps, bar.first->name,
                                       bar.first->flow, bar.bytes, bar.count, bar.row});
      }
      tracks.push_back({{"name", trace.tracks[id].name}, {"rows", rows}, {"bars", numbers}});
    }
    processes.push_back({{"name", process.name}, {"tracks", tracks}});
  }
  return {{"processes", processes}, {"names", trace.names}, {"merged_below_ps", pixel_ps}};
}

// JSON inside a script element: no text may close the element.
std::string ForScript(const nlohmann::json& value) {
  std::string out;
  for (const char c : value.dump()) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string ForHtml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

void WriteReport(const Trace& trace, const std::string& title, std::ostream& out,
                 size_t max_slices) {
  const Summary summary = Summarize(trace);
  nlohmann::json data = {{"summary", ToJson(summary)},
                         {"begin_ps", summary.begin_ps},
                         {"end_ps", summary.end_ps},
                         {"timeline", TimelineJson(trace, summary, max_slices)}};
  std::string_view page = kReportPage;
  const auto put_until = [&](std::string_view mark, const std::string& text) {
    const size_t at = page.find(mark);
    out << page.substr(0, at) << text;
    page.remove_prefix(at + mark.size());
  };
  put_until("%TITLE%", ForHtml(Printable(title)));
  put_until("%DATA%", ForScript(data));
  out << page;
}

}  // namespace spyre::trace
