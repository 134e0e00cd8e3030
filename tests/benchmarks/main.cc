// SPDX-License-Identifier: Apache-2.0
// Runs the benchmarks, and puts what they measured beside the budgets and beside an earlier run.
//   --compare FILE     ratios to an earlier run, which --benchmark_out=FILE wrote
//   --write-docs FILE  writes the tables of what ran into a page
// and the options of Google Benchmark.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "base/error.h"
#include "base/files.h"
#include "base/input_guard.h"
#include "tests/benchmarks/budgets.h"
#include "tests/benchmarks/instructions.h"
#include "tests/benchmarks/openblas.h"
#include "tests/benchmarks/results.h"

namespace spyre::benchmarks {
namespace {

// The console's table, and the same as JSON for what comes after it.
class Reporter : public benchmark::BenchmarkReporter {
 public:
  Reporter() {
    json_.SetOutputStream(&text_);
    json_.SetErrorStream(&std::cerr);
  }
  bool ReportContext(const Context& context) override {
    console_->SetOutputStream(&GetOutputStream());
    console_->SetErrorStream(&GetErrorStream());
    return console_->ReportContext(context) && json_.ReportContext(context);
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    console_->ReportRuns(runs);
    json_.ReportRuns(runs);
  }
  void Finalize() override {
    console_->Finalize();
    json_.Finalize();
  }
  std::string json() const { return text_.str(); }

 private:
  const std::unique_ptr<BenchmarkReporter> console_{benchmark::CreateDefaultDisplayReporter()};
  benchmark::JSONReporter json_;
  std::ostringstream text_;
};

std::string Processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "a processor without a name";
}

// The value of an option of this program, "--name VALUE" or "--name=VALUE", which it takes out.
std::string TakeOption(int& argc, char** argv, const std::string& name) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool has_value = word.rfind(name + "=", 0) == 0;
    if (!has_value && word != name) continue;
    if (!has_value && i + 1 == argc) throw BadInput("{} needs a file", name);
    std::string value = has_value ? word.substr(name.size() + 1) : argv[i + 1];
    const int words = has_value ? 1 : 2;
    for (int k = i; k + words <= argc; ++k) argv[k] = argv[k + words];
    argc -= words;
    return value;
  }
  return "";
}

int Main(int argc, char** argv) {
  StartWithFastestKernels(argv);
  const std::string compare = TakeOption(argc, argv, "--compare");
  const std::string page = TakeOption(argc, argv, "--write-docs");
  // Read before hours of measuring.
  const Results earlier =
      compare.empty() ? Results() : ParseResults(ReadFile(compare, "earlier run"), compare);
  StartCountingInstructions();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::AddCustomContext("machine", Processor());
  benchmark::AddCustomContext("OpenBLAS kernels", Kernels());
  benchmark::AddCustomContext(kInstructions, InstructionsOrWhyNot());
  Reporter reporter;
  if (benchmark::RunSpecifiedBenchmarks(&reporter) == 0) return 1;
  benchmark::Shutdown();

  const Results results = ParseResults(reporter.json(), "this run");
  const std::string budgets = BudgetTable(results), transports = TransportTable(results);
  for (const std::string& table : {budgets, transports})
    if (!table.empty()) fmt::print("\n{}", table);
  if (!compare.empty()) fmt::print("\n{}", ToText(Compare(earlier, results)));
  if (!page.empty()) {
    std::string text = ReadFile(page, "page");
    NoteOwn(page);  // it is written anew, with what it has beside the tables
    if (!budgets.empty()) text = WithTable(text, kBudgets, budgets, page);
    if (!transports.empty()) text = WithTable(text, kTransports, transports, page);
    WriteFile(page, text, "page");
  }
  return 0;
}

}  // namespace
}  // namespace spyre::benchmarks

int main(int argc, char** argv) {
  try {
    return spyre::benchmarks::Main(argc, argv);
  } catch (const spyre::Error& error) {
    std::cerr << "benchmarks: " << error.what() << "\n";
    return 2;
  }
}
