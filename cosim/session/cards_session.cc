// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/cards_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cosim/session/card_collective.h"
#include "cosim/session/card_reading.h"
#include "cosim/session/session_run.h"
#include "cosim/verify/collective_verify.h"

namespace spyre::cosim {
namespace {

class CardsSession : public SessionRun {
 public:
  CardsSession(const RunConfig& config, const std::string& out_dir, const SessionOptions& options)
      : SessionRun(config, out_dir, options) {
    RefuseOptions();
    result_.cards.resize(config.cards.count);
    for (size_t i = 0; i < result_.cards.size(); ++i) {
      CardResult& card = result_.cards[i];
      card.name = fmt::format("card{}", i);
      RunConfig own = config;
      own.workload.seed += i;
      Add(own, card).card = i;
      recorders_.push_back(std::make_unique<trace::Recorder>(trace_.recorder(), card.name));
      if (i == 0) result_.warnings = card.run.warnings;
    }
    result_.description = fmt::format(
        "{} cards: {} each{}", members_.size(), result_.cards[0].run.description,
        collective() ? ", " + runtime::Name(config.cards.collective) + " of the output" : "");
    CheckOutputs();
    Warn();
  }

 private:
  bool collective() const { return config_.cards.collective != runtime::Collective::kNone; }

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

  // The place of the one output among the workload's tensors.
  size_t Output() {
    const std::vector<WorkloadTensor>& tensors = members_[0]->run->workload().tensors();
    const auto is_output = [](const WorkloadTensor& tensor) { return tensor.is_output; };
    return static_cast<size_t>(std::find_if(tensors.begin(), tensors.end(), is_output) -
                               tensors.begin());
  }
  const WorkloadTensor& OutputTensor() { return members_[0]->run->workload().tensors()[Output()]; }
  uint64_t OutputBytes() { return static_cast<uint64_t>(OutputTensor().layout.DeviceBytes()); }

  void CheckOutputs() {
    if (!collective()) return;
    const std::vector<WorkloadTensor>& tensors = members_[0]->run->workload().tensors();
    const auto outputs =
        std::count_if(tensors.begin(), tensors.end(),
                      [](const WorkloadTensor& tensor) { return tensor.is_output; });
    const bool adds = runtime::Adds(config_.cards.collective);
    if (outputs != 1 || (adds && OutputTensor().layout.format != DataFormat::kSen169Fp16)) {
      throw BadInput("cards.collective: the workload must have one output{}; this one has {}",
                     adds ? " of SEN169_FP16" : "", outputs)
          .Subject("cards.collective");
    }
    runtime::CollectiveCall call;
    call.collective = config_.cards.collective;
    call.algorithm = config_.cards.algorithm;
    call.bytes = OutputBytes();
    call.type = FormatName(OutputTensor().layout.format);
    call.root = config_.cards.root;
    call.peer = config_.cards.peer;
    plan_ = runtime::PlanCollective(call, members_.size());
    result_.collective_call = plan_.call;
  }

  void Compile() override {
    SessionRun::Compile();
    if (!collective()) return;
    additions_ = CompileAdditions(config_, plan_, result_.out_dir + "/collective");
  }

  void Plug() override {
    const HostTiming timing{config_.host.register_write_ns, config_.host.register_read_ns,
                            config_.host.interrupt_ns};
    std::vector<InProcessTransport::CardSetup> setups;
    for (const auto& recorder : recorders_)
      setups.push_back({config_.card, timing, recorder.get()});
    switch_recorder_ = std::make_unique<trace::Recorder>(trace_.recorder(), "switch");
    std::vector<InProcessTransport*> cards;
    for (auto& card :
         InProcessTransport::Several(setups, &config_.cards.pcie_switch, switch_recorder_.get())) {
      cards.push_back(card.get());
      cards_.push_back(std::make_unique<SessionCard>(config_, std::move(card)));
    }
    programs_.emplace(std::move(cards));
    group_.emplace(*programs_, members_.size());
    images_.resize(members_.size());
  }

  trace::Recorder& CardRecorder(size_t card) override { return *recorders_[card]; }

  // One rank's program.
  void Execute(Member& member) override {
    if (!collective()) return SessionRun::Execute(member);
    FunctionRun& run = *member.run;
    run.LoadInputs();
    CardRank rank(run.context(), *group_, member.card, plan_, run.tensors().device[Output()],
                  additions_);
    run.Prepare();
    Launch(member);
    CollectiveImages& images = images_[member.card];
    images.before = rank.ReadData();
    rank.Run();
    if (member.card == 0) EndUnits();
    images.after = rank.ReadData();
    images.result = rank.ReadResult();
    CardResult& card = result_.cards[member.card];
    card.communication = rank.times();
    card.peer_written_bytes = ReadCard(*cards_[member.card]->model()).card.peer_written_bytes;
    card.collective_begin_ps = rank.begin_ps();
    card.collective_end_ps = rank.end_ps();
    run.CopyOutputs();
    run.Finish();
  }

  // The workload of each card by what it had before the collective, and then the collective.
  void Verify() override {
    if (!collective()) return SessionRun::Verify();
    if (!config_.workload.functional || config_.workload.verify == VerifyMode::kNone) return;
    bool whole = true;
    for (const auto& member : members_) {
      if (member->failed()) {
        whole = false;
        continue;
      }
      FunctionRun& run = *member->run;
      std::vector<HostData> outputs(run.tensors().outputs.size());
      const WorkloadTensor& tensor = OutputTensor();
      HostData& partial = outputs[Output()];
      partial.resize(static_cast<size_t>(tensor.host_bytes()));
      RunConversion(PlanConversion(tensor.layout, tensor.host_format, false),
                    images_[member->card].before.data(), partial.data());
      run.Verify(&outputs);
    }
    if (whole) result_.collective = VerifyCollective(plan_, OutputTensor().name, images_);
  }

  std::vector<std::unique_ptr<trace::Recorder>> recorders_;  // of the cards
  std::unique_ptr<trace::Recorder> switch_recorder_;
  std::vector<std::string> additions_;
  std::optional<CardGroup> group_;
  runtime::CollectivePlan plan_;
  std::vector<CollectiveImages> images_;  // of each card's output
};

}  // namespace

RunResult RunCards(const RunConfig& config, const std::string& out_dir,
                   const SessionOptions& options) {
  return CardsSession(config, out_dir, options).Run();
}

}  // namespace spyre::cosim
