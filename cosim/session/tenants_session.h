// SPDX-License-Identifier: Apache-2.0
// A session of several tenants: one card, its physical function as the administrator, and for each
// tenant a host program (cosim/host/host_programs.h) that runs a workload on a virtual function of
// its own. Each has equal shares of device memory. Called by RunSession.
//
// Errors: of what all tenants share. What goes wrong in one tenant is in its TenantResult, and the
// others go on.
#pragma once

#include <string>

#include "cosim/config/config.h"
#include "cosim/session/run_result.h"
#include "cosim/session/session.h"

namespace spyre::cosim {

// Where tenants.alone asks for it, each tenant runs alone first, in a process of its own: call it
// before this process has simulated a card.
RunResult RunTenants(const RunConfig& config, const std::string& out_dir,
                     const SessionOptions& options);

}  // namespace spyre::cosim
