// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/cards_session.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/ranges.h"
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
      own.cards.number = i;
      Add(own, card).card = i;
      recorders_.push_back(std::make_unique<trace::Recorder>(trace_.recorder(), card.name));
      if (i == 0) result_.warnings = card.run.warnings;
    }
    result_.description = CardsDescription(members_.size(), result_.cards[0].run.description,
                                           config.cards.collective);
    PlanCollectives();
    Warn();
  }

 private:
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
    return static_cast<size_t>(FindIf(tensors, is_output) - tensors.begin());
  }
  const WorkloadTensor& OutputTensor() { return members_[0]->run->workload().tensors()[Output()]; }

  bool in_list() const { return !result_.list_collectives.empty(); }

  // All cards have the same workload.
  void PlanCollectives() {
    const CardCollectivesOf planned = CollectivesOf(config_, members_[0]->run->workload());
    for (const NamedCollective& named : planned.all) {
      plans_.push_back(runtime::PlanCollective(named.call, members_.size()));
      if (planned.in_list) {
        result_.list_collectives.push_back({named.result, plans_.back().call, {}, {}});
        result_.list_collectives.back().parts.resize(members_.size());
      } else {
        result_.collective_call = plans_.back().call;
      }
    }
  }

  void Compile() override {
    SessionRun::Compile();
    if (!plans_.empty())
      additions_ = CompileAdditions(config_, plans_, result_.out_dir + "/collective");
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
    images_.assign(members_.size(), std::vector<CollectiveImages>(plans_.size()));
  }

  trace::Recorder& CardRecorder(size_t card) override { return *recorders_[card]; }

  // A rank with its program's collectives, and what verification wants to know of them.
  class Rank final : public runtime::CardCollectives {
   public:
    Rank(CardsSession& session, Member& member) : session_(session), member_(member) {}
    size_t card() const override { return member_.card; }
    void Prepare(const std::vector<runtime::CollectivePlace>& places) override {
      rank_.emplace(member_.run->context(), *session_.group_, member_.card, session_.plans_, places,
                    session_.additions_);
    }
    void Run(size_t number) override {
      const runtime::CollectivePlan& plan = session_.plans_[number];
      CollectiveImages& images = session_.images_[member_.card][number];
      images.before = Look(rank_->Data(number), plan.call.bytes);
      rank_->Run(number);
      images.after = Look(rank_->Data(number), plan.call.bytes);
      images.result = Look(rank_->Result(number), plan.result_bytes);
      Note(number, rank_->TimesOf(number));
    }
    void Barrier() { rank_->Barrier(); }

   private:
    HostData Look(const flex::DeviceHandle& place, uint64_t bytes) const {
      if (!session_.config_.workload.functional || bytes == 0) return {};
      model::Card& card = *session_.cards_[member_.card]->model();
      return card.memory().Look(flex::RawOffset(place), bytes);
    }
    void Note(size_t number, const CardRank::Times& times) {
      if (session_.in_list())
        session_.result_.list_collectives[number].parts[member_.card] = {times.begin_ps,
                                                                         times.end_ps, times.parts};
      CardResult& card = session_.result_.cards[member_.card];
      if (card.collective_ps == 0) card.collective_begin_ps = times.begin_ps;
      card.collective_end_ps = times.end_ps;
      card.collective_ps += times.end_ps - times.begin_ps;
      card.communication += times.parts;
      card.peer_written_bytes =
          ReadCard(*session_.cards_[member_.card]->model()).card.peer_written_bytes;
    }

    CardsSession& session_;
    Member& member_;
    std::optional<CardRank> rank_;
  };

  // One rank's program.
  void Execute(Member& member) override {
    if (plans_.empty()) return SessionRun::Execute(member);
    FunctionRun& run = *member.run;
    run.LoadInputs();
    Rank rank(*this, member);
    if (in_list()) {
      run.tensors().collectives = &rank;
      run.Prepare();
      Launch(member);
    } else {
      ReduceOutput(member, rank);
    }
    run.CopyOutputs();
    run.Finish();
  }

  void ReduceOutput(Member& member, Rank& rank) {
    const runtime::SpyreTensor& tensor = member.run->tensors().device[Output()];
    if (!tensor.chunks.empty())
      throw BadInput("cards.collective: {} must be in one piece", runtime::ToString(tensor));
    rank.Prepare({{plans_[0].call, tensor.device_handle, {}}});
    member.run->Prepare();
    Launch(member);
    rank.Run(0);
    rank.Barrier();
    if (member.card == 0) EndUnits();
  }

  // The workload of each card by what it had before a collective, and then the collective.
  void Verify() override {
    if (plans_.empty()) return SessionRun::Verify();
    if (!config_.workload.functional || config_.workload.verify == VerifyMode::kNone) return;
    bool whole = true;
    for (const auto& member : members_) {
      whole = whole && !member->failed();
      if (member->failed()) continue;
      if (in_list()) {
        member->run->Verify(nullptr, &images_[member->card]);
      } else {
        VerifyOutput(*member);
      }
    }
    if (!whole) return;
    for (size_t i = 0; i < plans_.size(); ++i) {
      std::vector<CollectiveImages> images;
      for (auto& of_card : images_) images.push_back(std::move(of_card[i]));
      const std::string& name = in_list() ? result_.list_collectives[i].name : OutputTensor().name;
      Verification verification = VerifyCollective(plans_[i], name, images);
      (in_list() ? result_.list_collectives[i].verification : result_.collective) =
          std::move(verification);
    }
  }

  void VerifyOutput(Member& member) {
    FunctionRun& run = *member.run;
    std::vector<HostData> outputs(run.tensors().outputs.size());
    const WorkloadTensor& tensor = OutputTensor();
    HostData& partial = outputs[Output()];
    partial.resize(static_cast<size_t>(tensor.host_bytes()));
    RunConversion(PlanConversion(tensor.layout, tensor.host_format, false),
                  images_[member.card][0].before.data(), partial.data());
    run.Verify(&outputs);
  }

  std::vector<std::unique_ptr<trace::Recorder>> recorders_;  // of the cards
  std::unique_ptr<trace::Recorder> switch_recorder_;
  std::vector<std::string> additions_;
  std::optional<CardGroup> group_;
  std::vector<runtime::CollectivePlan> plans_;         // of the list, or the one of the output
  std::vector<std::vector<CollectiveImages>> images_;  // of each card, around each of them
};

}  // namespace

RunResult RunCards(const RunConfig& config, const std::string& out_dir,
                   const SessionOptions& options) {
  return CardsSession(config, out_dir, options).Run();
}

}  // namespace spyre::cosim
