// SPDX-License-Identifier: Apache-2.0
// Whole runs with declared faults, each in a process of its own, and what a user would see of them.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "cosim/config/config.h"
#include "cosim/host/child_process.h"
#include "cosim/report/report_faults.h"
#include "cosim/session/session.h"

namespace spyre::test {

struct FaultedOutcome {
  int status = 0;     // as the program would exit with
  std::string error;  // of status 2 to 4
  bool compared = false;
  uint64_t mismatches = 0;
  double sim_ms = 0;
  nlohmann::json faults;  // as in report.json
};

// What a small operation on all cores of a small card ends in, with `sets` as of --set, of which
// one may be "fault=[...]".
inline std::string FaultedRunJson(const std::vector<std::string>& sets, const std::string& out) {
  using nlohmann::json;
  std::vector<std::string> all = {"workload.op=add", "workload.rows=64", "workload.cols=256",
                                  "card.cores=4", "trace.enabled=false"};
  all.insert(all.end(), sets.begin(), sets.end());
  json answer = {{"status", 0}, {"error", ""},   {"compared", false},
                 {"wrong", 0},  {"sim_ms", 0.0}, {"faults", json::array()}};
  const auto take = [&answer](const cosim::RunResult& result) {
    answer["sim_ms"] = static_cast<double>(result.sim_ps) / 1e9;
    answer["faults"] = SortedJsonOf(cosim::FaultsJson(result).dump());
  };
  try {
    const cosim::RunResult result = cosim::RunSession(cosim::LoadConfig("", all), out);
    take(result);
    if (result.verification) {
      answer["compared"] = true;
      answer["wrong"] = result.verification->mismatches;
      answer["status"] = result.verification->passed() ? 0 : 1;
    }
  } catch (const cosim::FaultedRun& fault) {
    take(fault.result());
    answer["status"] = 3;
    answer["error"] = fault.what();
  } catch (const Error& error) {
    answer["status"] = error.kind() == ErrorKind::kBadInput      ? 2
                       : error.kind() == ErrorKind::kDeviceFault ? 3
                                                                 : 4;
    answer["error"] = error.what();
  }
  return answer.dump();
}

inline std::vector<FaultedOutcome> RunWithFaults(
    const std::vector<std::vector<std::string>>& runs) {
  std::vector<cosim::ChildWork> works;
  for (size_t i = 0; i < runs.size(); ++i) {
    works.emplace_back([&sets = runs[i], out = ::testing::TempDir() + "out" + std::to_string(i)] {
      return FaultedRunJson(sets, out);
    });
  }
  std::vector<FaultedOutcome> outcomes;
  for (const cosim::ChildResult& child : cosim::TryInChildren(works, 2)) {
    if (child.error) {
      outcomes.push_back({4, child.error->what(), false, 0, 0, nlohmann::json::array()});
      continue;
    }
    const auto json = SortedJsonOf(child.bytes);
    outcomes.push_back({json["status"], json["error"], json["compared"], json["wrong"],
                        json["sim_ms"], json["faults"]});
  }
  return outcomes;
}

}  // namespace spyre::test
