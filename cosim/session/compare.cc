// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/compare.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_text.h"
#include "cosim/host/child_process.h"
#include "cosim/session/session.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::json;

RunConfig Timed(RunConfig config) {
  if (config.card.fidelity == model::Fidelity::kFast)
    config.card.fidelity = model::Fidelity::kTimed;
  config.card.control.fidelity = model::BlockFidelity::kTimed;
  config.card.management.fidelity = model::ManagementFidelity::kBehavioural;
  config.card.pt.fidelity = model::BlockFidelity::kTimed;
  if (!config.tenants.list.json.empty()) config.tenants.alone = false;
  // Waves are of RTL.
  config.trace.waves = {};
  for (const Field& field : Fields(config))
    if (field.key.rfind("trace.waves.", 0) == 0) config.given.erase(field.key);
  return config;
}

Json ToJson(const RunDigest& digest) {
  return {{"sim_ps", digest.sim_ps},        {"window_ps", digest.window_ps},
          {"launch_ps", digest.launch_ps},  {"wall_s", digest.wall_s},
          {"output", digest.output_digest}, {"responses", digest.responses}};
}

}  // namespace

RunDigest RunReference(const RunConfig& config, const std::string& out_dir) {
  try {
    const Json json = SortedJsonOf(
        RunInChild([&] { return DumpJson(ToJson(DigestOf(RunSession(Timed(config), out_dir)))); }));
    return {json["sim_ps"], json["window_ps"], json["launch_ps"],
            json["wall_s"], json["output"],    json["responses"]};
  } catch (const Error& error) {
    throw error.Within("reference run");
  }
}

}  // namespace spyre::cosim
