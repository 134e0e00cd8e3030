// SPDX-License-Identifier: Apache-2.0
// Runs of configurations. RunConfiguration is for the package's worker, which is a process of its
// own for each run, because SystemC elaborates once in a process.
#include "cosim/session/session.h"

#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "cosim/cli/run_command.h"
#include "cosim/report/report.h"
#include "cosim/verdict/judged_run.h"
#include "python/native/bindings.h"

namespace spyre::python {

namespace py = pybind11;
using Released = py::call_guard<py::gil_scoped_release>;

namespace {

// Calls Python with its lock. What a callback throws ends the run.
class Listener : public cosim::ProgressListener {
 public:
  explicit Listener(py::function callback) : callback_(std::move(callback)) {}
  void Update(const char* phase, uint64_t done, uint64_t total) override {
    const py::gil_scoped_acquire acquired;
    callback_(phase, done, total);
  }

 private:
  py::function callback_;
};

py::dict RunConfiguration(const std::string& path, const std::vector<std::string>& sets,
                          const std::string& out, const std::string& transport,
                          const py::function& progress) {
  Listener listener(progress);
  cosim::JudgedRun run;
  cosim::ExitStatus status;
  std::string report, summary;
  {
    const py::gil_scoped_release released;
    CatchInterrupts(0);
    cosim::RunConfig config = cosim::ConfigOf(path, sets, {});
    if (!transport.empty()) config.trace.enabled = false;  // the card's events are elsewhere
    cosim::SessionOptions options;
    options.progress = &listener;
    options.transport = transport;
    if (!path.empty()) options.inputs = {path};
    run = cosim::RunAndJudge(config, out, options);
    report = cosim::WriteReport(run);
    summary = cosim::ReportVerdict(run.result, run.other(), {}, run.expectations);
    status = run.Status();
  }
  py::dict fields;
  fields["exit_status"] = static_cast<int>(status);
  fields["report"] = report;
  fields["summary"] = summary;
  fields["tensors"] = run.result.tensor_paths;
  fields["trace"] = run.result.trace_path;
  fields["warnings"] = run.result.warnings;
  fields["verified"] = run.Verified();
  fields["difference"] = run.difference;
  fields["unmet"] = run.Unmet();
  return fields;
}

std::string EffectiveConfiguration(const std::string& path, const std::vector<std::string>& sets) {
  return cosim::ToJson(cosim::ConfigOf(path, sets, {}));
}

}  // namespace

void AddSession(py::module_& module) {
  module.def("run", RunConfiguration, py::arg("config"), py::arg("sets"), py::arg("out"),
             py::arg("transport"), py::arg("progress"));
  module.def("effective_configuration", EffectiveConfiguration, py::arg("config"), py::arg("sets"),
             Released());
}

}  // namespace spyre::python
