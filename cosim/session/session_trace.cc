// SPDX-License-Identifier: Apache-2.0
#include "cosim/session/session_trace.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/build_info/build_info.h"
#include "base/error.h"
#include "base/json_text.h"

namespace spyre::cosim {
namespace {

std::string PathOf(const RunResult& result) { return result.out_dir + "/trace.sctrace"; }

}  // namespace

SessionTrace::SessionTrace(const TraceConfig& config)
    : recorder_(0, config.enabled ? trace::CategoryMask(config.categories) : 0) {}

void SessionTrace::Start(const RunResult& result) {
  const RunConfig& config = result.config;
  if (!config.trace.enabled) return;
  const std::string metadata =
      fmt::format("{{\"workload\": {}, \"mode\": \"{}\", \"build\": {}, \"config\": {}}}",
                  DumpJson(nlohmann::ordered_json(result.description)), Name(config.mode),
                  ToJson(ThisBuild()), ToJson(config));
  writer_ = std::make_unique<trace::TraceWriter>(PathOf(result), metadata, config.trace.capacity);
  recorder_.HandTo(*writer_, writer_->block_records());
}

void SessionTrace::End(RunResult& result, const trace::RunResults& results) {
  result.trace_digest = recorder_.Digest();
  if (writer_ == nullptr) return;
  recorder_.Flush();
  result.trace_records = writer_->records();
  result.trace_dropped = writer_->dropped();
  try {
    writer_->Finish(results.known() ? trace::EncodeRunResults(results) : "{}");
    result.trace_path = PathOf(result);
    result.trace_bytes = writer_->file_bytes();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadInput) throw;
    result.unwritten = error.what();
  }
}

}  // namespace spyre::cosim
