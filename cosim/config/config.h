// SPDX-License-Identifier: Apache-2.0
// The configuration of a run: what is on the card, what the host costs, what to run and what to
// keep. LoadConfig reads it; everything else takes it as plain data.
//
// Precedence, weakest first: defaults of the structs, the card preset, the configuration file,
// --set in the order given. Errors: Error(kBadInput), naming file, line, column, key, value, unit
// and what is allowed.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cosim/config/field.h"
#include "cosim/tensors/input_data.h"
#include "model/common/card_config.h"
#include "model/contract/memory_map.h"
#include "parameters/card_parameters.h"
#include "runtime/collectives/plan.h"
#include "runtime/compiler/division/schedule.h"
#include "runtime/compiler/division/work_division.h"
#include "runtime/compiler/front_end/compiler_preset.h"
#include "runtime/spyre/issue/issue_options.h"
#include "runtime/spyre/launch_options.h"

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
  uint64_t operation_ns = 2000;  // of what the host computes of a list itself, and for the bytes
  uint64_t operation_bytes_per_ns = 4;
  // The stages of the front end (docs/host.md), which `preset` sets where nothing else does.
  std::string preset = "bare";
  uint64_t dispatch_ns = 0;
  uint64_t launch_ns = 0;
  uint64_t convert_ns_per_kib = 0;
  uint64_t synchronise_ns = 0;
  uint64_t copy_out_ns = 0;
  uint64_t copy_out_ns_per_kib = 0;
  uint64_t copy_out_cold_kib = 22528;
  uint64_t copy_out_cold_ns_per_kib = 0;
};

// How the driver learns of responses.
enum class Completion : uint8_t { kInterrupt, kPolled };

struct RuntimeConfig {
  uint64_t ring_entries = 256;
  Completion completion = Completion::kInterrupt;
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
  runtime::Remainder remainder = runtime::Remainder::kFail;
  runtime::ReductionTiling reduction = runtime::ReductionTiling::kFail;
  runtime::Routing routing = runtime::Routing::kAuto;
  runtime::Overlap overlap = runtime::Overlap::kNone;
  uint64_t depth = 2;
  uint64_t interleave = 1;
};

// A launch of a bundle as another program has made it (cosim/program keeps them). Numbers as
// "0x...", because TOML has none of 64 bits.
struct RepeatConfig {
  std::vector<std::string> addresses;  // device virtual, of every tensor argument in order
  std::string program;                 // where the program's memory begins
  std::string start_ps;                // of its kernel
  std::vector<std::string> memory;     // what each channel was left with (DeviceMemory::Rest)
};

// What becomes of a list of operations: one kernel, a kernel each on streams, or the tasks of a
// task graph.
enum class IssueMode : uint8_t { kProgram, kStreams, kTaskGraph };
const std::vector<std::string>& IssueModeNames();
const std::string& Name(IssueMode mode);

// How an operation waits for one of another stream.
enum class StreamDependencies : uint8_t { kEvents, kHost, kOneStream };

// When a task graph released by the host lets the first task go, and what its queues are for.
enum class TaskStart : uint8_t { kThreshold, kAfterOrchestration };
enum class TaskPools : uint8_t { kByUnit, kOne };

// How a list of operations is issued.
struct IssueConfig {
  IssueMode mode = IssueMode::kProgram;
  uint64_t streams = 4;  // that operations without the key `stream` are dealt out to
  StreamDependencies dependencies = StreamDependencies::kEvents;
  // Of a task graph.
  std::string deps = "hybrid_bytes";
  runtime::Release release = runtime::Release::kEvents;
  uint64_t window = 8192;
  std::string overflow = "stall";
  runtime::Dispatch dispatch = runtime::Dispatch::kChain;  // released by events
  // Released by the host.
  std::string ready = "fifo";
  TaskStart start = TaskStart::kThreshold;
  uint64_t threshold = 0;
  TaskPools pools = TaskPools::kByUnit;
  uint64_t streams_per_unit = 2;
  // Of streams and of a task graph.
  runtime::IssueTiming timing = runtime::IssueTiming::kImmediate;
  uint64_t batch = 8;
  uint64_t tasks_per_ms = 1000;
};
runtime::IssuePacing PacingOf(const IssueConfig& issue);

