// The configuration of a run: what is on the card, what the host costs, what to run and what to
// keep. LoadConfig reads it; everything else takes it as plain data.
//
// Precedence, weakest first: defaults of the structs, the card preset, the configuration file,
// --set in the order given. Errors: Error(kBadInput), naming file, line, column, key, value, unit
// and what is allowed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cosim/field.h"
#include "model/card/card_config.h"

namespace spyre::cosim {

// What the host pays, in simulated time.
struct HostConfig {
  uint64_t register_write_ns = 50;
  uint64_t register_read_ns = 50;
  uint64_t interrupt_ns = 1000;
  uint64_t submit_ns = 150;
  uint64_t completion_ns = 100;
  uint64_t map_ns = 300;
  uint64_t convert_bytes_per_ns = 8;
};

struct RuntimeConfig {
  uint64_t ring_entries = 256;
  std::string completion = "interrupt";
  uint64_t poll_interval_ns = 200;
  std::string scheduler = "round_robin";
  uint64_t starvation_limit = 16;
  std::string hazards = "off";
  uint64_t deadline_ms = 10000;
};

// Sizes of the iteration space; 0: not given.
struct Dims {
  uint64_t batch = 0, m = 0, k = 0, n = 0, rows = 0, cols = 0;
};

// How the kernel is launched on tensors larger than its tile (runtime/spyre/launch_options.h).
struct LaunchConfig {
  std::vector<std::string> order;
  std::string remainder = "fail";
  std::string reduction = "fail";
  std::string routing = "auto";
  std::string overlap = "none";
  uint64_t depth = 2;
  uint64_t interleave = 1;
};

// How a list of operations is issued.
struct IssueConfig {
  std::string mode = "program";
  uint64_t streams = 4;  // that operations without the key `stream` are dealt out to
  std::string dependencies = "events";
  // Of a task graph.
  std::string deps = "hybrid_bytes";
  std::string release = "events";
  uint64_t window = 8192;
};

struct WorkloadConfig {
  std::string op = "matmul";
  Dims size;
  Dims tile;
  Dims split;
  LaunchConfig launch;
  uint64_t cores = 0;             // cores that the work division may use; 0: all of the card
  std::string division = "seed";  // rule of work division
  std::string axis = "cols";
  bool functional = true;
  std::string verify = "full";
  uint64_t seed = 1;
  std::string distribution = "uniform";
  std::string input_a, input_b;
  // A bundle instead of one operation: its directory, and per argument of it a shape and an input.
  std::string bundle;
  std::vector<std::string> shapes;
  std::vector<std::string> args;
  NumberTable dims;
  // A list of operations instead of one (cosim/graph_workload.h), and how it is compiled.
  std::string graph;
  TableList tensors, ops, hints;
  std::vector<std::string> outputs;
  bool tiling = true;
  bool agree = true;
  std::string lx = "all";
  std::string lx_solver = "greedy";
  IssueConfig issue;
};

// Waves of one RTL block, in OUT/waves_BLOCK.fst.
struct WavesConfig {
  std::string block = "none";
  uint64_t from = 0, to = 0;  // ns of simulated time; to 0: the end
  bool on_error = false;
  uint64_t cycles = 20000;  // on_error: at least so many are kept
};

struct TraceConfig {
  bool enabled = true;
  std::vector<std::string> categories = {"all"};
  uint64_t capacity = 1 << 20;
  WavesConfig waves;
};

struct OutputConfig {
  bool tensors = true;
  bool inputs = false;
  std::string compare = "none";
};

struct RunConfig {
  std::string preset = "spyre";
  std::string mode = "vf";
  model::CardConfig card;
  HostConfig host;
  RuntimeConfig runtime;
  WorkloadConfig workload;
  TraceConfig trace;
  OutputConfig output;
};

// Every key, in the order of the documentation. The fields point into `config`.
std::vector<Field> Fields(RunConfig& config);

// Reads `path` and applies `overrides`, each "key.path=value": the value is TOML, or else a bare
// string. An empty path: defaults and overrides only.
RunConfig LoadConfig(const std::string& path, const std::vector<std::string>& overrides = {});
// The same from TOML text; `name` is what messages call it.
RunConfig ParseConfig(const std::string& text, const std::string& name,
                      const std::vector<std::string>& overrides = {});

// The complete effective configuration, as TOML that LoadConfig reads back to the same values.
std::string ToToml(const RunConfig& config);
// ... and as JSON text (one object with nested objects), for report.json.
std::string ToJson(const RunConfig& config);
// docs/configuration.md: every key with default, allowed values, unit, source and meaning.
std::string ConfigReference();

}  // namespace spyre::cosim
