// SPDX-License-Identifier: Apache-2.0
#include "model/card/card.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/joined.h"
#include "base/ranges.h"
#include "model/card/check_card.h"

namespace spyre::model {

namespace {
CardConfig Checked(const CardConfig& config) {
  CheckCard(config);
  return config;
}

// The blocks count in picoseconds and take them for the kernel's units. Asking for a time fixes the
// resolution, so that it stays what it is.
void CheckResolution() {
  const double ps = sc_core::sc_get_time_resolution().to_seconds() * 1e12;
  if (sc_core::sc_time(1, sc_core::SC_PS).value() == 1 && ps > 0.999 && ps < 1.001) return;
  throw BadInput(
      "the resolution of time of this simulation is {:g} ps; the card needs 1 ps, which is "
      "SystemC's default (sc_set_time_resolution)",
      ps);
}
}  // namespace

Card::Card(const sc_core::sc_module_name& name, const CardConfig& config, trace::Recorder* recorder)
    : sc_module(name), config_(Checked(config)), mmu_(config_) {
  CheckResolution();
  telemetry_ = std::make_unique<CardTelemetry>(
      "telemetry", config_, mmu_, [this] { return Statistics(); },
      [this](unsigned percent) { SetSpeed(percent); });
  endpoint_ = std::make_unique<PcieEndpoint>("pcie", config_, recorder);
  endpoint_->SetCounters(&telemetry_->counters());
  memory_ = std::make_unique<DeviceMemory>("memory", config_, functional_, recorder);
  memory_->SetCounters(&telemetry_->counters());
  ring_ = std::make_unique<Ring>("ring", config_, recorder);
  dma_ = std::make_unique<DmaEngine>("dma", config_, mmu_, recorder);
  management_ = std::make_unique<ManagementController>("management", config_, mmu_);
  telemetry_->SetNext(management_.get());
  management_->boot().SetStaging(endpoint_->sram(kFirmwareStagingOffset));
  management_->boot().SetEnabledFunctions([this] { return endpoint_->enabled_vfs(); });

  std::vector<Core*> cores;
  for (unsigned i = 0; i < config_.cores; ++i) {
    const std::string core_name = fmt::format("core{:02}", i);
    cores_.push_back(std::make_unique<Core>(core_name.c_str(), i, config_, mmu_, recorder));
    cores.push_back(cores_.back().get());
    functional_.AddLx(cores.back()->lx());
  }
  if (config_.concurrent()) {
    placement_ = std::make_unique<CorePlacement>(config_.cores, config_.partitions,
                                                 config_.num_vfs + 1, mmu_);
  }
  for (unsigned i = 0; i < (config_.concurrent() ? kMaxPartitions : 1); ++i) {
    const std::string dispatcher = i == 0 ? "dispatcher" : fmt::format("dispatcher{}", i);
    dispatchers_.push_back(std::make_unique<ComputeDispatcher>(
        dispatcher.c_str(), config_, mmu_, *ring_, functional_, cores, placement_.get()));
  }
  // Launches that are repeated know nothing of a clock that has changed. With faults every launch
  // is simulated whole: one that is repeated would not meet them.
  if (config_.fidelity == Fidelity::kFast && config_.power.throttle == Throttle::kNone &&
      config_.faults.empty()) {
    fast_ = std::make_unique<FastLaunches>(config_, mmu_, [this] { return LaunchUnits(); });
    dispatchers_.front()->SetFast(fast_.get());
  }
  if (!config_.serial()) {
    service_core_ =
        std::make_unique<Core>("service_core", 0, config_, mmu_, recorder, CoreRole::kService);
    functional_.AddLx(service_core_->lx());
    prepare_dispatcher_ = std::make_unique<ComputeDispatcher>(
        "prepare", config_, mmu_, *ring_, functional_, std::vector{service_core_.get()}, nullptr);
  }
  ControlProcessor::Blocks blocks{
      *management_, *dma_, {}, placement_.get(), prepare_dispatcher_.get(), telemetry_->counters()};
  for (const auto& dispatcher : dispatchers_) blocks.dispatchers.push_back(dispatcher.get());
  control_ = MakeControlProcessor("control", config_, blocks, recorder);

  for (Core* core : cores) {
    core->SetPeers(cores);
    core->ring_socket.bind(ring_->core_socket);
    core->multicast_port.bind(*ring_);
    ring_->lx_socket.bind(core->lx_socket);
  }
  for (const auto& dispatcher : dispatchers_) dispatcher->ring_socket.bind(ring_->core_socket);
  if (service_core_ != nullptr) {
    service_core_->ring_socket.bind(ring_->core_socket);
    service_core_->multicast_port.bind(*ring_);
    ring_->lx_socket.bind(service_core_->lx_socket);
    prepare_dispatcher_->ring_socket.bind(ring_->core_socket);
  }
  ring_->memory_socket.bind(memory_->socket);
  dma_->memory.bind(memory_->socket);
  endpoint_->window.bind(memory_->socket);
  dma_->host.bind(endpoint_->dma);
  control_->host.bind(endpoint_->dma);

  for (unsigned function = 0; function <= config_.num_vfs; ++function) {
    functions_.push_back(std::make_unique<FunctionRegisters>(
        function, config_,
        FunctionRegisters::Blocks{*control_, *management_, mmu_, *endpoint_, *telemetry_},
        [this, function] { ResetQueue(function); }));
    endpoint_->SetBarTarget(function, functions_.back().get());
  }
  endpoint_->function_reset.bind(*this);
  control_->interrupt.bind(*this);
  management_->interrupt.bind(*this);
  management_->lost.bind(*this);
  management_->scrubber().memory.bind(*this);
  if (!config_.faults.empty()) DeclareFaults();
  SC_HAS_PROCESS(Card);
  SC_METHOD(ShowFault);
  sensitive << lost_;
  dont_initialize();
  SC_METHOD(FollowPerst);
  sensitive << perst;
}

void Card::DeclareFaults() {
  faults_ = std::make_unique<FaultInjector>(config_.faults);
  fault_port_ = {faults_.get(), telemetry_.get()};
  const auto any = [this](std::initializer_list<FaultSite> sites) {
    return AnyFits(sites, [this](FaultSite site) { return faults_->Has(site); });
  };
  if (any({FaultSite::kMemory})) memory_->SetFaults(fault_port_);
  if (any({FaultSite::kRing})) ring_->SetFaults(fault_port_);
  if (any({FaultSite::kCompletion, FaultSite::kLink, FaultSite::kMsi}))
    endpoint_->SetFaults(fault_port_);
  if (any({FaultSite::kDma})) dma_->SetFaults(fault_port_);
  if (any({FaultSite::kFetch, FaultSite::kResponse})) control_->SetFaults(fault_port_);
  std::vector<Core*> cores;
  for (const auto& core : cores_) cores.push_back(core.get());
  if (service_core_ != nullptr) cores.push_back(service_core_.get());
  if (any({FaultSite::kInstruction, FaultSite::kResult, FaultSite::kLx})) {
    for (Core* core : cores) core->SetFaults(&fault_port_);
  }
  if (any({FaultSite::kTime})) {
    moments_ = std::make_unique<FaultMoments>(
        "faults", fault_port_,
        FaultMoments::Blocks{*endpoint_, *management_, *control_, *telemetry_, cores});
  }
}

// A job that never ended may have left work on what is now taken down.
Card::~Card() { functional_.Join(); }

void Card::Interrupt(unsigned function, uint32_t causes) { functions_[function]->Raise(causes); }

void Card::ShowFault() {
  for (int i = 0; i < fault.size(); ++i) fault[i]->write(!management_->fault().empty());
}

void Card::FollowPerst() {
  if (perst.size() == 0) return;
  endpoint_->SetLink(!perst->read());
  if (perst->read()) endpoint_->ForgetSticky();
}

void Card::ResetQueue(unsigned function) {
  control_->ResetFunction(function);
  functions_[function]->Reset();
}

// Function-level reset also forgets what the PF has mapped. A VF's regions are its PF's to give and
// take.
void Card::ResetFunction(unsigned function) {
  if (function >= functions_.size()) return;
  ResetQueue(function);
  management_->FunctionReset(function);
  mmu_.NewTenant(function);
  if (function == 0) mmu_.UnmapAll();
}

void Card::ResetCard() {
  ring_->Repair();
  management_->CardReset();
  telemetry_->CardReset();
  lost_.notify(sc_core::SC_ZERO_TIME);  // it may have been
}

std::vector<UnitStatistics> Card::Statistics() const {
  std::vector<UnitStatistics> all;
  all.reserve(cores_.size() * 10 + config_.memory.channels + 32);  // read often: see KernelLog
  const auto add = [&all](const std::vector<UnitStatistics>& units) {
    all.insert(all.end(), units.begin(), units.end());
  };
  add(endpoint_->Statistics());
  add(control_->Statistics());
  add(dma_->Statistics());
  add(fast_ != nullptr ? fast_->Read() : LaunchUnits());
  if (service_core_ != nullptr) add(service_core_->Statistics());
  return all;
}

std::vector<UnitStatistics> Card::LaunchUnits() const {
  std::vector<UnitStatistics> all;
  const auto add = [&all](const std::vector<UnitStatistics>& units) {
    all.insert(all.end(), units.begin(), units.end());
  };
  add(memory_->Statistics());
  add(ring_->Statistics());
  for (const auto& core : cores_) add(core->Statistics());
  return all;
}

void Card::SetSpeed(unsigned percent) {
  for (const auto& core : cores_) core->SetSpeed(percent);
  if (service_core_ != nullptr) service_core_->SetSpeed(percent);
}

void Card::OnJob(const ComputeDispatcher::JobHook& hook) {
  for (const auto& dispatcher : dispatchers_) dispatcher->OnJob(hook);
  if (prepare_dispatcher_ != nullptr) prepare_dispatcher_->OnJob(hook);
}

void Card::OnStep(const ComputeDispatcher::StepHook& hook) {
  for (const auto& dispatcher : dispatchers_) dispatcher->OnStep(hook);
  if (prepare_dispatcher_ != nullptr) prepare_dispatcher_->OnStep(hook);
}

void Card::SetDebugger(Debugger* debugger) { management_->SetDebugger(debugger); }

void Card::AttachWaves(const std::string& block, Waves* waves) {
  if (block == "control" && control_->AttachWaves(waves)) return;
  if (block == "management" && management_->AttachWaves(waves)) return;
  if (block == "pt") {
    for (const auto& core : cores_) {
      if (core->rtl_pt_array() == nullptr) continue;
      core->rtl_pt_array()->SetWaves(waves, core->clock().Span(1));
      return;
    }
  }
  throw BadInput(
      "trace.waves.block = \"{}\": that block of this card is not RTL; card.{}.fidelity = \"rtl\" "
      "is "
      "needed",
      block, block);
}

void Card::CheckRtl() const {
  for (const auto& core : cores_) {
    if (core->rtl_pt_array() != nullptr) core->rtl_pt_array()->Check();
  }
}

std::string Card::DescribeWaits() const {
  std::vector<std::string> lines;
  management_->DescribeWaits(lines);
  control_->DescribeWaits(lines);
  for (const auto& core : cores_) core->DescribeWaits(lines);
  if (service_core_ != nullptr) service_core_->DescribeWaits(lines);
  return fmt::format("{}", Joined(lines, "\n"));
}

}  // namespace spyre::model
