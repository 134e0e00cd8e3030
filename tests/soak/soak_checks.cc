// SPDX-License-Identifier: Apache-2.0
#include "tests/soak/soak_checks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace spyre::cosim {

namespace {

// Pools grow until they have met their worst case; from the first quarter of the samples on, what
// still grows by more than this is kept by somebody for ever.
constexpr uint64_t kGrowthBytes = 24ull << 20;
constexpr double kGrowthShare = 0.1;
// Where refresh of memory falls moves short work a little.
constexpr double kDriftShare = 0.05;
// A register access lies between the two readings of the clocks.
constexpr uint64_t kClockPs = 10'000'000;

double Hours(uint64_t ps) { return static_cast<double>(ps) / 3.6e15; }

void JudgeCount(const char* what, const SoakSample& sample, uint64_t given, uint64_t answered,
                uint64_t counted, std::vector<std::string>& findings) {
  if (answered <= counted && counted <= given) return;
  findings.push_back(fmt::format(
      "{}: the firmware has counted {} after {:.2f} hours; {} were given to the card and "
      "{} answered",
      what, counted, Hours(sample.time_ps), given, answered));
}

void JudgeOne(const SoakSample& sample, const SoakSample& first,
              std::vector<std::string>& findings) {
  const double hours = Hours(sample.time_ps);
  const auto constant = [&](const char* what, uint64_t value, uint64_t expected) {
    if (value == expected) return;
    findings.push_back(
        fmt::format("{}: {} after {:.2f} hours, with nothing outstanding; {} are due", what, value,
                    hours, expected));
  };
  constant("host mappings", sample.host_mappings, first.host_mappings);
  constant("allocations", sample.allocations, first.allocations);
  constant("operations outstanding", sample.outstanding, 0);
  if (!sample.card_is_idle)
    findings.push_back(fmt::format("the card still works after {:.2f} hours", hours));
  JudgeCount("entries", sample, sample.given, sample.answered, sample.counted, findings);
  JudgeCount("bytes", sample, sample.given_bytes, sample.answered_bytes, sample.counted_bytes,
             findings);
  if (sample.device_ps < sample.time_ps || sample.device_ps - sample.time_ps > kClockPs) {
    findings.push_back(fmt::format("the card's clock shows {} ps at {} ps of simulated time",
                                   sample.device_ps, sample.time_ps));
  }
}

}  // namespace

std::vector<std::string> JudgeSoak(const std::vector<SoakSample>& samples) {
  std::vector<std::string> findings;
  if (samples.empty()) return findings;
  for (const SoakSample& sample : samples) {
    JudgeOne(sample, samples.front(), findings);
    if (!findings.empty()) break;  // what is wrong once is wrong in all that follow
  }
  const SoakSample& warm = samples[samples.size() / 4];
  const SoakSample& last = samples.back();
  const auto allowed = std::max(
      kGrowthBytes, static_cast<uint64_t>(kGrowthShare * static_cast<double>(warm.resident_bytes)));
  if (last.resident_bytes > warm.resident_bytes + allowed) {
    findings.push_back(
        fmt::format("memory of this process: {} MiB after {:.2f} hours, {} MiB after "
                    "{:.2f} hours",
                    warm.resident_bytes >> 20, Hours(warm.time_ps), last.resident_bytes >> 20,
                    Hours(last.time_ps)));
  }
  const auto [shortest, longest] = std::minmax_element(
      samples.begin(), samples.end(),
      [](const auto& a, const auto& b) { return a.reference_ps < b.reference_ps; });
  const auto spread = static_cast<double>(longest->reference_ps - shortest->reference_ps);
  if (spread > kDriftShare * static_cast<double>(shortest->reference_ps)) {
    findings.push_back(
        fmt::format("the same work took {} ns after {:.2f} hours and {} ns after "
                    "{:.2f} hours",
                    shortest->reference_ps / 1000, Hours(shortest->time_ps),
                    longest->reference_ps / 1000, Hours(longest->time_ps)));
  }
  return findings;
}

uint64_t ResidentBytes() {
  std::ifstream in("/proc/self/statm");
  uint64_t size = 0, resident = 0;
  in >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace spyre::cosim
