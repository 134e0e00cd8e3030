// SPDX-License-Identifier: Apache-2.0
// The tenants of a configuration: workloads that share a card, each on a virtual function of its
// own. Pure functions, any thread. Errors: Error(kBadInput) naming the tenant, the key and what is
// allowed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cosim/config/config.h"

namespace spyre::cosim {

struct Tenant {
  std::string name;       // also of its directory and its tracks; "tenant2" unless it is given
  uint64_t function = 0;  // virtual function, from 1; no other tenant has it
  uint64_t start_us = 0;  // from the moment on at which the card is set up
  uint64_t weight = 1;    // share of the engines, relative to other tenants'
  uint64_t cores = 0;     // that its programs may use, one bit each; 0: all
  RunConfig config;       // of a run of its workload alone: no tenants
};

// Their part of the table of keys.
void DescribeTenants(FieldCollector& f, TenantsConfig& tenants);

// In the order of the file; empty: the configuration has none.
std::vector<Tenant> TenantsOf(const RunConfig& config);

}  // namespace spyre::cosim
