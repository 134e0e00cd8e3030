// SPDX-License-Identifier: Apache-2.0
// The figures of docs/open-questions.md. A block of that document between
//   <!-- figures
//   what the row is called: CONFIG [key.path=value ...]
//   -->
// and <!-- end of figures --> is a table that is written from here: each row is
// configs/open_questions/CONFIG.toml with these keys set, once on serial and once on pipelined
// hardware, timing only, each run in a process of its own. "figures with copies" takes the time
// from the first copy to the last instead of that of the launches, "figures by stream" the time at
// which the last operation of each stream is done. "figures of partitions" are also from concurrent
// hardware, with the time that the longest kernel takes on each. Rows of "graph figures" are task
// graphs on the host, CONFIG.graph with these options. SPYRE_UPDATE_DOCS=1 writes the document.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/json_text.h"
#include "cosim/cli/task_graph_command.h"
#include "cosim/config/config.h"
#include "cosim/host/child_process.h"
#include "cosim/report/report_tasks.h"
#include "cosim/session/session.h"
#include "tests/paths.h"

namespace spyre::cosim::open_questions_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::string kDocument = SPYRE_SOURCE_DIR "/docs/open-questions.md";
const std::string kConfigs = SPYRE_SOURCE_DIR "/configs/open_questions/";
constexpr const char* kBegin = "<!-- ";
constexpr const char* kHead = "-->\n";
constexpr const char* kEnd = "<!-- end of figures -->";
constexpr size_t kAtOnce = 2;

struct Row {
  std::string name;
  std::string config;
  std::vector<std::string> sets;
};

enum class Figures { kLaunches, kWithCopies, kByStream, kPartitions, kGraphs };
const std::map<std::string, Figures> kKinds = {{"figures", Figures::kLaunches},
                                               {"figures with copies", Figures::kWithCopies},
                                               {"figures by stream", Figures::kByStream},
                                               {"figures of partitions", Figures::kPartitions},
                                               {"graph figures", Figures::kGraphs}};

struct Block {
  Figures kind = Figures::kLaunches;
  size_t begin = 0, end = 0;  // of the table in the document
  std::vector<Row> rows;
};

std::string ReadDocument() {
  std::ifstream file(kDocument);
  return {std::istreambuf_iterator<char>(file), {}};
}

Row RowOf(const std::string& line) {
  const size_t colon = line.rfind(": ");
  EXPECT_NE(colon, std::string::npos) << line;
  Row row;
  row.name = line.substr(0, colon);
  std::istringstream words(line.substr(colon + 2));
  words >> row.config;
  for (std::string word; words >> word;) row.sets.push_back(word);
  return row;
}

std::vector<Block> BlocksOf(const std::string& text) {
  std::vector<Block> blocks;
  for (size_t at = 0; (at = text.find(kBegin, at)) != std::string::npos;) {
    const size_t name = at + std::string(kBegin).size();
    const size_t line = text.find('\n', name);
    const auto kind = kKinds.find(text.substr(name, line - name));
    at = line;
    if (kind == kKinds.end()) continue;
    Block block;
    block.kind = kind->second;
    const size_t head = text.find(kHead, line);
    block.begin = head + std::string(kHead).size();
    block.end = text.find(kEnd, head);
    EXPECT_NE(block.end, std::string::npos) << "a block of figures has no end";
    std::istringstream lines(text.substr(line + 1, head - line - 1));
    for (std::string row; std::getline(lines, row);) block.rows.push_back(RowOf(row));
    at = block.end;
    blocks.push_back(std::move(block));
  }
  return blocks;
}

// Relative files of the keys are relative to the directory of the configurations.
RunConfig ConfigOf(const Row& row, const char* concurrency) {
  std::vector<std::string> sets = row.sets;
  sets.insert(sets.end(), {"workload.functional=false", "trace.enabled=false",
                           "output.tensors=false", std::string("card.concurrency=") + concurrency});
  return LoadConfig(kConfigs + row.config + ".toml", sets);
}

// When the last operation of each stream is done, from the begin of the launches.
Json StreamsDone(const RunResult& result) {
  std::map<std::string, uint64_t> done_ps;
  for (const flex::CompletedOperation& operation : result.launches) {
    uint64_t& last = done_ps[std::to_string(operation.stream)];
    last = std::max(last, operation.finished_ps - result.launch_begin_ps);
  }
  return done_ps;
}

uint64_t LongestKernel(const RunResult& result) {
  uint64_t longest = 0;
  for (const flex::CompletedOperation& operation : result.launches) {
    if (operation.opcode == Opcode::COMPUTE && !operation.correction)
      longest = std::max(longest, operation.finished_ps - operation.started_ps);
  }
  return longest;
}

