// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/cards_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "cosim/host/host_programs.h"
#include "cosim/measure/kernel_log.h"
#include "cosim/session/card_collective.h"
#include "cosim/session/function_run.h"
#include "cosim/session/session_card.h"
#include "cosim/session/session_members.h"
#include "cosim/session/session_setup.h"
#include "cosim/session/session_trace.h"
#include "cosim/session/tenants_result.h"
#include "cosim/session/wall_timer.h"
#include "cosim/verify/collective_verify.h"

namespace spyre::cosim {
namespace {

class CardsSession {
 public:
  CardsSession(const RunConfig& config, const std::string& out_dir, const SessionOptions& options)
      : config_(config),
        options_(options),
        trace_(config.trace),
        members_([this](const char* phase, uint64_t done,
                        uint64_t total) { Report(phase, done, total); },
                 trace_.recorder()) {
    RefuseOptions();
    result_.config = config;
    result_.out_dir = out_dir;
    result_.cards.resize(config.cards.count);
    for (size_t i = 0; i < result_.cards.size(); ++i) {
      CardResult& card = result_.cards[i];
      card.name = fmt::format("card{}", i);
      RunConfig own = config;
      own.workload.seed += i;
      members_.Add(card.name, own, out_dir, card.run);
      recorders_.push_back(std::make_unique<trace::Recorder>(trace_.recorder(), card.name));
      if (i == 0) result_.warnings = card.run.warnings;
    }
    result_.description =
        fmt::format("{} cards: {} each{}", members_.size(), result_.cards[0].run.description,
                    collective() ? ", all-reduce of the output" : "");
    CheckOutputs();
    if (options_.warn != nullptr) options_.warn(result_.warnings);
  }

  RunResult Run() {
    {
      const WallTimer total(result_.wall.total);
      members_.MakeDirectories(result_, options_.inputs);
      members_.Compile();
      if (collective()) {
        additions_ = CompileAdditions(config_, OutputBytes(), members_.size(),
                                      result_.out_dir + "/collective");
      }
      try {
        Simulate();
      } catch (...) {
        Unplug();
        trace_.End(result_);  // what happened up to the fault can be looked at
        throw;
      }
      Unplug();
      trace_.End(result_);
      Verify();
      for (size_t i = 0; i < members_.size(); ++i)
        if (!result_.cards[i].error) members_.WriteTensors(i, result_.unwritten);
      AddUp(result_);
    }
    return std::move(result_);
  }

 private:
  bool collective() const { return config_.cards.collective != CardsCollective::kNone; }

  void RefuseOptions() const {
    const bool waves = config_.trace.waves.block != WavesBlock::kNone;
    const char* const what = !options_.record.empty()       ? "--record"
                             : !options_.transport.empty()  ? "--transport"
                             : options_.debugger != nullptr ? "--gdb"
                             : options_.monitor != nullptr  ? "--smi and --metrics"
                             : waves                        ? "trace.waves.block"
                             : !config_.card.faults.empty() ? "[[fault]]"
                                                            : nullptr;
    if (what == nullptr) return;
    throw BadInput("{}: it is for one card, and this configuration has {} (cards.count)", what,
                   config_.cards.count);
  }

  void Report(const char* phase, uint64_t done, uint64_t total) {
    ThrowIfInterrupted();
    if (options_.progress != nullptr) options_.progress->Update(phase, done, total);
  }

  // The place of the one output among the workload's tensors.
  size_t Output() {
    const std::vector<WorkloadTensor>& tensors = members_[0].run->workload().tensors();
    const auto is_output = [](const WorkloadTensor& tensor) { return tensor.is_output; };
    return static_cast<size_t>(std::find_if(tensors.begin(), tensors.end(), is_output) -
                               tensors.begin());
  }
  const WorkloadTensor& OutputTensor() { return members_[0].run->workload().tensors()[Output()]; }
  uint64_t OutputBytes() { return static_cast<uint64_t>(OutputTensor().layout.DeviceBytes()); }

  void CheckOutputs() {
    if (!collective()) return;
    const std::vector<WorkloadTensor>& tensors = members_[0].run->workload().tensors();
    const auto outputs =
        std::count_if(tensors.begin(), tensors.end(),
                      [](const WorkloadTensor& tensor) { return tensor.is_output; });
    if (outputs != 1 || OutputTensor().layout.format != DataFormat::kSen169Fp16) {
      throw BadInput(
          "cards.collective: the workload must have one output of SEN169_FP16; this one has {}",
          outputs)
          .Subject("cards.collective");
    }
  }

  void Plug() {
    const HostTiming timing{config_.host.register_write_ns, config_.host.register_read_ns,
                            config_.host.interrupt_ns};
    std::vector<InProcessTransport::CardSetup> setups;
    for (const auto& recorder : recorders_)
      setups.push_back({config_.card, timing, recorder.get()});
    switch_recorder_ = std::make_unique<trace::Recorder>(trace_.recorder(), "switch");
    cards_ =
        InProcessTransport::Several(setups, &config_.cards.pcie_switch, switch_recorder_.get());
    std::vector<InProcessTransport*> cards;
    for (const auto& card : cards_) cards.push_back(card.get());
    programs_.emplace(std::move(cards));
  }

