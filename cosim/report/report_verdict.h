// SPDX-License-Identifier: Apache-2.0
// The verdict on a run: the lines with which `run` ends, and the same in report.json. Pure
// functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/verdict.h"
#include "cosim/report/expectations.h"
#include "cosim/session/run_result.h"
#include "cosim/session/session.h"

namespace spyre::cosim {

// reference: of output.compare, or null. expectations: of [expect].
Verdict VerdictOf(const RunResult& result, const RunDigest* reference,
                  const std::vector<Expectation>& expectations);

// `lines` of a verdict in report.json: a label and a text each, as LinesOf has them.
nlohmann::ordered_json LinesJson(const Verdict& verdict);

// `verdict` of report.json: the texts, and beside them the figures that they are made of.
nlohmann::ordered_json VerdictJson(const RunResult& result, const RunDigest* reference,
                                   const std::vector<Expectation>& expectations);
// The same of a run that a fault of the card has ended.
nlohmann::ordered_json VerdictJson(const FaultedRun& fault);

}  // namespace spyre::cosim
