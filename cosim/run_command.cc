#include "cosim/run_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>

#include "cosim/compare.h"
#include "cosim/gdb_server.h"
#include "cosim/report.h"
#include "cosim/session.h"
#include "model/contract/error.h"

namespace spyre::cosim {
namespace {

// A bar on standard error, redrawn at most ten times a second.
class ProgressBar : public ProgressListener {
 public:
  ~ProgressBar() override {
    if (drawn_) std::fputs("\r\033[K", stderr);
  }
  void Update(const char* phase, uint64_t done, uint64_t total) override {
    const auto now = std::chrono::steady_clock::now();
    const bool new_phase = phase_ != phase;
    if (!new_phase && now - last_ < std::chrono::milliseconds(100)) return;
    phase_ = phase;
    last_ = now;
    drawn_ = true;
    std::string line = phase;
    if (total > 0) {
      constexpr uint64_t kWidth = 30;
      const uint64_t filled = kWidth * std::min(done, total) / total;
      line += fmt::format(" [{:#<{}}{:.<{}}] {}/{} operations", "", filled, "", kWidth - filled,
                          done, total);
    }
    std::fputs(("\r\033[K" + line).c_str(), stderr);
    std::fflush(stderr);
  }

 private:
  std::string phase_;
  std::chrono::steady_clock::time_point last_;
  bool drawn_ = false;
};

// "name=value" of --dim.
void AddDimension(const std::string& text, NumberTable& dims) {
  const size_t equals = text.find('=');
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const char* const begin = equals == std::string::npos ? end : text.data() + equals + 1;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (equals == 0 || error != std::errc() || stop != end || value == 0) {
    throw BadInput("--dim {}: must be NAME=NUMBER, for example --dim rows=64", text);
  }
  dims[text.substr(0, equals)] = value;
}

// The last part of a path, also of one that ends in a slash.
std::string NameOf(const std::string& path) {
  const std::filesystem::path normal = std::filesystem::path(path + "/.").lexically_normal();
  return normal.parent_path().stem().string();
}

}  // namespace

RunConfig ConfigOf(const std::string& path, const std::vector<std::string>& sets,
                   const BundleArguments& bundle) {
  const std::string extension = std::filesystem::path(path).extension().string();
  const bool is_bundle =
      std::filesystem::is_directory(path) || extension == ".py" || extension == ".txt";
  const bool is_graph = extension == ".json";
  RunConfig config = LoadConfig(is_bundle || is_graph ? "" : path, sets);
  if (is_bundle) config.workload.bundle = path;
  if (is_graph) config.workload.graph = path;
  if (!bundle.shapes.empty()) config.workload.shapes = bundle.shapes;
  if (!bundle.args.empty()) config.workload.args = bundle.args;
  for (const std::string& text : bundle.dims) AddDimension(text, config.workload.dims);
  const bool given = !bundle.shapes.empty() || !bundle.args.empty() || !bundle.dims.empty();
  if (given && config.workload.bundle.empty()) {
    throw BadInput("{}: --shape, --args and --dim are for bundles; this configuration runs '{}'",
                   path, config.workload.op);
  }
  return config;
}

bool RunCommand(const RunArguments& args, const std::string& program) {
  const RunConfig config = ConfigOf(args.config, args.sets, args.bundle);
  std::string out = args.out;
  if (out.empty()) out = "out/" + NameOf(args.config);
  std::optional<RunDigest> reference;  // first, while this process has no SystemC yet
  if (config.output.compare != "none") reference = RunReference(config, out + "/timed");
  std::unique_ptr<ProgressBar> bar;
  if (!args.json && !args.no_progress && isatty(STDERR_FILENO) != 0)
    bar = std::make_unique<ProgressBar>();
  std::unique_ptr<GdbServer> gdb;
  if (args.gdb_port) gdb = std::make_unique<GdbServer>(*args.gdb_port);
  const RunResult result = RunSession(config, out, {bar.get(), gdb.get(), args.record});
  bar.reset();
  const bool passed = (!result.verification || result.verification->passed()) &&
                      (!reference || Difference(DigestOf(result), *reference).empty());
  if (gdb) gdb->SetExitStatus(passed ? 0 : 1);

  const RunDigest* const other = reference ? &*reference : nullptr;
  const std::string report = ReportJson(result, other);
  const std::string report_path = out + "/report.json";
  std::ofstream file(report_path, std::ios::binary | std::ios::trunc);
  file << report;
  file.close();
  if (!file) throw BadInput("{}: cannot write the report", report_path);
  std::cout << (args.json ? report : ReportSummary(result, program, other)) << std::flush;
  return passed;
}

}  // namespace spyre::cosim