// How much of the outputs is compared with the reference.
enum class VerifyMode : uint8_t { kFull, kSample, kNone };

// Whose results may stay in LX.
enum class TiledReductions : uint8_t { kFail, kPlan };
enum class LxResults : uint8_t { kAll, kPublic, kNone, kCoOptimizing };

// Whether a core may reach more than 256 MiB of a tensor.
enum class LongSpans : uint8_t { kRefuse, kAllow };

// A decoder stack (cosim/workload/decoder_stack.h). Sizes in elements; the defaults are those of
// Granite-8B.
struct ModelConfig {
  uint64_t layers = 0;  // 0: the workload is not a model
  uint64_t hidden = 4096, mlp = 12800;
  uint64_t heads = 32, kv_heads = 8, head_size = 128;
  uint64_t batch = 1;       // sequences
  uint64_t sequence = 512;  // new tokens of each
  uint64_t context = 0;     // tokens of each with the new ones; 0: sequence
  uint64_t vocabulary = 0;  // 0: no output head
  bool load_weights = true;
  std::string weights = "linear";  // or "transposed": how a step finds the matrices of its products
};

// Fused attention (workload.op = "attention"). Sizes in elements.
struct AttentionConfig {
  uint64_t heads = 32, kv_heads = 8, head_dim = 128;
  uint64_t sequence = 512;  // rows of q: the last of the context
  uint64_t context = 0;     // keys; 0: sequence
  bool causal = false;
};
inline constexpr const char* kAttentionOp = "attention";

struct WorkloadConfig {
  std::string op = "matmul";
  Dims size;
  Dims tile;
  Dims split;
  LaunchConfig launch;
  RepeatConfig repeat;
  uint64_t cores = 0;  // cores that the work division may use; 0: all of the card
  compiler::SplitRule division = compiler::SplitRule::kPublic;
  compiler::Schedule schedule = compiler::kDefaultSchedule;
  std::string axis = "cols";
  bool functional = true;
  VerifyMode verify = VerifyMode::kFull;
  double tolerance = 0;  // 0: derived
  uint64_t seed = 1;
  uint64_t tokens = 0;  // that a launch makes, for energy per token; 0: not said
  Distribution distribution = Distribution::kUniform;
  std::string input_a, input_b;
  // A bundle instead of one operation: its directory, and per argument of it a shape and an input.
  std::string bundle;
  std::string kernel;  // of OpSpec source that holds several
  std::vector<std::string> shapes;
  std::vector<std::string> args;
  NumberTable dims;
  uint64_t cards = 1;  // that run it: cards.count, no key of its own
  // A list of operations instead of one (cosim/workload/op_list_workload.h), and how it is
  // compiled.
  std::string graph;
  TableList tensors, ops, hints;
  FileOrTable plan;
  std::vector<std::string> outputs;
  NumberTable channels;  // of tasks: how many sends may be ahead of the receives
  compiler::CompilerPreset compiler = compiler::CompilerPreset::kOwn;
  bool tiling = true;
  bool agree = true;
  TiledReductions tiled_reductions = TiledReductions::kFail;
  LxResults lx = LxResults::kAll;
  uint64_t lx_step_bytes = compiler::CoOptimizeCost::kBytesPerStep;
  uint64_t lx_operation_bytes = compiler::CoOptimizeCost::kBytesPerOperation;
  std::string lx_solver = "greedy";
  LongSpans long_spans = LongSpans::kRefuse;  // also of a bundle
  uint64_t chunk_bytes = kMaxCoreSpanBytes;   // of a list, beyond which it works in chunks
  IssueConfig issue;
  ModelConfig model;
  AttentionConfig attention;
};

