// SPDX-License-Identifier: Apache-2.0
#include "cosim/smi/smi_table.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/time_units.h"

namespace spyre::cosim {
namespace {

constexpr const char* kGroups = "DRMUPSA";

// The change from one reading to the next.
struct Span {
  const SmiReading& before;
  const SmiReading& now;

  double Seconds() const {
    return static_cast<double>(now.card.time_ps - before.card.time_ps) / kPsPerSecond;
  }
  // Of a counter of the card, in a second.
  double Rate(uint64_t driver::PerformanceReading::*counter) const {
    const double seconds = Seconds();
    return seconds > 0 ? static_cast<double>(now.card.*counter - before.card.*counter) / seconds
                       : 0;
  }
};

using Cell = std::optional<double>;  // empty: not known

struct Column {
  char group;  // ' ': always there
  const char* name;
  const char* unit;
  int width;
  int decimals;
  Cell (*value)(const Span& span);
};

template <uint64_t driver::PerformanceReading::*counter>
Cell GibRate(const Span& span) {
  return span.Rate(counter) / (1 << 30);
}
template <uint64_t driver::PerformanceReading::*counter>
Cell Requests(const Span& span) {
  return span.Rate(counter);
}
template <size_t segment>
Cell Segment(const Span& span) {
  const std::vector<uint64_t>& bytes = span.now.segment_bytes;
  return segment < bytes.size() ? Cell(static_cast<double>(bytes[segment]) / (1 << 20)) : Cell();
}

Cell Mib(const std::optional<uint64_t>& bytes) {
  return bytes ? Cell(static_cast<double>(*bytes) / (1 << 20)) : Cell();
}

Cell HostCpu(const Span& span) {
  if (!span.now.host_busy_ps || !span.before.host_busy_ps || span.Seconds() == 0) return {};
  const auto busy = static_cast<double>(*span.now.host_busy_ps - *span.before.host_busy_ps);
  return 100 * busy / kPsPerSecond / span.Seconds();
}

// The mean of the interval; the sensor's own mean begins at the last reading, by any client.
Cell Power(const Span& span) {
  if (span.Seconds() == 0) return span.now.sensors.power_w;
  return (span.now.sensors.energy_j - span.before.sensors.energy_j) / span.Seconds();
}

Cell PtActive(const Span& span) {
  const double peak =
      static_cast<double>(span.now.cores) * static_cast<double>(span.now.core_clock_mhz) * 1e6;
  return peak > 0 ? 100 * span.Rate(&driver::PerformanceReading::pt_active_cycles) / peak : 0;
}

using Reading = driver::PerformanceReading;

// Names, units, widths and decimals of the always present columns, of D and of M are those of
// public listings; the other names are of the public description, with widths like these.
constexpr Column kColumns[] = {
    {' ', "hostcpu", "%", 9, 1, HostCpu},
    {' ', "hostmem", "%", 8, 1, [](const Span&) { return Cell(); }},
    {' ', "pwr", "W", 7, 1, Power},
    {' ', "gtemp", "C", 7, 1,
     [](const Span& span) { return Cell(span.now.sensors.temperature_c); }},
    {' ', "busy", "%", 7, 0,
     [](const Span& span) { return Cell(100 * span.Rate(&Reading::busy_ps) / kPsPerSecond); }},
    {'D', "rdmem", "GB/s", 9, 3, GibRate<&Reading::device_read_bytes>},
    {'D', "wrmem", "GB/s", 9, 3, GibRate<&Reading::device_written_bytes>},
    {'D', "rxpci", "GB/s", 9, 3, GibRate<&Reading::pcie_received_bytes>},
    {'D', "txpci", "GB/s", 9, 3, GibRate<&Reading::pcie_sent_bytes>},
    {'D', "rdrdma", "GB/s", 9, 3, GibRate<&Reading::peer_read_bytes>},
    {'D', "wrrdma", "GB/s", 9, 3, GibRate<&Reading::peer_written_bytes>},
    {'R', "n_rdmem", "1/s", 12, 0, Requests<&Reading::device_reads>},
    {'R', "n_wrmem", "1/s", 12, 0, Requests<&Reading::device_writes>},
    {'R', "n_rxpci", "1/s", 12, 0, Requests<&Reading::pcie_reads>},
    {'R', "n_txpci", "1/s", 12, 0, Requests<&Reading::pcie_writes>},
    {'R', "n_rdrdma", "1/s", 12, 0, Requests<&Reading::peer_reads>},
    {'R', "n_wrrdma", "1/s", 12, 0, Requests<&Reading::peer_writes>},
    {'M', "rsvmem", "MB", 12, 3, [](const Span& span) { return Mib(span.now.card.memory_bytes); }},
    {'U', "actmem", "MB", 12, 3, [](const Span& span) { return Mib(span.now.active_bytes); }},
    {'U', "peakmem", "MB", 12, 3, [](const Span& span) { return Mib(span.now.peak_bytes); }},
    {'P', "pt_active", "%", 10, 1, PtActive},
    {'S', "seg0", "MB", 12, 3, Segment<0>},
    {'S', "seg1", "MB", 12, 3, Segment<1>},
    {'S', "seg2", "MB", 12, 3, Segment<2>},
    {'S', "seg3", "MB", 12, 3, Segment<3>},
    {'S', "seg4", "MB", 12, 3, Segment<4>},
    {'S', "seg5", "MB", 12, 3, Segment<5>},
    {'S', "seg6", "MB", 12, 3, Segment<6>},
    {'S', "seg7", "MB", 12, 3, Segment<7>},
};

bool Shows(const SmiFormat& format, const Column& column) {
  return column.group == ' ' || format.groups.find('A') != std::string::npos ||
         format.groups.find(column.group) != std::string::npos;
}

// Digits of a second that tell two readings apart.
int FractionDigits(uint64_t interval_ps) {
  int digits = 0;
  for (uint64_t step = 1'000'000'000'000; digits < 9 && interval_ps % step != 0; step /= 10)
    ++digits;
  return digits;
}

int TimeWidth(const SmiFormat& format) {
  const int digits = FractionDigits(format.interval_ps);
  return 8 + (digits == 0 ? 0 : digits + 1);
}

// Simulated time, as if it had begun with the year 1970.
std::pair<std::string, std::string> DateAndTime(const SmiFormat& format, uint64_t ps) {
  const int digits = FractionDigits(format.interval_ps);
  uint64_t unit_ps = 1'000'000'000'000;
  for (int i = 0; i < digits; ++i) unit_ps /= 10;
  const uint64_t units = (ps + unit_ps / 2) / unit_ps;
  const uint64_t in_second = 1'000'000'000'000 / unit_ps;
  const auto seconds = static_cast<std::time_t>(units / in_second);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::string time = fmt::format("{:02}:{:02}:{:02}", parts.tm_hour, parts.tm_min, parts.tm_sec);
  if (digits > 0) time += fmt::format(".{:0{}}", units % in_second, digits);
  return {fmt::format("{:04}{:02}{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday),
          time};
}

}  // namespace

void CheckGroups(const std::string& groups) {
  const size_t wrong = groups.find_first_not_of(kGroups);
  if (wrong == std::string::npos && !groups.empty()) return;
  throw BadInput(
      "-g {}: groups are D data rates, R requests, M reserved memory, U used memory, P PT arrays, "
      "S "
      "segments, A all; give some of these letters",
      groups)
      .Subject("-g")
      .Value(groups);
}

std::string SmiHeader(const SmiFormat& format) {
  const std::string note = "# pwr and gtemp are modelled, not measured; times are simulated\n";
  if (format.csv) {
    std::string line = "ID,Date YYYYMMDD,Time HH:MM:SS";
    for (const Column& column : kColumns)
      if (Shows(format, column)) line += fmt::format(",{} {}", column.name, column.unit);
    return note + line + "\n";
  }
  const int width = TimeWidth(format);
  std::string names = fmt::format("#ID {:<8}  {:<{}}", "Date", "Time", width);
  std::string units = fmt::format("#   {:<8}  {:<{}}", "YYYYMMDD", "HH:MM:SS", width);
  for (const Column& column : kColumns) {
    if (!Shows(format, column)) continue;
    names += fmt::format("{:>{}}", column.name, column.width);
    units += fmt::format("{:>{}}", column.unit, column.width);
  }
  return note + names + "\n" + units + "\n";
}

std::string SmiLine(const SmiFormat& format, const SmiReading& before, const SmiReading& now) {
  const Span span{before, now};
  const auto [date, time] = DateAndTime(format, now.card.time_ps);
  std::string line = format.csv
                         ? fmt::format("0,{},{}", date, time)
                         : fmt::format("{:>3} {:<8}  {:<{}}", 0, date, time, TimeWidth(format));
  for (const Column& column : kColumns) {
    if (!Shows(format, column)) continue;
    const Cell value = column.value(span);
    const std::string text = value ? fmt::format("{:.{}f}", *value, column.decimals) : "-";
    line += format.csv ? "," + text : fmt::format("{:>{}}", text, column.width);
  }
  return line + "\n";
}

bool DidWork(const SmiReading& before, const SmiReading& now) {
  return now.card.busy_ps != before.card.busy_ps ||
         now.card.pcie_received_bytes != before.card.pcie_received_bytes ||
         now.card.pcie_sent_bytes != before.card.pcie_sent_bytes;
}

uint64_t ParseInterval(const std::string& text, const char* option) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const std::string unit(stop, end);
  double scale = 0;
  for (const auto& [name, seconds] : {std::pair<const char*, double>{"", 1},
                                      {"s", 1},
                                      {"ms", 1e-3},
                                      {"us", 1e-6},
                                      {"ns", 1e-9}}) {
    if (unit == name) scale = seconds;
  }
  const double ps = number * scale * kPsPerSecond;
  if (error == std::errc() && ps >= 1e3 && ps <= 1e18)
    return static_cast<uint64_t>(std::llround(ps));
  throw BadInput("{} {}: give a time from 1ns on, such as 100us, 1ms or 2 (seconds)", option, text)
      .Subject(option)
      .Value(text);
}

}  // namespace spyre::cosim
