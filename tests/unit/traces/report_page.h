// SPDX-License-Identifier: Apache-2.0
// Reads a report page back, by the description of its parts in traces/report.h and
// traces/report_slices.h. Shares no code with what writes it.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/json_text.h"
#include "traces/report.h"

namespace spyre::trace {

inline std::string Report(const std::vector<ReportRun>& runs, size_t max = kReportSlices) {
  std::ostringstream out;
  WriteReport(runs, out, max);
  return out.str();
}

inline std::string FromBase64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    const size_t digit = digits.find(c);
    if (digit == std::string::npos) throw std::runtime_error("not base64: " + std::string(1, c));
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xFF);
  }
  return out;
}

inline std::string Inflate(const std::string& packed) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) throw std::runtime_error("inflateInit");
  std::string in = packed, out;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  std::string buffer(1 << 16, '\0');
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    status = inflate(&stream, Z_NO_FLUSH);
    out.append(buffer.data(), buffer.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("not a whole zlib stream");
  return out;
}

// The unpacked content of the script element of that id.
inline std::string Part(const std::string& page, const std::string& id) {
  const std::string open = "<script type=\"text/plain\" id=\"" + id + "\">";
  const size_t at = page.find(open);
  if (at == std::string::npos) throw std::runtime_error("the page has no part " + id);
  const size_t begin = at + open.size();
  return Inflate(FromBase64(page.substr(begin, page.find("</script>", begin) - begin)));
}

inline nlohmann::json Head(const std::string& page, int run = 0) {
  return SortedJsonOf(Part(page, "run-" + std::to_string(run) + "-head"));
}

struct PageSlice {
  std::string track, name, category;
  uint64_t start_ps, length_ps, flow, bytes, detail, lane, count;
};

inline std::vector<PageSlice> Slices(const std::string& page, int run = 0) {
  const nlohmann::json head = Head(page, run);
  std::vector<PageSlice> slices;
  for (const auto& track : head["tracks"]) {
    const std::string path =
        track["process"].get<std::string>() + "/" + track["name"].get<std::string>();
    for (uint64_t i = 0; i < track["slices"]; ++i)
      slices.push_back({path, "", "", 0, 0, 0, 0, 0, 0, 0});
  }
  size_t at = 0;
  for (size_t block = 0; block < head["blocks"]; ++block) {
    const std::string bytes =
        Part(page, "run-" + std::to_string(run) + "-slices-" + std::to_string(block));
    const size_t begin = at;
    const size_t end = std::min<size_t>(slices.size(), begin + head["block_slices"].get<size_t>());
    size_t p = 0;
    const auto column = [&](auto take) {
      p += 4;  // its length
      for (size_t i = begin; i < end; ++i) {
        uint64_t value = 0;
        for (int shift = 0;; shift += 7) {
          const auto byte = static_cast<uint8_t>(bytes.at(p++));
          value |= static_cast<uint64_t>(byte & 127) << shift;
          if (byte < 128) break;
        }
        take(i, value);
      }
    };
    uint64_t now = 0, flow = 0;
    column([&](size_t i, uint64_t value) {
      if (i == begin || slices[i].track != slices[i - 1].track) now = 0;
      slices[i].start_ps = now += value;
    });
    column([&](size_t i, uint64_t value) { slices[i].length_ps = value; });
    column([&](size_t i, uint64_t value) {
      const auto& kind = head["kinds"][value];
      slices[i].name = head["names"][kind["name"].get<size_t>()];
      slices[i].category = kind["category"];
    });
    column([&](size_t i, uint64_t value) {
      flow += value % 2 == 1 ? ~(value >> 1) : value >> 1;
      slices[i].flow = flow;
    });
    column([&](size_t i, uint64_t value) { slices[i].bytes = value; });
    column([&](size_t i, uint64_t value) { slices[i].detail = value; });
    column([&](size_t i, uint64_t value) { slices[i].lane = value; });
    column([&](size_t i, uint64_t value) { slices[i].count = value; });
    at = end;
  }
  return slices;
}

}  // namespace spyre::trace
