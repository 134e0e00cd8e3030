// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/tenant_times.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace spyre::cosim {

TenantTimes TimesOf(const RunResult& run) {
  TenantTimes times;
  times.window_ps = run.end_ps - run.begin_ps;
  times.launch_ps = run.launch_end_ps - run.launch_begin_ps;
  times.output_digest = run.output_digest;
  for (const flex::CompletedOperation& operation : run.launches) {
    times.device_ps += operation.finished_ps - operation.started_ps;
    times.longest_wait_ps =
        std::max(times.longest_wait_ps, operation.started_ps - operation.queued_ps);
  }
  return times;
}

std::string ToText(const TenantTimes& times) {
  return DumpJson(nlohmann::json{times.window_ps, times.launch_ps, times.device_ps,
                                 times.longest_wait_ps, times.output_digest});
}

TenantTimes TenantTimesOf(const std::string& text) {
  const auto json = SortedJsonOf(text);
  return {json[0], json[1], json[2], json[3], json[4]};
}

}  // namespace spyre::cosim