std::vector<const char*> HardwareOf(const Block& block) {
  if (block.kind == Figures::kPartitions) return {"serial", "pipelined", "concurrent"};
  return {"serial", "pipelined"};
}

// What a table needs of a run, or why there was none.
std::string Measure(const Row& row, const char* concurrency) {
  std::string pattern = (fs::temp_directory_path() / "spyre_questions_XXXXXX").string();
  const std::string directory = mkdtemp(pattern.data());
  Json json;
  try {
    const RunResult result = RunSession(ConfigOf(row, concurrency), directory);
    const OverlapSummary overlap = OverlapOf(result);
    json = {{"launch_ps", result.launch_end_ps - result.launch_begin_ps},
            {"window_ps", result.end_ps - result.begin_ps},
            {"overlap_ps", overlap.overlap_ps},
            {"streams", StreamsDone(result)},
            {"kernel_ps", LongestKernel(result)},
            {"operations", result.launch_counts.queued},
            {"doorbells", result.launch_doorbells},
            {"tensors", result.tensor_memory.peak_bytes},
            {"programs", result.program_memory.peak_bytes}};
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadInput) throw;
    json = {{"refused", error.what()}};
  }
  fs::remove_all(directory);
  return json.dump();
}

std::string Bytes(double bytes) {
  return bytes >= 1 << 20 ? fmt::format("{:.2f} MiB", bytes / (1 << 20))
                          : fmt::format("{:.1f} KiB", bytes / (1 << 10));
}

std::string CardTable(const Block& block, const Json* results) {
  const char* time = block.kind == Figures::kWithCopies ? "window_ps" : "launch_ps";
  std::string text =
      "| option | serial | pipelined | two engines at work | operations | doorbells | tensors | "
      "programs |\n|---|---:|---:|---:|---:|---:|---:|---:|\n";
  for (const Row& row : block.rows) {
    const Json& serial = *results++;
    const Json& pipelined = *results++;
    const auto ran = [](const Json& run) { return !run.contains("refused"); };
    const auto micros = [&](const Json& run) {
      return ran(run) ? fmt::format("{:.2f} us", run[time].get<double>() / 1e6) : "refused";
    };
    text += fmt::format("| {} | {} | {} |", row.name, micros(serial), micros(pipelined));
    if (!ran(serial) && !ran(pipelined)) {
      text += " | | | | |\n";
      continue;
    }
    const Json& run = ran(pipelined) ? pipelined : serial;
    text += fmt::format(" {:.1f} % | {} | {} | {} | {} |\n",
                        100 * run["overlap_ps"].get<double>() / run["launch_ps"].get<double>(),
                        run["operations"].get<uint64_t>(), run["doorbells"].get<uint64_t>(),
                        Bytes(run["tensors"].get<double>()), Bytes(run["programs"].get<double>()));
  }
  return text;
}

std::string StreamTable(const Block& block, const Json* results) {
  std::string head = "| option |", line = "|---|";
  for (const char* hardware : {"serial", "pipelined"}) {
    for (const auto& [stream, done_ps] : results->at("streams").items()) {
      head += fmt::format(" {}: stream {} done |", hardware, stream);
      line += "---:|";
    }
  }
  std::string text = head + "\n" + line + "\n";
  for (const Row& row : block.rows) {
    text += fmt::format("| {} |", row.name);
    for (int hardware = 0; hardware < 2; ++hardware) {
      for (const auto& [stream, done_ps] : (results++)->at("streams").items())
        text += fmt::format(" {:.2f} us |", done_ps.get<double>() / 1e6);
    }
    text += "\n";
  }
  return text;
}

std::string PartitionTable(const Block& block, const Json* results) {
  std::string text = "| option |", line = "|---|";
  for (const char* hardware : HardwareOf(block)) {
    text += fmt::format(" {} | longest kernel |", hardware);
    line += "---:|---:|";
  }
  text += "\n" + line + "\n";
  for (const Row& row : block.rows) {
    text += fmt::format("| {} |", row.name);
    for (size_t i = 0; i < HardwareOf(block).size(); ++i) {
      const Json& run = *results++;
      text += fmt::format(" {:.2f} us | {:.2f} us |", run["launch_ps"].get<double>() / 1e6,
                          run["kernel_ps"].get<double>() / 1e6);
    }
    text += "\n";
  }
  return text;
}

