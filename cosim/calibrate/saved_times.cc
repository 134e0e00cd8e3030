// SPDX-License-Identifier: Apache-2.0
#include "cosim/calibrate/saved_times.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/json_reader.h"

namespace spyre::cosim {
namespace {

double Microseconds(const JsonReader& time) {
  if (!time.value().is_number()) time.Fail("microseconds are expected");
  return time.value().get<double>();
}

uint64_t Picoseconds(const JsonReader& time) {
  constexpr double kPsPerUs = 1e6;
  const double us = Microseconds(time);
  if (!(us > 0) || us > kMaxPointUs) time.Fail("microseconds above 0 are expected");
  return static_cast<uint64_t>(std::llround(us * kPsPerUs));
}

PointResult ResultOf(const JsonReader& saved) {
  PointResult result;
  if (saved.Has("failure")) {
    result.failure = saved.At("failure").String();
    return result;
  }
  result.device_ps = Picoseconds(saved.At("simulated_us"));
  if (saved.Has("timed_us")) result.timed_ps = Picoseconds(saved.At("timed_us"));
  return result;
}

}  // namespace

std::vector<PointResult> ParseSavedTimes(const std::string& text, const std::string& name,
                                         const std::vector<CalibrationPoint>& points) {
  const nlohmann::json document = ParseJson(text, name);
  const JsonReader list = JsonReader(document, name).At("points");
  std::map<std::pair<std::string, int64_t>, size_t> places;  // by file and index
  for (size_t i = 0; i < list.Size(); ++i) {
    const JsonReader saved = list.At(i);
    places.emplace(std::pair(saved.At("file").String(), saved.At("index").Integer(0, INT64_MAX)),
                   i);
  }
  std::vector<PointResult> results;
  for (const CalibrationPoint& point : points) {
    const auto place = places.find({point.file, static_cast<int64_t>(point.index)});
    if (place == places.end())
      throw BadInput("{}: there is no time of {} ({})", name, point.Where(), point.Describe());
    const JsonReader saved = list.At(place->second);
    if (saved.At("op").String() != point.op ||
        Microseconds(saved.At("reference_us")) != point.reference_us) {
      throw BadInput("{}: {} is of another kernel than {} ({}); write the file again", name,
                     saved.where(), point.Where(), point.Describe());
    }
    results.push_back(ResultOf(saved));
  }
  return results;
}

std::vector<PointResult> ReadSavedTimes(const std::string& path,
                                        const std::vector<CalibrationPoint>& points) {
  return ParseSavedTimes(ReadFile(path, "file of times"), path, points);
}

}  // namespace spyre::cosim
