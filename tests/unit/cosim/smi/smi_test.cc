// SPDX-License-Identifier: Apache-2.0
// The lines of `smi` against those of public listings, and metric files against a decoder of the
// public description that shares nothing with the writer.
#include <gmock/gmock.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "base/error.h"
#include "cosim/smi/printing_monitor.h"

namespace spyre::cosim::smi_test {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kSecond = 1'000'000'000'000;

// A card that has read 3 GiB and written 1 GiB of its memory in one second.
SmiReading Before() {
  SmiReading reading;
  reading.card.time_ps = 5 * kSecond;
  reading.sensors.temperature_c = 30.8;
  reading.sensors.energy_j = 100;
  reading.cores = 32;
  reading.core_clock_mhz = 1000;
  reading.host_busy_ps = 0;
  return reading;
}
SmiReading After() {
  SmiReading reading = Before();
  reading.card.time_ps += kSecond;
  reading.card.device_read_bytes = 3ull << 30;
  reading.card.device_written_bytes = 1ull << 30;
  reading.card.pcie_received_bytes = 1ull << 29;
  reading.card.device_reads = 786'432;
  reading.card.busy_ps = kSecond / 2;
  reading.card.pt_active_cycles = 16'000'000'000;  // of 32 x 1e9
  reading.card.memory_bytes = 512 << 20;
  reading.sensors.energy_j = 118.9;
  reading.host_busy_ps = kSecond / 4;
  reading.active_bytes = 256 << 20;
  reading.peak_bytes = 300 << 20;
  reading.segment_bytes = {1 << 20, 0, 0, 0, 0, 0, 0, 2 << 20};
  return reading;
}

SmiFormat Format(const std::string& groups, bool csv = false, uint64_t interval = kSecond) {
  return {groups, csv, interval};
}

TEST(SmiTable, HasTheColumnsOfAPublicListing) {
  EXPECT_THAT(
      SmiHeader(Format("DM")),
      HasSubstr("\n#ID Date      Time      hostcpu hostmem    pwr  gtemp   busy    rdmem    "
                "wrmem    rxpci    txpci   rdrdma   wrrdma"));
  EXPECT_THAT(
      SmiHeader(Format("D")),
      HasSubstr("\n#   YYYYMMDD  HH:MM:SS        %       %      W      C      %     GB/s "));
  EXPECT_EQ(SmiLine(Format("D"), Before(), After()),
            "  0 19700101  00:00:06     25.0       -   18.9   30.8     50    3.000    1.000    "
            "0.500    0.000    0.000    0.000\n");
}

TEST(SmiTable, ShowsTheGroupsThatAreAskedFor) {
  EXPECT_THAT(SmiHeader(Format("R")),
              ::testing::AllOf(HasSubstr("n_rdmem"), ::testing::Not(HasSubstr(" rdmem"))));
  EXPECT_THAT(SmiLine(Format("R"), Before(), After()), HasSubstr("      786432"));
  EXPECT_THAT(SmiLine(Format("U"), Before(), After()), HasSubstr("     256.000     300.000"));
  EXPECT_THAT(SmiLine(Format("P"), Before(), After()), HasSubstr("      50.0\n"));
  EXPECT_THAT(SmiLine(Format("S"), Before(), After()), HasSubstr("       1.000       0.000"));
  EXPECT_THAT(SmiHeader(Format("A")),
              ::testing::AllOf(HasSubstr("rsvmem"), HasSubstr("peakmem"), HasSubstr("pt_active"),
                               HasSubstr("seg7"), HasSubstr("n_wrrdma")));
  EXPECT_THROW(CheckGroups("DX"), Error);
  EXPECT_THROW(CheckGroups(""), Error);
  CheckGroups("DRMUPSA");
}

// The public viewer takes the first word of each column of the line that begins with "ID,".
TEST(SmiTable, AsCommaSeparatedValuesCanBeReadByName) {
  std::istringstream header(SmiHeader(Format("D", true)));
  std::string line;
  while (std::getline(header, line) && line.rfind("ID,", 0) != 0)
    EXPECT_EQ(line[0], '#') << "everything else is a comment";
  const auto cells = [](const std::string& text) {
    std::vector<std::string> all;
    std::istringstream in(text);
    for (std::string cell; std::getline(in, cell, ',');) all.push_back(cell);
    return all;
  };
  const std::vector<std::string> names = cells(line);
  std::string text = SmiLine(Format("D", true), Before(), After());
  text.pop_back();
  const std::vector<std::string> values = cells(text);
  ASSERT_EQ(names.size(), values.size());
  std::map<std::string, std::string> row;
  for (size_t i = 0; i < names.size(); ++i) row[names[i].substr(0, names[i].find(' '))] = values[i];
  EXPECT_EQ(row["pwr"], "18.9");
  EXPECT_EQ(row["busy"], "50");
  EXPECT_EQ(row["rdmem"], "3.000");
  EXPECT_EQ(row["hostmem"], "-");
}

TEST(SmiTable, TimesAreAsFineAsTheInterval) {
  SmiReading now = After();
  now.card.time_ps = 123'400'000'000 + 5 * kSecond;
  EXPECT_THAT(SmiLine(Format("D", true, kSecond / 10'000), Before(), now),
              HasSubstr("19700101,00:00:05.1234,"));
}

TEST(SmiTable, IntervalsHaveUnits) {
  EXPECT_EQ(ParseInterval("2", "-d"), 2 * kSecond);
  EXPECT_EQ(ParseInterval("0.5s", "-d"), kSecond / 2);
  EXPECT_EQ(ParseInterval("20ms", "-d"), kSecond / 50);
  EXPECT_EQ(ParseInterval("100us", "-d"), kSecond / 10'000);
  EXPECT_EQ(ParseInterval("1ns", "-d"), 1000u);
  for (const char* text : {"", "us", "0", "-1", "5 us", "3h", "0.1ns", "nan"})
    EXPECT_THROW(ParseInterval(text, "-d"), Error) << text;
}

TEST(PrintingMonitor, LeavesOutWhatHadNoWorkAndSaysHowMuch) {
  std::ostringstream out;
  SmiSettings settings;
  settings.format = Format("D");
  PrintingMonitor monitor(settings, &out);
  SmiReading reading = Before();
  monitor.Take(reading);
  for (int i = 0; i < 3; ++i) {
    reading.card.time_ps += kSecond;
    monitor.Take(reading);
  }
  EXPECT_EQ(monitor.lines(), 0u);
  reading.card.time_ps += kSecond;
  reading.card.busy_ps += 1;
  monitor.Take(reading);
  monitor.Take(reading);  // the same moment: no line
  EXPECT_EQ(monitor.lines(), 1u);
  EXPECT_THAT(out.str(), HasSubstr("# 3 intervals without work\n"));
}

// ---------------------------------------------------------------- metric files

uint64_t Number(const std::string& bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i)
    value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes.at(at + i))) << (8 * i);
  return value;
}

struct Decoded {
  uint64_t ms = 0;
  std::map<uint64_t, std::map<uint64_t, uint64_t>> sections;  // type, metric, sum of words
  std::map<uint64_t, uint64_t> numbers;                       // type, sequence number
};

// From the public description: header, table of sections, sections.
Decoded Decode(const std::string& bytes) {
  Decoded decoded;
  EXPECT_EQ(bytes.substr(0, 4), "AiuM");
  EXPECT_EQ(Number(bytes, 4, 4), bytes.size());
  EXPECT_EQ(bytes[8], 1) << "version 1.0";
  EXPECT_EQ(bytes[9], 0);
  const uint64_t sections = Number(bytes, 12, 4);
  decoded.ms = Number(bytes, 16, 8);
  size_t at = 32 + 8 * sections;
  for (uint64_t i = 0; i < sections; ++i) {
    const uint64_t type = Number(bytes, 32 + 8 * i, 4), size = Number(bytes, 36 + 8 * i, 4);
    EXPECT_EQ(size % 8, 0u);
    EXPECT_EQ(Number(bytes, at, 4), type);
    EXPECT_EQ(Number(bytes, at + 4, 4), size);
    decoded.numbers[type] = Number(bytes, at + 8, 4);
    const uint64_t metrics = Number(bytes, at + 12, 4);
    EXPECT_EQ(Number(bytes, at + 16, 8), decoded.ms);
    size_t word = at + 32 + 8 * metrics;
    for (uint64_t metric = 0; metric < metrics; ++metric) {
      const uint64_t id = Number(bytes, at + 32 + 8 * metric, 4);
      for (uint64_t left = Number(bytes, at + 36 + 8 * metric, 4); left > 0; --left, word += 8)
        decoded.sections[type][id] += Number(bytes, word, 8);
    }
    EXPECT_EQ(word, at + size);
    at += size;
  }
  EXPECT_EQ(at, bytes.size());
  return decoded;
}

std::string Text(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

TEST(MetricFile, IsWhatThePublicDescriptionSays) {
  const Decoded decoded = Decode(Text(MetricBytes(Before(), After(), 7, kSecond)));
  EXPECT_EQ(decoded.ms, 6000u);
  ASSERT_EQ(decoded.sections.size(), 3u);
  const auto& host = decoded.sections.at(0x01);
  const auto& runtime = decoded.sections.at(0x10);
  const auto& card = decoded.sections.at(0x20);
  EXPECT_EQ(decoded.numbers.at(0x20), 7u);
  EXPECT_EQ(host.at(0x01), 250u) << "0.1 %";
  EXPECT_EQ(runtime.at(0x81), 256u) << "MiB";
  EXPECT_EQ(runtime.at(0x82), 300u);
  EXPECT_EQ(card.at(0x10), 189u) << "0.1 W";
  EXPECT_EQ(card.at(0x11), 308u) << "0.1 degrees";
  EXPECT_EQ(card.at(0x12), 3u << 20) << "KiB";
  EXPECT_EQ(card.at(0x13), 1u << 20);
  EXPECT_EQ(card.at(0x14), 1u << 19);
  EXPECT_EQ(card.at(0x15), 0u);
  EXPECT_EQ(card.at(0x16), 0u);
  EXPECT_EQ(card.at(0x17), 0u);
}

TEST(MetricFile, IsTheseBytes) {
  SmiReading reading;
  reading.card.time_ps = 2'000'000'000;
  reading.sensors.power_w = 1;
  const std::vector<uint8_t> bytes = MetricBytes(reading, reading, 3, 5'000'000'000);
  // One section of eight metrics: 32 + 8 + 32 + 8 * 16.
  ASSERT_EQ(bytes.size(), 200u);
  const std::vector<uint8_t> head = {'A', 'i', 'u', 'M', 200, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0,
                                     0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 160,
                                     0, 0, 0,
                                     // the section
                                     0x20, 0, 0, 0, 160, 0, 0, 0, 3, 0, 0, 0, 8, 0, 0, 0, 2, 0, 0,
                                     0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0,
                                     // power, one word; temperature, one word
                                     0x10, 0, 0, 0, 1, 0, 0, 0, 0x11, 0, 0, 0, 1, 0, 0, 0};
  EXPECT_EQ(std::vector<uint8_t>(bytes.begin(), bytes.begin() + head.size()), head);
  EXPECT_EQ(bytes[136], 10) << "1.0 W";
}

TEST(MetricFile, LeavesOutWhatIsNotKnown) {
  SmiReading before = Before(), after = After();
  before.host_busy_ps = after.host_busy_ps = std::nullopt;
  after.active_bytes = std::nullopt;
  EXPECT_EQ(Decode(Text(MetricBytes(before, after, 0, kSecond))).sections.size(), 1u);
}

TEST(MetricFile, OnDiskIsAlwaysTheLatestReading) {
  const std::string path = ::testing::TempDir() + "metrics.%BUSID";
  SmiSettings settings;
  settings.format = Format("D");
  settings.metrics = path;
  PrintingMonitor monitor(settings, nullptr);
  monitor.Take(Before());
  monitor.Take(After());
  const std::string real = ::testing::TempDir() + "metrics.0000:01:00.0";
  std::ifstream file(real, std::ios::binary);
  ASSERT_TRUE(file) << real;
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const Decoded decoded = Decode(bytes);
  EXPECT_EQ(decoded.numbers.at(0x20), 1u);
  EXPECT_EQ(decoded.sections.at(0x20).at(0x12), 3u << 20);
  EXPECT_THROW(MetricFile("/nowhere/metrics"), Error);
}

}  // namespace
}  // namespace spyre::cosim::smi_test
