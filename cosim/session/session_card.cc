// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/session_card.h"

#include <fmt/format.h>

#include "base/error.h"
#include "driver/vfio_user_transport.h"

namespace spyre::cosim {
namespace {

constexpr uint64_t kPsPerNs = 1000;
constexpr std::string_view kVfioUser = "vfio-user:";

}  // namespace

SessionCard::SessionCard(const RunConfig& config, const SessionOptions& options,
                         const std::string& out_dir, trace::Recorder* recorder)
    : config_(config), out_dir_(out_dir), served_(options.transport) {
  if (!served_.empty()) {
    Serve(options);
    return;
  }
  const HostTiming timing{config_.host.register_write_ns, config_.host.register_read_ns,
                          config_.host.interrupt_ns};
  inprocess_ = std::make_unique<InProcessTransport>(config_.card, timing, recorder);
  transport_ = inprocess_.get();
  if (options.debugger != nullptr) inprocess_->card().SetDebugger(options.debugger);
  AttachWaves();
  if (options.record.empty()) return;
  RunConfig recorded = config_;
  recorded.preset = RunConfig().preset;  // its values are in the keys; its file may not be there
  recording_ = std::make_unique<RecordingTransport>(*inprocess_, options.record, ToToml(recorded));
  transport_ = recording_.get();
}

SessionCard::SessionCard(const RunConfig& config, std::unique_ptr<InProcessTransport> card)
    : config_(config), inprocess_(std::move(card)), transport_(inprocess_.get()) {}

void SessionCard::Serve(const SessionOptions& options) {
  if (served_.rfind(kVfioUser, 0) != 0) {
    throw BadInput(
        "--transport {}: must be vfio-user:DIR, DIR the directory of `spyre-cosim serve`", served_);
  }
  if (!config_.card.faults.empty()) {
    throw BadInput(
        "--transport {}: [[fault]] is of the card in the server's process; declare faults in the "
        "configuration that `serve` takes",
        served_);
  }
  const bool waves = config_.trace.waves.block != WavesBlock::kNone;
  if (waves || options.debugger != nullptr || !options.record.empty()) {
    throw BadInput("--transport {}: {} in the server's process, not in this one; leave it out here",
                   served_,
                   waves                         ? "the signals of trace.waves are"
                   : options.debugger != nullptr ? "the management controller that --gdb debugs is"
                                                 : "a served session is recorded");
  }
  other_ = std::make_unique<driver::VfioUserTransport>(served_.substr(kVfioUser.size()));
  transport_ = other_.get();
}

void SessionCard::Check(const driver::Identity& identity) const {
  if (served_.empty()) return;
  const auto cores = static_cast<int>(config_.card.cores);
  if (identity.cores != cores) {
    throw BadInput(
        "--transport {}: the served card has {} cores, and this configuration's has {}; use the "
        "configuration that it is served with",
        served_, identity.cores, cores)
        .Subject("card.cores")
        .Value(identity.cores);
  }
}

void SessionCard::SampleEvery(uint64_t interval_ps, InProcessTransport::Sampler sample) {
  if (!inprocess_) {
    throw BadInput(
        "--transport {}: the card is in the server's process; `spyre-cosim smi --backend {}` "
        "watches it there",
        served_, served_);
  }
  inprocess_->SampleEvery(interval_ps, std::move(sample));
}

void SessionCard::Finish(RunResult& result) {
  model::Card* const card = model();
  if (card != nullptr) card->CheckRtl();
  result.units = Units();
  result.sim_ps = transport_->NowPs();
  if (card == nullptr) return;
  const auto& log = card->management().log();
  result.firmware_log.assign(log.begin(), log.end());
  if (const model::FastStatistics* fast = card->fast()) result.fast = *fast;
}

std::vector<model::UnitStatistics> SessionCard::Units() {
  if (!inprocess_) return {};
  std::vector<model::UnitStatistics> units = inprocess_->card().Statistics();
  const model::PcieSwitch* const pcie_switch = inprocess_->pcie_switch();
  if (pcie_switch == nullptr) return units;
  for (model::UnitStatistics& unit : pcie_switch->Statistics()) units.push_back(std::move(unit));
  return units;
}

HostTime SessionCard::host_time() { return inprocess_ ? inprocess_->host_time() : HostTime(); }

void SessionCard::LogWaits(std::vector<HostWait>* waits) {
  if (inprocess_) inprocess_->LogWaits(waits);
}

std::string SessionCard::WavesPath() const {
  return fmt::format("{}/waves_{}.fst", out_dir_, Name(config_.trace.waves.block));
}

void SessionCard::AttachWaves() {
  const WavesConfig& waves = config_.trace.waves;
  if (waves.block == WavesBlock::kNone) return;
  model::WaveWindow window;
  window.from_ps = waves.from * kPsPerNs;
  if (waves.to != 0) window.to_ps = waves.to * kPsPerNs;
  if (waves.on_error) window.rolling_dumps = 2 * waves.cycles;  // both edges
  waves_ = std::make_unique<model::Waves>(WavesPath(), window);
  inprocess_->card().AttachWaves(Name(waves.block), waves_.get());
}

std::vector<std::string> SessionCard::KeepWaves(bool passed) {
  if (waves_ == nullptr) return {};
  if (config_.trace.waves.on_error && passed) waves_->Discard();
  return waves_->Files();
}

void SessionCard::Close() {
  transport_ = nullptr;
  if (recording_) recording_->Finish();
  recording_.reset();
  other_.reset();
  if (inprocess_) inprocess_->EndSampling();
  inprocess_.reset();
  if (waves_ != nullptr) waves_->Close();
}

}  // namespace spyre::cosim
