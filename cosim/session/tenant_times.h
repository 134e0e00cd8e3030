// SPDX-License-Identifier: Apache-2.0
// What of a tenant's run is compared with its run alone. Plain data; pure functions.
#pragma once

#include <string>

#include "cosim/session/run_result.h"

namespace spyre::cosim {

TenantTimes TimesOf(const RunResult& run);

// These two carry the times out of a child process.
std::string ToText(const TenantTimes& times);
TenantTimes TenantTimesOf(const std::string& text);

}  // namespace spyre::cosim
