// SPDX-License-Identifier: Apache-2.0
#include "cosim/smi/metric_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/error.h"

namespace spyre::cosim {
namespace {

constexpr uint64_t kPsPerMs = 1'000'000'000;
constexpr std::string_view kBusId = "%BUSID";
constexpr std::string_view kCardBusId = "0000:01:00.0";  // as bring-up's lspci dumps have it
constexpr uint8_t kBeingChanged = '!';
constexpr size_t kHeaderBytes = 32;
constexpr size_t kSectionHeadBytes = 32;

enum Section : uint32_t { kHost = 0x01, kRuntime = 0x10, kPerformance = 0x20 };
enum Metric : uint32_t {
  kHostCpu = 0x01,
  kPower = 0x10,
  kTemperature = 0x11,
  kReadMemory = 0x12,
  kWriteMemory = 0x13,
  kReceivedPcie = 0x14,
  kSentPcie = 0x15,
  kReadRdma = 0x16,
  kWriteRdma = 0x17,
  kAverageMemory = 0x81,
  kPeakMemory = 0x82,
};

void Put(std::vector<uint8_t>& bytes, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
}
void Put32(std::vector<uint8_t>& bytes, uint64_t value) { Put(bytes, value, 4); }
void Put64(std::vector<uint8_t>& bytes, uint64_t value) { Put(bytes, value, 8); }

using Metrics = std::vector<std::pair<Metric, uint64_t>>;

uint64_t Tenths(double value) {
  return static_cast<uint64_t>(std::llround(std::max(value, 0.0) * 10));
}

Metrics OfHost(const SmiReading& before, const SmiReading& now) {
  if (!now.host_busy_ps || !before.host_busy_ps) return {};
  const uint64_t span = now.card.time_ps - before.card.time_ps;
  const uint64_t busy = *now.host_busy_ps - *before.host_busy_ps;
  const double share = span == 0 ? 0 : static_cast<double>(busy) / static_cast<double>(span);
  return {{kHostCpu, Tenths(100 * share)}};
}

Metrics OfRuntime(const SmiReading& now) {
  if (!now.active_bytes || !now.peak_bytes) return {};
  return {{kAverageMemory, *now.active_bytes >> 20}, {kPeakMemory, *now.peak_bytes >> 20}};
}

Metrics OfCard(const SmiReading& before, const SmiReading& now) {
  const driver::PerformanceReading& card = now.card;
  const double span_s = static_cast<double>(card.time_ps - before.card.time_ps) * 1e-12;
  const double power_w =
      span_s > 0 ? (now.sensors.energy_j - before.sensors.energy_j) / span_s : now.sensors.power_w;
  return {{kPower, Tenths(power_w)},
          {kTemperature, Tenths(now.sensors.temperature_c)},
          {kReadMemory, card.device_read_bytes >> 10},
          {kWriteMemory, card.device_written_bytes >> 10},
          {kReceivedPcie, card.pcie_received_bytes >> 10},
          {kSentPcie, card.pcie_sent_bytes >> 10},
          {kReadRdma, card.peer_read_bytes >> 10},
          {kWriteRdma, card.peer_written_bytes >> 10}};
}

}  // namespace

std::vector<uint8_t> MetricBytes(const SmiReading& before, const SmiReading& now, uint32_t number,
                                 uint64_t interval_ps) {
  const uint64_t ms = now.card.time_ps / kPsPerMs;
  std::vector<std::pair<Section, Metrics>> sections;
  for (auto& section : {std::pair<Section, Metrics>{kHost, OfHost(before, now)},
                        {kRuntime, OfRuntime(now)},
                        {kPerformance, OfCard(before, now)}}) {
    if (!section.second.empty()) sections.push_back(section);
  }
  const auto size_of = [](const Metrics& metrics) {
    return kSectionHeadBytes + metrics.size() * 2 * sizeof(uint64_t);
  };
  size_t size = kHeaderBytes + sections.size() * sizeof(uint64_t);
  for (const auto& [type, metrics] : sections) size += size_of(metrics);

  std::vector<uint8_t> bytes = {'A', 'i', 'u', 'M'};
  Put32(bytes, size);
  for (const uint8_t part : {1, 0, 0, 0}) bytes.push_back(part);
  Put32(bytes, sections.size());
  Put64(bytes, ms);
  Put64(bytes, 0);
  for (const auto& [type, metrics] : sections) {
    Put32(bytes, type);
    Put32(bytes, size_of(metrics));
  }
  for (const auto& [type, metrics] : sections) {
    Put32(bytes, type);
    Put32(bytes, size_of(metrics));
    Put32(bytes, number);
    Put32(bytes, metrics.size());
    Put64(bytes, ms);
    Put32(bytes, std::max<uint64_t>(interval_ps / kPsPerMs, 1));
    Put32(bytes, 0);
    for (const auto& [metric, value] : metrics) {
      Put32(bytes, metric);
      Put32(bytes, 1);
    }
    for (const auto& [metric, value] : metrics) Put64(bytes, value);
  }
  return bytes;
}

MetricFile::MetricFile(const std::string& path) : path_(path) {
  const size_t at = path_.find(kBusId);
  if (at != std::string::npos) path_.replace(at, kBusId.size(), kCardBusId);
  claim_.emplace(path_);
  // What was there is kept until the first reading comes.
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) throw BadInput("metric file {}: {}", path_, std::strerror(errno)).Subject(path_);
}

MetricFile::~MetricFile() {
  claim_->Written();
  close(file_);
}

void MetricFile::WriteAt(const uint8_t* bytes, size_t size, size_t offset) const {
  while (size > 0) {
    const ssize_t written = pwrite(file_, bytes, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      throw BadInput("metric file {}: {}", path_, std::strerror(errno)).Subject(path_);
    bytes += written;
    size -= static_cast<size_t>(written);
    offset += static_cast<size_t>(written);
  }
}

void MetricFile::Write(const std::vector<uint8_t>& bytes) {
  claim_->Require();
  WriteAt(&kBeingChanged, 1, 0);
  WriteAt(bytes.data() + 1, bytes.size() - 1, 1);
  if (ftruncate(file_, static_cast<off_t>(bytes.size())) != 0)
    throw BadInput("metric file {}: {}", path_, std::strerror(errno)).Subject(path_);
  WriteAt(bytes.data(), 1, 0);
}

}  // namespace spyre::cosim