// Tasks, edges and cycles of a task graph on the host, and what it had to say.
std::string GraphRow(const Row& row) {
  GraphCommandOptions options;
  options.file = kConfigs + row.config + ".graph";
  for (const std::string& set : row.sets) {
    const std::string value = set.substr(set.find('=') + 1);
    if (set.rfind("conformance=", 0) == 0) options.conformance = value;
    if (set.rfind("deps=", 0) == 0) options.deps = value;
    if (set.rfind("ready=", 0) == 0) options.ready = value;
    if (set.rfind("dispatch=", 0) == 0) options.dispatch = value;
  }
  std::istringstream none;
  std::ostringstream answers, messages;
  try {
    RunGraphCommand(options, none, answers, messages);
  } catch (const Error& error) {
    messages << error.what();
  }
  Json state, simulation;
  std::istringstream lines(answers.str());
  for (std::string line; std::getline(lines, line);) {
    const Json answer = SortedJsonOf(line);
    if (answer["r"] == "state") state = answer;
    if (answer["r"] == "sim") simulation = answer;
  }
  std::string text = messages.str();
  text = text.substr(text.find(": ") == std::string::npos ? 0 : text.find(": ") + 2);
  text = text.substr(0, text.find('\n'));
  if (state.is_null() || simulation.is_null())
    return fmt::format("| {} | | | | {} |\n", row.name, text);
  size_t edges = 0;
  for (const Json& task : state["tasks"]) edges += task["fanout"].size();
  int64_t cycles = 0;
  for (const Json& entry : simulation["trace"]) cycles = std::max<int64_t>(cycles, entry[2]);
  return fmt::format("| {} | {} | {} | {} | {} |\n", row.name, state["next_task_id"].dump(), edges,
                     cycles, text);
}

std::string GraphTable(const Block& block) {
  std::string text = "| option | tasks | edges | cycles | messages |\n|---|---:|---:|---:|---|\n";
  for (const Row& row : block.rows) text += GraphRow(row);
  return text;
}

std::string WithFigures(const std::string& document, const std::vector<Block>& blocks) {
  std::vector<std::function<std::string()>> works;
  std::map<std::string, size_t> known;  // what is in several tables runs once
  std::vector<size_t> places;           // in `works`, of every figure in order
  for (const Block& block : blocks) {
    if (block.kind == Figures::kGraphs) continue;
    for (const Row& row : block.rows) {
      for (const char* concurrency : HardwareOf(block)) {
        const std::string run =
            fmt::format("{} {} {}", row.config, fmt::join(row.sets, " "), concurrency);
        const auto [place, is_new] = known.try_emplace(run, works.size());
        if (is_new) works.emplace_back([&row, concurrency] { return Measure(row, concurrency); });
        places.push_back(place->second);
      }
    }
  }
  const std::vector<std::string> answers = RunInChildren(works, kAtOnce);
  std::vector<Json> results;
  for (const size_t place : places) results.push_back(SortedJsonOf(answers[place]));
  std::string text;
  size_t done = 0;
  const Json* next = results.data();
  for (const Block& block : blocks) {
    text += document.substr(done, block.begin - done);
    if (block.kind == Figures::kGraphs) {
      text += GraphTable(block);
    } else {
      text += block.kind == Figures::kByStream     ? StreamTable(block, next)
              : block.kind == Figures::kPartitions ? PartitionTable(block, next)
                                                   : CardTable(block, next);
      next += HardwareOf(block).size() * block.rows.size();
    }
    done = block.end;
  }
  return text + document.substr(done);
}

TEST(OpenQuestions, TheFiguresOfTheDocumentAreThoseOfTheCard) {
  fs::current_path(SPYRE_SOURCE_DIR);  // as for --set on the command line
  const std::string document = ReadDocument();
  const std::vector<Block> blocks = BlocksOf(document);
  ASSERT_FALSE(blocks.empty());
  const std::string text = WithFigures(document, blocks);
  if (std::getenv("SPYRE_UPDATE_DOCS") != nullptr) std::ofstream(kDocument) << text;
  EXPECT_EQ(ReadDocument(), text) << "run again with SPYRE_UPDATE_DOCS=1";
}

TEST(OpenQuestions, EveryConfigurationIsARowOfTheDocument) {
  std::set<std::string> rows;
  for (const Block& block : BlocksOf(ReadDocument()))
    for (const Row& row : block.rows) rows.insert(row.config);
  for (const auto& entry : fs::directory_iterator(kConfigs)) {
    if (entry.is_directory()) continue;
    EXPECT_EQ(rows.count(entry.path().stem().string()), 1u) << entry.path();
  }
}

}  // namespace
}  // namespace spyre::cosim::open_questions_test
