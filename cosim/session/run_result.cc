// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/run_result.h"

#include <fmt/format.h>

#include <algorithm>

namespace spyre::cosim {

uint64_t ListCollective::Ps() const {
  uint64_t begin = UINT64_MAX, end = 0;
  for (const Part& part : parts) {
    begin = std::min(begin, part.begin_ps);
    end = std::max(end, part.end_ps);
  }
  return end == 0 ? 0 : end - begin;
}

const Error* MemberError(const RunResult& result) {
  for (const TenantResult& tenant : result.tenants)
    if (tenant.error) return &*tenant.error;
  for (const CardResult& card : result.cards)
    if (card.error) return &*card.error;
  return nullptr;
}

RunDigest DigestOf(const RunResult& result) {
  return {result.sim_ps,
          result.end_ps - result.begin_ps,
          result.launch_end_ps - result.launch_begin_ps,
          result.wall.total,
          result.output_digest,
          result.responses,
          !result.formula.has_value()};
}

std::string Difference(const RunDigest& run, const RunDigest& reference) {
  if (!run.is_simulated) return "";
  const auto [mine, other] = std::mismatch(run.responses.begin(), run.responses.end(),
                                           reference.responses.begin(), reference.responses.end());
  if (mine != run.responses.end() || other != reference.responses.end()) {
    return fmt::format("response {}: {}, reference: {}", mine - run.responses.begin(),
                       mine == run.responses.end() ? "none" : *mine,
                       other == reference.responses.end() ? "none" : *other);
  }
  if (run.output_digest != reference.output_digest) {
    return fmt::format("output tensors: digest {:016x}, reference: {:016x}", run.output_digest,
                       reference.output_digest);
  }
  return "";
}

}  // namespace spyre::cosim