// Waves of one RTL block, in OUT/waves_BLOCK.fst.
enum class WavesBlock : uint8_t { kNone, kControl, kManagement, kPt };
const std::vector<std::string>& WavesBlockNames();
const std::string& Name(WavesBlock block);

struct WavesConfig {
  WavesBlock block = WavesBlock::kNone;
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

// What a run is compared with.
enum class Comparison : uint8_t { kNone, kTimed };

struct OutputConfig {
  bool tensors = true;
  bool inputs = false;
  Comparison compare = Comparison::kNone;
};

// Several workloads at once, each on a virtual function of its own (tenants.h reads them).
struct TenantsConfig {
  TableList list;     // [[tenant]]; none: one workload
  bool alone = true;  // each is run alone as well, and its times compared
};

// What a run is to keep; its exit status says whether it did. 0, 100 percent and "" expect nothing.
struct ExpectConfig {
  uint64_t max_launch_ns = 0, max_device_ns = 0;
  uint64_t max_host_percent = 100, max_idle_percent = 100;
  uint64_t max_energy_uj = 0;
  std::string bound_by, digest, rules;
};

// What several cards do together with the output that each has computed.
// Several cards behind one switch (cards.h reads [[card]]): each runs the workload on inputs of its
// own, seed + its number.
struct CardsConfig {
  uint64_t count = 1;
  runtime::Collective collective = runtime::Collective::kNone;  // of the outputs
  runtime::CollectiveAlgorithm algorithm = runtime::CollectiveAlgorithm::kAuto;
  uint64_t root = 0, peer = 1;  // cards
  uint64_t number = 0;          // of the card whose configuration this is: no key, sessions set it
  model::SwitchConfig pcie_switch;  // [switch]
};

// The function of the card that the runtime opens.
enum class FunctionMode : uint8_t { kVirtual, kPhysical };
const std::vector<std::string>& FunctionModeNames();
const std::string& Name(FunctionMode mode);  // "vf", "pf"

// The card preset that is no file: configs/cards/spyre.toml, which says what the defaults are.
inline constexpr const char* kBuiltInPreset = "spyre";

struct RunConfig {
  std::string preset = kBuiltInPreset;
  FunctionMode mode = FunctionMode::kVirtual;
  model::CardConfig card;
  HostConfig host;
  RuntimeConfig runtime;
  WorkloadConfig workload;  // with tenants: what counts for those that do not say otherwise
  TenantsConfig tenants;
  CardsConfig cards;
  TraceConfig trace;
  OutputConfig output;
  ExpectConfig expect;
  TableList fault;  // as it is written; card.faults has what it means

  std::string source;           // the file, for messages; "": there is none
  std::set<std::string> given;  // keys that the file or --set names, whatever their values
};

// Every key, in the order of the documentation. The fields point into `config`.
std::vector<Field> Fields(RunConfig& config);

// Reads `path` and applies `overrides`, each "key.path=value": the value is TOML, or else a bare
// string. An empty path: defaults and overrides only.
RunConfig LoadConfig(const std::string& path, const std::vector<std::string>& overrides = {});
// The same from TOML text; `name` is what messages call it.
RunConfig ParseConfig(const std::string& text, const std::string& name,
                      const std::vector<std::string>& overrides = {});

// `config` with the keys of [workload] of another configuration file over its own. The rest of that
// file describes a run of its own, and must be valid too.
RunConfig WithWorkloadOf(RunConfig config, const std::string& path);
// The same with the keys of a TOML table, "{ op = 'add' }"; paths in it are relative to `base`.
RunConfig WithWorkload(RunConfig config, const std::string& table, const std::string& name,
                       const std::string& base);

// The complete effective configuration, as TOML that LoadConfig reads back to the same values. Keys
// that have their default and no effect (effect.h) are comments.
std::string ToToml(const RunConfig& config);
// ... and as JSON text (one object with nested objects), for report.json.
std::string ToJson(const RunConfig& config);
// docs/configuration.md: every key with default, allowed values, unit, source and meaning.
std::string ConfigReference();

}  // namespace spyre::cosim
