// SPDX-License-Identifier: Apache-2.0
// The trace of a session: the recorder that card, driver and runtime record with, and the file that
// it becomes. Single thread. Errors: Error(kBadInput) if the file cannot be written, but not from
// End, which notes it in the result.
#pragma once

#include <memory>
#include <string>

#include "cosim/config/config.h"
#include "cosim/session/run_result.h"
#include "traces/recording/recorder.h"
#include "traces/run_results.h"
#include "traces/trace_writer.h"

namespace spyre::cosim {

class SessionTrace {
 public:
  explicit SessionTrace(const TraceConfig& config);

  trace::Recorder& recorder() { return recorder_; }
  // Opens OUT/trace.sctrace, if a trace is asked for.
  void Start(const RunResult& result);
  // Once nothing records any more: digest, size and path go to the result. results: what the run
  // found of itself, for the end of the file (traces/run_results.h).
  void End(RunResult& result, const trace::RunResults& results = {});

 private:
  std::unique_ptr<trace::TraceWriter> writer_;  // null: not asked for
  trace::Recorder recorder_;
};

}  // namespace spyre::cosim
