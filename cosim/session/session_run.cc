// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/session_run.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/interrupt.h"
#include "cosim/session/output_directory.h"
#include "cosim/session/repeated_launch.h"
#include "cosim/session/session_setup.h"
#include "cosim/session/tenants_result.h"
#include "cosim/session/wall_timer.h"

namespace spyre::cosim {
namespace {

// Whatever a program of `name` threw, as an error; throws an Interruption, which is everybody's.
std::optional<Error> ErrorOfProgram(const std::exception_ptr& failure, const std::string& name) {
  if (!failure) return std::nullopt;
  try {
    std::rethrow_exception(failure);
  } catch (const Interruption&) {
    throw;
  } catch (const Error& error) {
    return error.Within(name);
  } catch (const std::exception& error) {
    return InternalError("{}: {}", name, error.what());
  }
}

}  // namespace

SessionRun::SessionRun(const RunConfig& config, const std::string& out_dir,
                       const SessionOptions& options)
    : config_(config), options_(options), trace_(config.trace) {
  result_.config = config;
  result_.out_dir = out_dir;
  result_.transport = options.transport;
}

SessionRun::Member& SessionRun::AddOnly(driver::FunctionId function) {
  Member& member = *members_.emplace_back(std::make_unique<Member>());
  member.config = config_;
  member.result = &result_;
  member.function = function;
  member.run = std::make_unique<FunctionRun>(
      config_, result_.out_dir,
      [this](const char* phase, uint64_t done, uint64_t total) { Report(phase, done, total); },
      result_);
  return member;
}

SessionRun::Member& SessionRun::Add(const RunConfig& config, MemberResult& result) {
  Member& member = *members_.emplace_back(std::make_unique<Member>());
  member.name = result.name;
  member.config = config;
  member.result = &result.run;
  member.own = &result;
  try {
    member.run = std::make_unique<FunctionRun>(
        config, result_.out_dir + "/" + member.name,
        [this](const char* phase, uint64_t done, uint64_t total) { Report(phase, done, total); },
        result.run);
  } catch (const Error& error) {
    throw error.Within(member.name);
  }
  member.recorder = std::make_unique<trace::Recorder>(trace_.recorder(), member.name);
  return member;
}

void SessionRun::Warn() const {
  if (options_.warn != nullptr) options_.warn(result_.warnings);
}

void SessionRun::Report(const char* phase, uint64_t done, uint64_t total) const {
  ThrowIfInterrupted();
  if (options_.progress != nullptr) options_.progress->Update(phase, done, total);
}

RunResult SessionRun::Run() {
  {
    const WallTimer total(result_.wall.total);
    BeforeCards();
    MakeDirectories();
    Compile();
    try {
      Simulate();
    } catch (const Error& error) {
      EndInFault(error);
      throw;
    } catch (...) {
      Unplug();
      trace_.End(result_, results_);  // what happened up to the fault can be looked at
      throw;
    }
    ReadFaults();
    Unplug();
    trace_.End(result_, results_);
    if (is_judged_) {
      Verify();
      WriteTensors();
    }
    const bool is_sum = members_.front()->own != nullptr;
    if (is_sum) AddUp(result_);
    const Error* const error = MemberError(result_);
    const Verification* const verdict = result_.verification ? &*result_.verification : nullptr;
    result_.faults = faults_.Settle(error, verdict);
    const bool is_right = error == nullptr && (verdict == nullptr || verdict->passed());
    result_.wave_paths = cards_.front()->KeepWaves(is_right);
  }
  return std::move(result_);
}

// What an earlier run left would be taken for this one's.
void SessionRun::MakeDirectories() {
  result_.directory = std::make_shared<OutputDirectory>(result_.out_dir);
  std::vector<std::string> names = FilesOfAnyRun(), inputs = options_.inputs;
  for (const auto& member : members_) {
    const std::vector<std::string> paths = member->run->InputPaths();
    inputs.insert(inputs.end(), paths.begin(), paths.end());
    if (member->own != nullptr) continue;
    const std::vector<std::string> files = member->run->FileNames();
    names.insert(names.end(), files.begin(), files.end());
  }
  for (const std::string& input : inputs) NoteInput(input);
  result_.directory->Clear(names, inputs);
  for (const auto& member : members_) {
    if (member->own == nullptr) continue;
    RunResult& result = *member->result;
    result.directory = std::make_shared<OutputDirectory>(result.out_dir);
    result.directory->Clear(member->run->FileNames(), inputs);
  }
}

void SessionRun::Compile() {
  for (const auto& member : members_) member->run->Compile();
}

void SessionRun::Simulate() {
  trace_.Start(result_);
  Report("open the card");
  {
    const WallTimer timer(result_.wall.model);
    Plug();
    done_before_.resize(cards_.size());
    if (programs_) {
      RunPrograms();
    } else {
      Work(*members_.front());
    }
    Finish();
  }
  for (const auto& member : members_) result_.wall.model -= member->result->wall.generate;
}

void SessionRun::PlugOne() {
  cards_.push_back(
      std::make_unique<SessionCard>(config_, options_, result_.out_dir, &trace_.recorder()));
}

driver::PhysicalFunction SessionRun::OpenAdmin(driver::Transport& card) {
  const flex::RuntimeOptions options = RuntimeOptionsOf(config_, &trace_.recorder());
  admin_ = std::make_unique<driver::Device>(card, 0, options.device);
  driver::PhysicalFunction physical(*admin_);
  physical.EnableVirtualFunctions(static_cast<int>(config_.card.num_vfs));
  return physical;
}

void SessionRun::RunPrograms() {
  BeginWindow({}, false);
  for (const auto& member : members_)
    programs_->Add(member->name, member->start_ps, [this, &member] { Work(*member); });
  programs_->Run();
  EndWindow();
  for (size_t i = 0; i < members_.size(); ++i) {
    MemberResult& own = *members_[i]->own;
    own.error = ErrorOfProgram(programs_->Failure(i), own.name);
    own.host = programs_->TimeOf(i);
  }
}

// One of several closes its function at once, on its own processor; the only one is still asked
// about it.
void SessionRun::Work(Member& member) {
  FunctionRun& run = *member.run;
  SessionCard& card = *cards_[member.card];
  trace::Recorder& recorder = member.recorder ? *member.recorder : trace_.recorder();
  flex::RuntimeOptions options = RuntimeOptionsOf(member.config, &recorder);
  options.card = static_cast<unsigned>(member.card);
  try {
    run.Open(programs_ ? programs_->Transport(member.card) : card.transport(), member.function,
             options);
    card.Check(run.context().identity());
    Execute(member);
  } catch (...) {
    if (programs_) run.Close();
    throw;
  }
  if (programs_) run.Close();
}

void SessionRun::Execute(Member& member) {
  FunctionRun& run = *member.run;
  run.LoadInputs();
  run.Prepare();
  Launch(member);
  run.CopyOutputs();
  run.Finish();
}

void SessionRun::Launch(Member& member) {
  FunctionRun& run = *member.run;
  model::Card* const model = cards_[member.card]->model();
  std::optional<model::Activity>& before = done_before_[member.card];
  if (model != nullptr && !before) before = model->telemetry().Done();
  // A model launches the same few kernels so often that their steps would fill the memory.
  const bool with_steps = run.workload().model() == nullptr || config_.trace.enabled;
  if (!programs_) BeginWindow(run.compiled().marks, with_steps);
  if (programs_ && member.card == 0 && units_before_.empty()) BeginUnits();
  if (model != nullptr) HoldLaunch(member.config, *model);
  run.Launch();
  if (!programs_) EndWindow();
  if (programs_ && member.card == 0) EndUnits();
  if (model == nullptr) return;
  RunResult& result = cards_.size() > 1 ? *member.result : result_;
  result.launch_activity = model->telemetry().Done() - *before;
}

void SessionRun::BeginUnits() {
  units_before_ = cards_.front()->Units();
  units_begin_ps_ = cards_.front()->transport().NowPs();
}

void SessionRun::EndUnits() {
  SessionCard& card = *cards_.front();
  if (units_before_.empty()) BeginUnits();  // nothing was launched
  result_.launch_units = card.Units();
  for (size_t i = 0; i < units_before_.size(); ++i)
    result_.launch_units[i] = result_.launch_units[i].Since(units_before_[i]);
  if (programs_) result_.launch_units_ps = card.transport().NowPs() - units_begin_ps_;
}

void SessionRun::BeginWindow(const std::vector<std::string>& marks, bool with_steps) {
  SessionCard& card = *cards_.front();
  host_before_ = card.host_time();
  if (!programs_) BeginUnits();
  if (card.model() != nullptr) log_.emplace(*card.model(), &CardRecorder(0), marks, with_steps);
}

void SessionRun::EndWindow() {
  SessionCard& card = *cards_.front();
  if (log_) result_.kernel_usages = log_->Take();
  log_.reset();
  // Hosts of several cards have a processor each.
  if (cards_.size() == 1) result_.launch_host = card.host_time().Since(host_before_);
  if (!programs_ || result_.launch_units.empty()) EndUnits();
}

void SessionRun::Finish() {
  for (size_t i = 1; i < cards_.size(); ++i) cards_[i]->model()->CheckRtl();
  cards_.front()->Finish(result_);
}

// What happened up to the fault can be looked at.
void SessionRun::EndInFault(const Error& error) {
  ReadFaults();
  result_.faults = faults_.Settle(&error, nullptr);
  Unplug();
  trace_.End(result_, results_);
  if (error.kind() == ErrorKind::kDeviceFault && !result_.faults.empty())
    ThrowFaulted(error, std::move(result_));
}

void SessionRun::ReadFaults() {
  if (cards_.empty()) return;
  FunctionRun& run = *members_.front()->run;
  flex::RuntimeContext* const context = run.is_open() ? &run.context() : nullptr;
  SessionCard& card = *cards_.front();
  if (faults_.Read(card, context, config_.workload.functional))
    result_.sim_ps = card.transport().NowPs();
}

void SessionRun::Unplug() {
  log_.reset();
  if (!programs_) members_.front()->run->Close();
  admin_.reset();
  programs_.reset();
  for (const auto& card : cards_) card->Close();
}

void SessionRun::Verify() {
  for (const auto& member : members_)
    if (!member->failed()) member->run->Verify();
}

// A full disk costs large files, not the report.
void SessionRun::WriteTensors() {
  for (const auto& member : members_) {
    if (member->failed()) continue;
    try {
      member->run->WriteTensors();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kBadInput) throw;
      if (result_.unwritten.empty()) result_.unwritten = error.what();
    }
  }
}

}  // namespace spyre::cosim
