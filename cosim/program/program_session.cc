// SPDX-License-Identifier: Apache-2.0
#include "cosim/program/program_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>

#include "base/error.h"
#include "base/files.h"
#include "cosim/program/program_report.h"
#include "cosim/program/program_summary.h"
#include "cosim/session/session_paths.h"
#include "cosim/session/session_setup.h"
#include "driver/physical_function.h"

namespace spyre::cosim {
namespace {

// The configuration of the card; what it says of a workload is not run.
RunConfig ConfigOf(const sdk::CardRequest& request) {
  RunConfig config = LoadConfig(request.config, request.sets);
  if (config.cards.count > 1) {
    throw BadInput("cards.count = {}: a program has one card; leave the key out",
                   config.cards.count)
        .Subject("cards.count");
  }
  if (request.function == "pf") config.mode = FunctionMode::kPhysical;
  if (request.function == "vf") config.mode = FunctionMode::kVirtual;
  if (request.out.empty()) config.trace.enabled = false;
  config.workload.verify = VerifyMode::kNone;  // a program has no workload of ours
  return config;
}

}  // namespace

ProgramSession::ProgramSession(const sdk::CardRequest& request)
    : request_(request), config_(ConfigOf(request)) {
  result_.config = config_;
  result_.description = request.program;
  result_.out_dir = request.out;
  if (!request.out.empty()) {
    result_.directory = std::make_shared<OutputDirectory>(request.out);
    std::vector<std::string> inputs;
    if (!request.config.empty()) inputs.push_back(request.config);
    result_.directory->Clear(FilesOfAnyRun(), inputs);
  }
  trace_ = std::make_unique<SessionTrace>(config_.trace);
  trace_->Start(result_);
  Open(request);
}

ProgramSession::~ProgramSession() {
  kernels_.reset();
  admin_.reset();
  if (card_) card_->Close();
}

void ProgramSession::Open(const sdk::CardRequest& request) {
  const bool reported = !request.out.empty();
  trace::Recorder* const recorder = config_.trace.enabled ? &trace_->recorder() : nullptr;
  card_ = std::make_unique<SessionCard>(config_, SessionOptions(), request.out, recorder);
  if (reported) {
    card_->LogWaits(&host_waits_);
    if (request.keep_bytes)
      watch_ = std::make_unique<LaunchWatch>(config_, request_, *card_->model());
    card_->model()->control().NameComputes([this](uint64_t correlation) {
      const std::lock_guard<std::mutex> lock(names_mutex_);
      const auto name = names_.extract(correlation);
      return name.empty() ? std::string() : name.mapped();
    });
    const auto also = [this](const model::Job& job, bool ended) {
      if (watch_ != nullptr) watch_->Job(job, ended);
    };
    kernels_.emplace(*card_->model(), recorder, std::vector<std::string>(), config_.trace.enabled,
                     also);
  }
  options_ = RuntimeOptionsOf(config_, recorder);
  options_.keep_completed = reported;
  if (config_.mode == FunctionMode::kVirtual) {
    admin_ = std::make_unique<driver::Device>(card_->transport(), 0, options_.device);
    driver::PhysicalFunction physical(*admin_);
    physical.EnableVirtualFunctions(static_cast<int>(config_.card.num_vfs));
    AssignRegions(physical, config_.card.usable_bytes(), config_.card.num_vfs);
  }
}

driver::FunctionId ProgramSession::function() const {
  return config_.mode == FunctionMode::kVirtual ? 1 : 0;
}

void ProgramSession::Loaded(const sdk::ProgramLoad& load) {
  if (watch_ != nullptr) watch_->Loaded(load);
}

void ProgramSession::Launched(const sdk::ProgramLaunch& launch) {
  if (!launch.correction) {
    result_.kernel_names.insert(launch.name);
    const std::lock_guard<std::mutex> lock(names_mutex_);
    if (kernels_) names_[launch.correlation] = launch.name;
  }
  if (watch_ != nullptr) watch_->Launched(launch);
}

void ProgramSession::Converted(const sdk::ProgramCopy& copy) {
  (copy.to_card ? special_to_card_ : special_from_card_) += copy.special;
}

void ProgramSession::Failed(const std::string& what) { result_.warnings.push_back(what); }

void ProgramSession::Measure(flex::RuntimeContext& context) {
  result_.launches = context.CompletedOperations();
  result_.launch_counts = context.Counts();
  result_.hazards = context.Hazards();
  result_.tensor_memory = context.Statistics(flex::MemoryKind::kTensor);
  result_.program_memory = context.Statistics(flex::MemoryKind::kProgram);
  for (const flex::CompletedOperation& operation : result_.launches) {
    const bool copy = operation.opcode == Opcode::DMA_IN || operation.opcode == Opcode::DMA_OUT;
    if (copy) ++result_.transfers;
    if (result_.begin_ps == 0 || operation.queued_ps < result_.begin_ps)
      result_.begin_ps = operation.queued_ps;
    result_.end_ps = std::max(result_.end_ps, operation.finished_ps);
  }
  result_.launch_begin_ps = result_.begin_ps;
  result_.launch_end_ps = result_.end_ps;
  result_.launch_host = card_->host_time();
  result_.launch_units = card_->Units();
  result_.launch_activity = card_->model()->telemetry().Done();
  result_.kernel_usages = kernels_->Take();
  card_->Finish(result_);
}

void ProgramSession::WriteFiles() {
  WriteFile(result_.out_dir + "/report.json", ProgramReportJson(result_, checks_), "report");
  WriteFile(result_.out_dir + "/summary.txt", ProgramSummary(result_, checks_), "summary");
}

void ProgramSession::Finish(flex::RuntimeContext& context) noexcept {
  if (result_.out_dir.empty()) return;
  try {
    Measure(context);
    const trace::RunResults path = FollowPaths(result_, result_.launches, host_waits_);
    kernels_.reset();
    if (watch_ != nullptr) checks_ = watch_->Finish(result_.warnings);
    checks_.special_to_card = special_to_card_;
    checks_.special_from_card = special_from_card_;
    trace_->End(result_, path);
    WriteFiles();
    if (!result_.unwritten.empty()) throw BadInput("{}", result_.unwritten);
  } catch (const std::exception& error) {
    fmt::print(stderr, "spyre-cosim: the report of this program is not complete: {}\n",
               error.what());
  }
}

}  // namespace spyre::cosim