  void Unplug() {
    programs_.reset();
    cards_.clear();
  }

  void Simulate() {
    trace_.Start(result_);
    Report("open the cards", 0, 0);
    const WallTimer timer(result_.wall.model);
    Plug();
    group_.emplace(*programs_, members_.size());
    before_.resize(members_.size());
    const std::vector<model::UnitStatistics> units = Units();
    std::optional<KernelLog> log;
    log.emplace(cards_[0]->card(), recorders_[0].get(), std::vector<std::string>(), false);
    for (size_t i = 0; i < members_.size(); ++i)
      programs_->Add(result_.cards[i].name, 0, [this, i] { Work(i); });
    programs_->Run();
    result_.kernel_usages = log->Take();
    log.reset();
    result_.launch_units = Units();
    for (size_t i = 0; i < units.size(); ++i)
      result_.launch_units[i] = result_.launch_units[i].Since(units[i]);
    for (size_t i = 0; i < members_.size(); ++i) {
      CardResult& card = result_.cards[i];
      card.error = ErrorOfProgram(programs_->Failure(i), card.name);
      card.host = programs_->TimeOf(i);
      cards_[i]->card().CheckRtl();
    }
    result_.units = Units();
    result_.sim_ps = cards_[0]->NowPs();
    const auto& lines = cards_[0]->card().management().log();
    result_.firmware_log.assign(lines.begin(), lines.end());
  }

  // Of card 0, with which the others are alike, and of the switch.
  std::vector<model::UnitStatistics> Units() {
    std::vector<model::UnitStatistics> units = UnitsOf(&cards_[0]->card());
    for (model::UnitStatistics& unit : cards_[0]->pcie_switch()->Statistics())
      units.push_back(std::move(unit));
    return units;
  }

  // One rank's program.
  void Work(size_t i) {
    SessionMember& member = members_[i];
    FunctionRun& run = *member.run;
    flex::RuntimeOptions options = RuntimeOptionsOf(member.config, member.recorder.get());
    options.card = static_cast<unsigned>(i);
    std::unique_ptr<CardRank> rank;
    try {
      run.Open(programs_->Transport(i), 0, options);
      run.LoadInputs();
      if (collective()) {
        rank = std::make_unique<CardRank>(run.context(), *group_, i, members_.size(),
                                          run.tensors().device[Output()], additions_);
      }
      run.Prepare();
      const model::CardTelemetry& telemetry = cards_[i]->card().telemetry();
      const model::Activity done = telemetry.Done();
      run.Launch();
      result_.cards[i].run.launch_activity = telemetry.Done() - done;
      if (rank) {
        rank->Read(before_[i]);
        rank->AllReduce();
        result_.cards[i].ring = rank->times();
        result_.cards[i].collective_begin_ps = rank->begin_ps();
        result_.cards[i].collective_end_ps = rank->end_ps();
      }
      run.CopyOutputs();
      run.Finish();
    } catch (...) {
      rank.reset();
      run.Close();
      throw;
    }
    rank.reset();
    run.Close();
  }

  // The workload of each card by what it had before the collective, and then the collective.
  void Verify() {
    if (!config_.workload.functional || config_.workload.verify == VerifyMode::kNone) return;
    const bool complete = std::none_of(result_.cards.begin(), result_.cards.end(),
                                       [](const CardResult& card) { return card.error; });
    std::vector<HostData> after;
    for (size_t i = 0; i < members_.size(); ++i) {
      if (result_.cards[i].error) continue;
      FunctionRun& run = *members_[i].run;
      if (!collective()) {
        run.Verify();
        continue;
      }
      std::vector<HostData> outputs(run.tensors().outputs.size());
      const WorkloadTensor& tensor = OutputTensor();
      HostData& partial = outputs[Output()];
      partial.resize(static_cast<size_t>(tensor.host_bytes()));
      RunConversion(PlanConversion(tensor.layout, tensor.host_format, false), before_[i].data(),
                    partial.data());
      run.Verify(&outputs);
      after.push_back(run.tensors().outputs[Output()]);
    }
    if (collective() && complete)
      result_.collective = VerifyAllReduce(OutputTensor(), before_, after);
  }

  const RunConfig config_;
  const SessionOptions options_;
  RunResult result_;
  SessionTrace trace_;
  SessionMembers members_;                                   // as result_.cards
  std::vector<std::unique_ptr<trace::Recorder>> recorders_;  // of the cards
  std::unique_ptr<trace::Recorder> switch_recorder_;
  std::vector<std::string> additions_;

  std::vector<std::unique_ptr<InProcessTransport>> cards_;
  std::optional<HostPrograms> programs_;
  std::optional<CardGroup> group_;
  std::vector<HostData> before_;  // of each card's output, its device image before the collective
};

}  // namespace

RunResult RunCards(const RunConfig& config, const std::string& out_dir,
                   const SessionOptions& options) {
  return CardsSession(config, out_dir, options).Run();
}

}  // namespace spyre::cosim
