// SPDX-License-Identifier: Apache-2.0
#include "cosim/served/served_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/build_info/build_info.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "base/ranges.h"
#include "cosim/report/nanoseconds.h"
#include "cosim/session/card_reading.h"
#include "model/common/transfer.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kKernelsShown = 10;  // of each card, in the summary

}  // namespace

ServedReport::ServedReport(const std::vector<RunConfig>& configs, const std::string& directory,
                           const std::string& program, const std::vector<std::string>& inputs) {
  result_.config = configs.front();
  result_.description = program;
  result_.out_dir = directory;
  result_.directory = std::make_shared<OutputDirectory>(directory);
  result_.directory->Clear(FilesOfAnyRun(), inputs);
  trace_ = std::make_unique<SessionTrace>(result_.config.trace);
  trace_->Start(result_);
  cards_.resize(configs.size());
  if (!result_.config.trace.enabled) return;
  for (size_t i = 0; i < cards_.size(); ++i) {
    cards_[i].recorder =
        std::make_unique<trace::Recorder>(trace_->recorder(), fmt::format("card{}", i));
  }
  switch_recorder_ = std::make_unique<trace::Recorder>(trace_->recorder(), "switch");
}

trace::Recorder* ServedReport::CardRecorder(size_t card) { return cards_[card].recorder.get(); }
trace::Recorder* ServedReport::SwitchRecorder() { return switch_recorder_.get(); }

void ServedReport::Watch(const std::vector<InProcessTransport*>& cards) {
  for (size_t i = 0; i < cards.size(); ++i) {
    Card& card = cards_[i];
    card.transport = cards[i];
    model::Card& modelled = cards[i]->card();
    modelled.OnJob([this, &card](const model::Job& job, bool ended) { Job(card, job, ended); });
    modelled.control().NameComputes(
        [&card](uint64_t correlation) { return TakeName(card, correlation); });
  }
}

void ServedReport::Name(size_t card, uint64_t correlation, const std::string& name) {
  cards_[card].names[correlation] = name;
}

void ServedReport::Slice(size_t card, const driver::vfio_user::HostSlice& slice,
                         const std::string& name) {
  trace::Recorder* const recorder = CardRecorder(card);
  if (recorder == nullptr || !recorder->Wants(trace::kHost)) return;
  recorder->Slice(trace::kHost, recorder->AddTrack("host", "collectives"), recorder->Intern(name),
                  slice.begin_ps, slice.end_ps, 0, slice.bytes, slice.peer);
}

void ServedReport::Job(Card& card, const model::Job& job, bool ended) {
  if (!ended) {
    card.begun_ps[&job] = model::NowPs();
    return;
  }
  const uint64_t begin_ps = card.begun_ps.extract(&job).mapped();
  card.ended[job.flow] = {1, model::NowPs() - begin_ps, job.macs, job.bytes_read,
                          job.bytes_written};
}

// The control processor asks when the job has ended. What nobody has named is a correction.
std::string ServedReport::TakeName(Card& card, uint64_t correlation) {
  const auto ended = card.ended.extract(correlation);
  auto name = card.names.extract(correlation);
  if (name.empty()) return "";
  if (!ended.empty()) {
    const Kernel& one = ended.mapped();
    Kernel& all = card.kernels[name.mapped()];
    all.launches += one.launches;
    all.device_ps += one.device_ps;
    all.macs += one.macs;
    all.read_bytes += one.read_bytes;
    all.written_bytes += one.written_bytes;
  }
  return std::move(name.mapped());
}

std::string ServedReport::ReportJson() const {
  Json cards = Json::array();
  for (size_t i = 0; i < cards_.size(); ++i) {
    const SmiReading reading = ReadCard(cards_[i].transport->card());
    Json kernels = Json::array();
    for (const auto& [name, kernel] : cards_[i].kernels) {
      kernels.push_back({{"name", name},
                         {"launches", kernel.launches},
                         {"device_ns", Ns(kernel.device_ps)},
                         {"macs", kernel.macs},
                         {"device_bytes_read", kernel.read_bytes},
                         {"device_bytes_written", kernel.written_bytes}});
    }
    cards.push_back({{"card", i},
                     {"peer_bytes_written", reading.card.peer_written_bytes},
                     {"peer_bytes_read", reading.card.peer_read_bytes},
                     {"energy_j", reading.sensors.energy_j},
                     {"kernels", kernels}});
  }
  const Json report = {{"program", result_.description},
                       {"build", JsonOf(ToJson(ThisBuild()))},
                       {"config", JsonOf(ToJson(result_.config))},
                       {"sim_time_ns", Ns(result_.sim_ps)},
                       {"lost_clients", lost_},
                       {"cards", cards},
                       {"trace",
                        {{"path", result_.trace_path},
                         {"records", result_.trace_records},
                         {"dropped", result_.trace_dropped},
                         {"digest", fmt::format("{:016x}", result_.trace_digest)}}}};
  return DumpJson(report, 2) + "\n";
}

std::string ServedReport::Summary() const {
  trace::Table table({"card", "kernel", "launches", "time"});
  std::string notes;
  for (size_t i = 0; i < cards_.size(); ++i) {
    std::vector<std::pair<std::string, Kernel>> kernels(cards_[i].kernels.begin(),
                                                        cards_[i].kernels.end());
    StableSort(kernels, [](const auto& a, const auto& b) {
      return a.second.device_ps > b.second.device_ps;
    });
    for (size_t k = 0; k < std::min(kernels.size(), kKernelsShown); ++k) {
      table.Add({std::to_string(i), kernels[k].first, std::to_string(kernels[k].second.launches),
                 trace::FormatTime(kernels[k].second.device_ps)});
    }
    if (kernels.size() > kKernelsShown)
      notes += fmt::format("  and {} more of card {} in report.json\n",
                           kernels.size() - kKernelsShown, i);
  }
  std::string text = "Kernels by device time:\n" + table.ToString() + notes;
  for (size_t i = 0; i < cards_.size(); ++i) {
    text += fmt::format(
        "card {}: wrote {} to other cards\n", i,
        trace::FormatBytes(ReadCard(cards_[i].transport->card()).card.peer_written_bytes));
  }
  for (const std::string& client : lost_) text += fmt::format("{} died\n", client);
  return text + fmt::format("simulated time: {}\nreport: {}/report.json\n",
                            trace::FormatTime(result_.sim_ps), result_.out_dir);
}

void ServedReport::Finish() {
  result_.sim_ps = cards_.front().transport->NowPs();
  trace_->End(result_);
  WriteFile(result_.out_dir + "/report.json", ReportJson(), "report");
  WriteFile(result_.out_dir + "/summary.txt", Summary(), "summary");
  if (!result_.unwritten.empty()) throw BadInput("{}", result_.unwritten);
}

}  // namespace spyre::cosim
