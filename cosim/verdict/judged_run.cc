// SPDX-License-Identifier: Apache-2.0
#include "cosim/verdict/judged_run.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/interrupt.h"
#include "cosim/report/report.h"
#include "cosim/report/report_faults.h"
#include "cosim/session/compare.h"

namespace spyre::cosim {
namespace {

void WriteText(const std::string& out_dir, const std::string& report) {
  WriteFile(out_dir + "/report.json", report, "report");
}

// Of a run that a signal has ended.
Interruption Interrupted(int signal, const std::string& out_dir) {
  const std::string trace = out_dir + "/trace.sctrace";
  return {signal, fmt::format("{}; {}", InterruptionText(signal),
                              std::filesystem::exists(trace)
                                  ? "there is no report; the trace up to then is " + trace
                                  : "nothing was written to " + out_dir)};
}

RunResult RunOrStop(const RunConfig& config, const std::string& out_dir,
                    const SessionOptions& options) {
  try {
    RunResult result = RunSession(config, out_dir, options);
    // Of several members one has met the signal, and to the others their card was lost.
    if (LastInterruption() == 0) return result;
  } catch (const Error& error) {
    if (LastInterruption() == 0) {
      if (const auto* const fault = dynamic_cast<const FaultedRun*>(&error))
        WriteText(out_dir, FaultedReportJson(*fault));
      throw;
    }
  }
  throw Interrupted(LastInterruption(), out_dir);
}

}  // namespace

std::optional<bool> JudgedRun::Verified() const {
  if (!result.verification) return std::nullopt;
  return result.verification->passed();
}

std::vector<std::string> JudgedRun::Unmet() const {
  std::vector<std::string> unmet;
  for (const Expectation& expectation : expectations)
    if (!expectation.met) unmet.push_back(expectation.key + ": " + expectation.found);
  return unmet;
}

ExitStatus JudgedRun::Status() const {
  if (const Error* const error = MemberError(result)) throw *error;
  if (!result.unwritten.empty()) throw BadInput("{}", result.unwritten);
  return Verified().value_or(true) && difference.empty() && Unmet().empty() ? kDone : kWrong;
}

JudgedRun RunAndJudge(const RunConfig& config, const std::string& out_dir,
                      const SessionOptions& options) {
  JudgedRun run;
  if (config.output.compare != Comparison::kNone)
    run.reference = RunReference(config, out_dir + "/timed");
  run.result = RunOrStop(config, out_dir, options);
  if (run.reference) run.difference = Difference(DigestOf(run.result), *run.reference);
  run.expectations = ExpectationsOf(run.result);
  return run;
}

std::string WriteReport(const JudgedRun& run) {
  std::string report = ReportJson(run.result, run.other(), run.expectations);
  WriteText(run.result.out_dir, report);
  return report;
}

}  // namespace spyre::cosim
