// SPDX-License-Identifier: Apache-2.0
#include "bringup/ladder/board_report.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_text.h"
#include "bringup/ladder/results_json.h"
#include "driver/device.h"
#include "driver/firmware_updater.h"
#include "driver/pci.h"
#include "driver/physical_function.h"
#include "driver/vpd.h"

namespace spyre::bringup {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Spyre board report</title>
<style>
:root { --text: #1c2430; --dim: #68727f; --line: #dde2e8; --back: #fff; --good: #1d7a3e; --bad: #b3261e; --warn: #8a6100; }
@media (prefers-color-scheme: dark) {
  :root { --text: #dfe5ec; --dim: #919ba8; --line: #333b46; --back: #161a20; --good: #57c07d; --bad: #ff8a80; --warn: #e5b94f; }
}
body { font: 14px/1.45 system-ui, sans-serif; color: var(--text); background: var(--back); margin: 24px; }
h1 { font-size: 20px; margin: 0 0 8px; } h2 { font-size: 16px; margin: 28px 0 8px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 16px 3px 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { color: var(--dim); font-weight: 500; } td.number { text-align: right; } pre { margin: 0; white-space: pre-wrap; }
.passed { color: var(--good); } .failed { color: var(--bad); } .marginal, .could-not-run { color: var(--warn); }
</style></head><body><h1>Spyre board report</h1>
)";

template <class E, size_t n>
std::string NameOf(const EnumName<E> (&names)[n], E value) {
  for (const auto& entry : names) {
    if (entry.value == value) return entry.name;
  }
  return fmt::format("{}", static_cast<unsigned>(value));
}

// What the card refused, reset or stopped was asked for by the tests, and is no error of the board.
bool IsOfTests(RasCode code) {
  return code == RasCode::MESSAGE_REFUSED || code == RasCode::ADMIN_REFUSED ||
         code == RasCode::FUNCTION_RESET || code == RasCode::TIME_LIMIT;
}

Json ErrorLog(driver::PhysicalFunction& manager) {
  Json log = Json::array();
  for (const driver::RasRecord& record : manager.ReadErrorLog()) {
    if (IsOfTests(record.code)) continue;
    log.push_back({{"code", NameOf(kRasCodeNames, record.code)},
                   {"severity", NameOf(kRasSeverityNames, record.severity)},
                   {"action", NameOf(kRasActionNames, record.action)},
                   {"function", record.function},
                   {"detail", {record.detail[0], record.detail[1]}},
                   {"text", driver::Text(record)}});
  }
  return log;
}

std::string SlotText(const driver::SlotInfo& slot) {
  if (slot.state != UpdateStatus::DONE) return NameOf(kUpdateStatusNames, slot.state);
  return fmt::format("{}.{}.{}, build {:016x}, {} bytes", slot.version.major, slot.version.minor,
                     slot.version.patch, slot.build_id, slot.bytes);
}

// Of the vital product data; "" where they cannot be read.
std::string SerialOf(driver::Transport& card) {
  try {
    const driver::Vpd vpd = driver::ReadVpd(card);
    const auto found = vpd.fields.find("SN");
    return found == vpd.fields.end() ? "" : found->second;
  } catch (const Error&) {
    return "";
  }
}

void Describe(Board& board, Json& json) {
  board.Reset();
  driver::Transport& card = board.transport();
  const uint32_t ids = card.ConfigRead(0, driver::pci::kVendorDevice);
  const uint32_t revision = card.ConfigRead(0, 0x08);
  json["identity"] = {{"vendor", fmt::format("{:04x}", ids & 0xFFFF)},
                      {"device", fmt::format("{:04x}", ids >> 16)},
                      {"revision", fmt::format("{:02x}", revision & 0xFF)},
                      {"class", fmt::format("{:06x}", revision >> 8)}};
  json["identity"]["address"] = board.backend().name;
  json["identity"]["serial"] = SerialOf(card);
  driver::Device device(card, 0);
  json["identity"]["register_map"] = device.identity().spec_version;
  const Capabilities& has = board.capabilities();
  json["capabilities"] = {{"cores", has.cores},
                          {"memory_mib", has.memory_bytes >> 20},
                          {"pipelined", has.pipelined},
                          {"virtual_functions", has.virtual_functions}};
  driver::PhysicalFunction manager(device);
  const driver::FirmwareVersion version = manager.ReadFirmwareVersion();
  json["firmware"] = {{"version", fmt::format("{}.{}", version.major, version.minor)},
                      {"build", fmt::format("{:08x}", version.build)},
                      {"capabilities", fmt::format("{:#x}", version.capabilities)}};
  driver::FirmwareUpdater updater(device);
  json["firmware"]["running"] = driver::SlotName(updater.ReadBoot().running);
  for (unsigned slot = 0; slot < kFirmwareSlots; ++slot)
    json["firmware"]["slot_" + driver::SlotName(slot)] = SlotText(updater.ReadSlot(slot));
  json["counters"] = Json::object();
  for (const auto& counter : kCounterNames)
    json["counters"][counter.name] = manager.ReadCounter(counter.value);
  json["error_log"] = ErrorLog(manager);
}

std::string TextOf(const Json& value) {
  return Escaped(value.is_string() ? value.get<std::string>() : DumpJson(value));
}

std::string Rows(const Json& object) {
  std::string html = "<table>\n";
  for (const auto& [key, value] : object.items())
    html += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", Escaped(key), TextOf(value));
  return html + "</table>\n";
}

std::string Section(const std::string& title, const Json& content) {
  return fmt::format("<h2>{}</h2>\n{}", Escaped(title), Rows(content));
}

std::string Log(const Json& log) {
  std::string html = "<h2>Error log of the firmware</h2>\n";
  if (log.empty()) return html + "<p>No records.</p>\n";
  html +=
      "<table>\n<tr><th>code</th><th>severity</th><th>action</th><th>function</th><th>detail</th>"
      "<th>text</th></tr>\n";
  for (const Json& record : log) {
    html += "<tr>";
    for (const auto& [key, value] : record.items())
      html += fmt::format("<td>{}</td>", TextOf(value));
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

std::string Sums(const LadderResult& result) {
  std::map<int, std::array<size_t, kOutcomes>> rungs;
  for (const TestResult& test : result.tests)
    ++rungs[test.rung].at(static_cast<size_t>(test.outcome));
  std::string html =
      "<h2>Rungs</h2>\n<table>\n<tr><th>rung</th><th>passed</th><th>marginal</th><th>failed</th>"
      "<th>could not run</th></tr>\n";
  for (const auto& [rung, counts] : rungs) {
    html += fmt::format(
        "<tr><td class=number>{}</td><td class=number>{}</td><td class=number>{}</td><td "
        "class=number>{}</td><td class=number>{}</td></tr>\n",
        rung, counts[0], counts[1], counts[2], counts[3]);
  }
  return html + "</table>\n";
}

std::string Bound(double bound) { return std::isfinite(bound) ? fmt::format("{:.6g}", bound) : ""; }

std::string Measurements(const LadderResult& result) {
  std::string rows;
  for (const TestResult& test : result.tests) {
    for (const Measurement& measured : test.measurements) {
      const Limits limits = measured.limits.value_or(Limits());
      rows += fmt::format(
          "<tr><td class={}>{}</td><td class=number>{:.6g}</td><td>{}</td><td "
          "class=number>{}</td><td class=number>{}</td></tr>\n",
          measured.within() ? "passed" : "failed", Escaped(measured.name), measured.value,
          Escaped(measured.unit), Bound(limits.low), Bound(limits.high));
    }
  }
  if (rows.empty()) return "";
  return "<h2>Measured</h2>\n<table>\n<tr><th>figure</th><th>value</th><th>unit</th><th>at "
         "least</th><th>at most</th></tr>\n" +
         rows + "</table>\n";
}

std::string Tests(const LadderResult& result) {
  std::string html =
      "<h2>Tests</h2>\n<table>\n<tr><th>rung</th><th>test</th><th>outcome</th><th>seconds</th>"
      "<th></th></tr>\n";
  static constexpr std::array<const char*, kOutcomes> kClasses = {"passed", "marginal", "failed",
                                                                  "could-not-run"};
  for (const TestResult& test : result.tests) {
    html += fmt::format(
        "<tr><td class=number>{}</td><td>{}.{}</td><td class={}>{}</td><td "
        "class=number>{:.2f}</td><td><pre>{}</pre></td></tr>\n",
        test.rung, Escaped(test.suite), Escaped(test.name),
        kClasses.at(static_cast<size_t>(test.outcome)), Name(test.outcome), test.wall_seconds,
        Escaped(test.message));
  }
  return html + "</table>\n";
}

}  // namespace

Json DescribeBoard(Board& board) {
  Json json = Json::object();
  try {
    Describe(board, json);
  } catch (const Error& error) {
    json["error"] = error.what();
  }
  return json;
}

std::string ReportPage(const Json& about, const Json& board, const LadderResult& result) {
  std::string html = kHead + Rows(about);
  html += fmt::format(
      "<p><b>{}</b>: <span class=passed>{} passed</span>, <span class=marginal>{} marginal</span>, "
      "<span class=failed>{} failed</span>, <span "
      "class=could-not-run>{} could not run</span></p>\n",
      result.Verdict(), result.Count(Outcome::kPassed), result.Count(Outcome::kMarginal),
      result.Count(Outcome::kFailed), result.Count(Outcome::kCouldNotRun));
  for (const auto& [key, title] :
       {std::pair{"identity", "Identity"}, std::pair{"capabilities", "Capabilities"},
        std::pair{"firmware", "Firmware"}, std::pair{"counters", "Counters of the firmware"}}) {
    if (board.contains(key)) html += Section(title, board.at(key));
  }
  if (board.contains("error_log")) html += Log(board.at("error_log"));
  if (board.contains("error"))
    html += fmt::format("<p class=failed>The rest could not be read: {}</p>\n",
                        TextOf(board.at("error")));
  return html + Sums(result) + Measurements(result) + Tests(result) + "</body></html>\n";
}

}  // namespace spyre::bringup
