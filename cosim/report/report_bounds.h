// SPDX-License-Identifier: Apache-2.0
// The part of the report that says what bounds what ran: the critical path by cause, and the
// resource that it spent most time on (traces/path_causes.h). Pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cosim/measure/usage.h"
#include "cosim/session/run_result.h"

namespace spyre::cosim {

// {"bound_by", "share", "path_ns", "resources", "causes", "memory"}; docs/report-time.md.
nlohmann::ordered_json BoundsJson(const Usage& usage);

// "bound by the ring's links (62.0 %)", of the critical path; "" without a path.
std::string BoundSentence(const trace::Bound& bound);
// "critical path: the ring's links 62.0 %, memory bandwidth 20.1 %, ..."; "" without a path.
std::string PathSentence(const trace::Bound& bound);

// "window 40.7 us = card 37.9 us + host 2.1 us + idle 0.7 us".
std::string WindowText(const RunResult& result);
nlohmann::ordered_json WindowJson(const RunResult& result);

}  // namespace spyre::cosim
