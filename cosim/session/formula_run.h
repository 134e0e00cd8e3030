// SPDX-License-Identifier: Apache-2.0
// A run of times only on a card of fidelity "fast": the closed form of every kernel's time
// (cosim/estimate), without a card, programs or SystemC. Single thread.
#pragma once

#include <string>

#include "cosim/session/run_result.h"
#include "cosim/session/session.h"

namespace spyre::cosim {

// Whether RunSession takes the closed form: card.fidelity = "fast", times only, one workload on one
// card or on several, without declared faults and without throttling. Others simulate a card.
bool IsByFormula(const RunConfig& config);

// Kernels run one after the other, with what the host computes of a list and what several cards do
// together between them; what is around them, such as copies and launches, takes no time.
// out_dir: made and cleared for the report; empty: nobody writes one.
// Throws BadInput, with the way to the timed card, for what has no closed form: workloads (see
// Workload::Work), pipelined hardware, traces, recordings, readings and cards of other processes.
RunResult RunByFormula(const RunConfig& config, const std::string& out_dir,
                       const SessionOptions& options);

}  // namespace spyre::cosim
