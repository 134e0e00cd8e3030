// SPDX-License-Identifier: Apache-2.0
// Whether all cores had work: those that the work was not divided over, and the core that was done
// last. Pure functions but for SENCORES, as AdviceOf; picoseconds.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "cosim/session/run_result.h"

namespace spyre::cosim {

// The work was divided over fewer cores than the card has.
struct IdleCores {
  uint64_t used = 0, all = 0;
  uint64_t possible = 0;  // that the compiler would use without the keys below; used: no more
  std::string keys;       // "workload.cores", "workload.split": what keeps it from that
  // Share of the launch window that more cores could share among them: what the critical path
  // spends inside cores, in the part that the further cores would take over.
  double gain = 0;
};
// None: all cores had work, or it is not known (several cards or tenants).
std::optional<IdleCores> IdleCoresOf(const RunResult& result);
// "24 of 32 cores have no work: workload.split divides it over 8".
std::string ToText(const IdleCores& idle);

// Of the longest kernel, the core whose last unit was done last.
struct LateCore {
  std::string kernel;
  uint32_t core = 0;
  uint64_t late_ps = 0;  // after the median core
  double share = 0;      // that is of the kernel's time
};
// None: fewer than two cores took part, their ends are not known, or they all met at the kernel's
// end, as those of a bundle do: the trace's page then knows which one came last.
std::optional<LateCore> LateCoreOf(const RunResult& result);
// "core 31 was done 12.3 us after the median core, 9.1 % of the longest kernel, matmul".
std::string ToText(const LateCore& late);

// `idle_cores` and `late_core` of the verdict in report.json; null: none.
nlohmann::ordered_json IdleCoresJson(const RunResult& result);
nlohmann::ordered_json LateCoreJson(const RunResult& result);

}  // namespace spyre::cosim
