#include "cosim/compare.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cosim/child_process.h"
#include "model/contract/error.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::json;

RunConfig WithoutRtl(RunConfig config) {
  config.card.control.fidelity = "timed";
  config.card.management.fidelity = "behavioural";
  config.card.pt.fidelity = "timed";
  return config;
}

Json ToJson(const RunDigest& digest) {
  return {{"sim_ps", digest.sim_ps},        {"window_ps", digest.window_ps},
          {"launch_ps", digest.launch_ps},  {"wall_s", digest.wall_s},
          {"output", digest.output_digest}, {"responses", digest.responses}};
}

}  // namespace

RunDigest DigestOf(const RunResult& result) {
  return {result.sim_ps,
          result.end_ps - result.begin_ps,
          result.launch_end_ps - result.launch_begin_ps,
          result.wall.total,
          result.output_digest,
          result.responses};
}

RunDigest RunReference(const RunConfig& config, const std::string& out_dir) {
  try {
    const Json json = Json::parse(RunInChild(
        [&] { return ToJson(DigestOf(RunSession(WithoutRtl(config), out_dir))).dump(); }));
    return {json["sim_ps"], json["window_ps"], json["launch_ps"],
            json["wall_s"], json["output"],    json["responses"]};
  } catch (const Error& error) {
    throw Error(error.kind(), std::string("reference run: ") + error.what());
  }
}

std::string Difference(const RunDigest& run, const RunDigest& reference) {
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
