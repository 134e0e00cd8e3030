// SPDX-License-Identifier: Apache-2.0
// The card that a session works on, with what the session puts between it and the driver: the model
// in this process, or a card that another process serves. Single thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cosim/config/config.h"
#include "cosim/host/host_time.h"
#include "cosim/host/inprocess_transport.h"
#include "cosim/replay/recording_transport.h"
#include "cosim/session/run_result.h"
#include "cosim/session/session.h"
#include "driver/device.h"
#include "model/rtl/waves.h"
#include "traces/recording/recorder.h"

namespace spyre::cosim {

class SessionCard {
 public:
  // recorder: must outlive this. Errors: BadInput for what a served card does not have here: waves,
  // a debugger, a recording; those of the card.
  SessionCard(const RunConfig& config, const SessionOptions& options, const std::string& out_dir,
              trace::Recorder* recorder);

  // One of several cards of a simulation, with nothing in between.
  SessionCard(const RunConfig& config, std::unique_ptr<InProcessTransport> card);

  // What the driver is to use: the card itself, or a recording of it.
  driver::Transport& transport() { return *transport_; }
  // Null: the card is in another process, and its counters with it.
  model::Card* model() { return inprocess_ ? &inprocess_->card() : nullptr; }
  // Null: likewise.
  InProcessTransport* inprocess() { return inprocess_.get(); }
  HostTime host_time();  // of a served card: zeros
  // With those of the switch that it is behind; empty for a card that is in another process.
  std::vector<model::UnitStatistics> Units();
  // `sample` at each multiple of `interval_ps` of simulated time, until Close. BadInput of a served
  // card, whose time goes on elsewhere.
  void SampleEvery(uint64_t interval_ps, InProcessTransport::Sampler sample);
  // Sleeps of the host are appended until Close; of a served card: none.
  void LogWaits(std::vector<HostWait>* waits);
  // Throws if a served card is not the one of the configuration.
  void Check(const driver::Identity& identity) const;

  // What the card has to say of the session, at its end. Throws DeviceFault if RTL did not do what
  // the card's times are based on.
  void Finish(RunResult& result);

  // Ends recording and simulation; what uses the transport must be gone.
  void Close();
  // Of a run that reached its end, after Close: the files of waves that stay.
  std::vector<std::string> KeepWaves(bool passed);

 private:
  std::string WavesPath() const;
  void AttachWaves();
  void Serve(const SessionOptions& options);

  const RunConfig& config_;
  const std::string out_dir_;
  const std::string served_;  // the path that was given
  std::unique_ptr<model::Waves> waves_;
  std::unique_ptr<InProcessTransport> inprocess_;
  std::unique_ptr<driver::Transport> other_;  // null: it is in this process
  std::unique_ptr<RecordingTransport> recording_;
  driver::Transport* transport_ = nullptr;
};

}  // namespace spyre::cosim
