// SPDX-License-Identifier: Apache-2.0
// The table of configuration keys, in one file because it is one table. Those of the card are in
// model/parameters/card.toml.
#include "cosim/config/cards.h"
#include "cosim/config/config.h"
#include "cosim/config/host_preset.h"
#include "cosim/config/tenants.h"
#include "runtime/compiler/division/work_division.h"
#include "runtime/compiler/ops/op_list.h"
#include "runtime/flex/hazard.h"
#include "runtime/flex/scheduler.h"
#include "runtime/flex/scheduling_policy.h"
#include "runtime/spyre/issue/issue.h"
#include "runtime/spyre/launch_options.h"

namespace spyre::cosim {
namespace {

constexpr uint64_t kMaxSize = 1ull << 31;  // elements along one dimension
constexpr uint64_t kMaxNs = 1'000'000'000;
constexpr uint64_t kMaxWavesNs = 1'000'000'000'000'000;  // longer than any run

void DescribeDims(FieldCollector& f, const char* prefix, Dims& dims, uint64_t max, const char* unit,
                  const char* meaning) {
  f.SetPrefix(prefix);
  const auto number = [&](const char* key, uint64_t& value, const char* text) {
    f.Number(key, value, 0, max, unit, text, "choice", meaning);
  };
  number("batch", dims.batch, "matmul: independent products");
  number("m", dims.m, "matmul: rows of a and out");
  number("k", dims.k, "matmul: columns of a, rows of b");
  number("n", dims.n, "matmul: columns of b and out");
  number("rows", dims.rows, "other operations: rows");
  number("cols", dims.cols, "other operations: columns");
}

void DescribeGraph(FieldCollector& f, WorkloadConfig& workload) {
  f.Path("graph", workload.graph,
         "TOML or JSON file with the list of operations to run instead of one: dims, tensors, ops, "
         "hints, outputs (docs/compiler.md); what is given here as well goes before it");
  f.Tables("tensors", workload.tensors,
           "Of a list of operations: its inputs, { name, dims, stick?, file? }; without a file "
           "generated from the seed");
  f.Tables(
      "ops", workload.ops,
      "A list of operations to run instead of one, in order: { op, inputs, output, dim?, ... }");
  f.Tables("hints", workload.hints,
           "Of a list of operations: { ops?, slices = { DIM = COUNT } }, loops around a range of "
           "them, outermost first");
  f.List("outputs", workload.outputs, {},
         "Of a list of operations: the tensors that are results; empty: those that nothing reads");
  f.Table("channels", workload.channels, 1, 1 << 20,
          "Of a list of operations that is issued one by one: for each name that the keys `send` "
          "and `receive` use, how many sends may be ahead of the receives; others have no bound");
  f.FileOrTableOf(
      "plan", workload.plan,
      "Of a list of operations: a plan of one's own (docs/plans.md), or the JSON or TOML "
      "file that has it: splits, groups, lx, cuts");
  f.Choice(
      "compiler", workload.compiler, compiler::CompilerPresetNames(),
      "Of a list of operations: whose defaults the passes have that are not set one by one. own: "
      "those below; public: the public compiler of June 2026; public-rfc: the public compiler "
      "of the coarse-tiling RFC, May 2026 (docs/compiler.md)");
  f.Flag("tiling", workload.tiling,
         "Of a list of operations: false ignores the hints, and the groups of a plan");
  f.Choice(
      "tiled_reductions", workload.tiled_reductions, {"fail", "plan"},
      "Of a list of operations: hints along a dimension that an operation sums over. fail: the "
      "operation is not divided there, as in the public compiler; plan: each iteration makes "
      "the sum of a tile, which is rounded and added to those before (sum, mean, matmul)");
  f.Flag("agree", workload.agree,
         "Of a list of operations: operations of one loop are divided over the cores along the "
         "dimensions that all of them walk; false: each by itself, as division says");
  f.Choice(
      "lx", workload.lx, {"all", "public", "none", "co-optimizing"},
      "Of a list of operations: whose results may stay in LX; all: also a copy of an input that "
      "several operations read; public: max, sum, exp and sub, as the public compiler of 2026-06 "
      "chooses; co-optimizing: all, and operations without a hint are "
      "put into loops over tiles where that saves more than it costs (docs/compiler.md)");
  f.Number("lx_step_bytes", workload.lx_step_bytes, 0, uint64_t{1} << 30, "bytes",
           "With lx = \"co-optimizing\": what each execution of an operation costs beside its "
           "traffic, in bytes of traffic that take as long");
  f.Number("lx_operation_bytes", workload.lx_operation_bytes, 0, uint64_t{1} << 30, "bytes",
           "With lx = \"co-optimizing\": what an operation more in the program costs, in bytes of "
           "traffic that take as long");
  f.Choice("lx_solver", workload.lx_solver, {"greedy", "firstfit", "bestfit"},
           "Of a list of operations: how LX planning places buffers");
  f.Choice("long_spans", workload.long_spans, {"refuse", "allow"},
           "Of a list of operations or a bundle: what happens where a core must reach more than "
           "256 MiB of a tensor, which the public compiler refuses; allow: a warning");
  f.Number("chunk_bytes", workload.chunk_bytes, 1, uint64_t{1} << 40, "bytes",
           "Of a list of operations: an operation of which a core would reach more than this of a "
           "tensor is done in chunks; the default is what a core may reach");
}

void DescribeIssue(FieldCollector& f, IssueConfig& issue) {
  f.Choice(
      "mode", issue.mode, IssueModeNames(),
      "Of a list of operations: program, all of them are one kernel; streams, each is a kernel "
      "of its own, launched on the stream that its key `stream` names, and what depends on "
      "another stream waits for an event; task_graph, a task graph finds from their tensors what "
      "must wait for what, and puts them on streams of its own");
  f.Choice(
      "dependencies", issue.dependencies, {"events", "host", "one_stream"},
      "With mode = streams: how an operation waits for one of another stream: events, on "
      "the card; host, the host waits for the other stream before it goes on; one_stream, there "
      "is no other: all are on the default stream");
  f.Number("streams", issue.streams, 1, flex::kFirstHighPriorityStream - 1, "streams",
           "With mode = streams: chains of operations without the key `stream` are dealt out "
           "to so many streams, from stream 1 on; task_graph: streams that it spreads tasks over");
  f.Choice("deps", issue.deps, {"exact", "bytes", "explicit", "hybrid", "hybrid_bytes"},
           "With mode = task_graph: what orders tasks: equal regions, shared bytes, the key "
           "`after` of an operation, or one of the first two and `after`");
  f.Choice("release", issue.release, runtime::ReleaseNames(),
           "With mode = task_graph: events, tasks go to the card at once and the card does "
           "the waiting; host, a task goes when the host has seen what it depends on complete");
  f.Number("window", issue.window, 1, 1 << 20, "tasks",
           "With mode = task_graph: tasks in flight, a power of two");
  f.Choice("overflow", issue.overflow, {"stall", "abort"},
           "With mode = task_graph: what a full window does: stall, it waits for the oldest task; "
           "abort, the run ends with an error");
  f.Choice("dispatch", issue.dispatch, runtime::DispatchNames(),
           "With release = events: the stream of a task: chain, that of the producer that it "
           "follows, else the least loaded one; round_robin, one after the other; affinity, "
           "operations whose key `stream` is the same share one; hash, by a hash of that key or, "
           "without it, of the name");
  f.Choice("ready", issue.ready, {"fifo", "work_steal", "priority"},
           "With release = host: which ready task a free stream takes: fifo, the one that became "
           "ready first; work_steal, the youngest that its own tasks released, else the oldest of "
           "another stream; priority, the one whose operation has the highest key `priority`");
  f.Choice("start", issue.start, {"threshold", "after_orchestration"},
           "With release = host: when the first task goes: threshold, once more than "
           "workload.issue.threshold tasks are known; after_orchestration, once all are");
  f.Number("threshold", issue.threshold, 0, 1 << 20, "tasks",
           "With start = threshold: tasks that are held back before the first one goes");
  f.Choice("pools", issue.pools, {"unit", "one"},
           "With release = host: unit, copies in, copies out and kernels have a ready queue and "
           "streams each; one, all streams take from one queue");
  f.Number("streams_per_unit", issue.streams_per_unit, 1, 8, "streams",
           "With release = host: tasks of one unit on the card at a time; pools = one has three "
           "times as many for everything");
  f.Choice("timing", issue.timing, runtime::IssueTimingNames(),
           "With mode = streams or task_graph: immediate, a task is handed to the card when it is "
           "issued; batched, workload.issue.batch tasks together with one doorbell; rate_limited, "
           "at most workload.issue.tasks_per_ms; interleaved (mode = streams), as batched, and in "
           "a batch the streams take turns with one task each");
  f.Number("batch", issue.batch, 1, 1 << 16, "tasks",
           "With timing = batched or interleaved: tasks of a batch");
  f.Number("tasks_per_ms", issue.tasks_per_ms, 1, 1'000'000, "tasks",
           "With timing = rate_limited: tasks issued in a millisecond of simulated time");
}

void DescribeAttention(FieldCollector& f, AttentionConfig& attention) {
  f.Number("heads", attention.heads, 1, 4096, "heads", "With op = attention: heads of q");
  f.Number("kv_heads", attention.kv_heads, 1, 4096, "heads",
           "Heads of k and v, each for heads / kv_heads heads of q; they divide heads");
  f.Number("head_dim", attention.head_dim, 1, kMaxSize, "elements",
           "Elements of a head, a multiple of 64");
  f.Number("sequence", attention.sequence, 1, kMaxSize, "rows",
           "Rows of q, the last ones of the context: 1 in decoding");
  f.Number("context", attention.context, 0, kMaxSize, "keys", "Keys; 0: as many as rows of q");
  f.Flag("causal", attention.causal,
         "true: a row sees the keys up to its own place in the context; false: all keys");
}

std::vector<std::string> OperationNames() {
  std::vector<std::string> names;
  for (const compiler::Operation& operation : compiler::Operations()) {
    names.emplace_back(operation.name);
    names.insert(names.end(), operation.aliases.begin(), operation.aliases.end());
  }
  names.emplace_back(kAttentionOp);
  return names;
}

void DescribeModel(FieldCollector& f, ModelConfig& model) {
  f.Number("layers", model.layers, 0, 1024, "layers",
           "A decoder stack to run instead of one operation (docs/models.md): its layers; 0: none");
  f.Number("hidden", model.hidden, 1, kMaxSize, "elements",
           "Width of the hidden state; a multiple of 64");
  f.Number("mlp", model.mlp, 1, kMaxSize, "elements",
           "Width of the feed-forward block; a multiple of 64");
  f.Number("heads", model.heads, 1, 1024, "heads", "Query heads; a multiple of kv_heads");
  f.Number("kv_heads", model.kv_heads, 1, 1024, "heads",
           "Key and value heads; each serves heads / kv_heads query heads");
  f.Number("head_size", model.head_size, 1, 4096, "elements", "Width of a head; a multiple of 64");
  f.Number("batch", model.batch, 1, 4096, "sequences", "Sequences that one step works on");
  f.Number("sequence", model.sequence, 1, kMaxSize, "tokens",
           "New tokens of each sequence in one step: of a prefill the prompt, of a decode 1");
  f.Number("context", model.context, 0, kMaxSize, "tokens",
           "Tokens of each sequence that attention reads, with the new ones; those before are in "
           "the KV cache; 0: the new ones only");
  f.Number("vocabulary", model.vocabulary, 0, kMaxSize, "tokens",
           "Logits of the last token of each sequence, behind a final norm; 0: none, the result is "
           "the hidden state");
  f.Flag("load_weights", model.load_weights,
         "true: weights and KV cache are copied to the card before the step; false, with "
         "workload.functional = false only: they are there already, which saves the simulation of "
         "their copies");
  f.Choice("weights", model.weights, {"linear", "transposed"},
           "How weights are held. linear: [outputs, inputs], as PyTorch's layers have them, and "
           "each step restickifies a weight before its product, as programs of the public compiler "
           "do; transposed: [inputs, outputs], as the product takes them");
}

}  // namespace

const std::vector<std::string>& IssueModeNames() {
  static const std::vector<std::string> names = {"program", "streams", "task_graph"};
  return names;
}
const std::string& Name(IssueMode mode) { return IssueModeNames()[static_cast<size_t>(mode)]; }

runtime::IssuePacing PacingOf(const IssueConfig& issue) {
  return {issue.timing, static_cast<uint32_t>(issue.batch),
          static_cast<uint32_t>(issue.tasks_per_ms)};
}

const std::vector<std::string>& WavesBlockNames() {
  static const std::vector<std::string> names = {"none", "control", "management", "pt"};
  return names;
}
const std::string& Name(WavesBlock block) { return WavesBlockNames()[static_cast<size_t>(block)]; }

const std::vector<std::string>& FunctionModeNames() {
  static const std::vector<std::string> names = {"vf", "pf"};
  return names;
}
const std::string& Name(FunctionMode mode) {
  return FunctionModeNames()[static_cast<size_t>(mode)];
}

std::vector<Field> Fields(RunConfig& c) {
  FieldCollector f;
  f.SetPrefix("card");
  f.Path("preset", c.preset,
         "Card to start from: \"spyre\", compiled in (configs/cards/spyre.toml), or a path to a "
         "TOML file with the same [card] tables");
  f.Choice(
      "mode", c.mode, FunctionModeNames(),
      "vf: the runtime opens virtual function 1, memory is 8 regions, locations are region and "
      "offset; pf: it opens the physical function, every allocation is mapped on its own, "
      "locations are physical addresses",
      "public");
  f.Parameters(model::ParametersOf(c.card));

  f.SetPrefix("host");
  f.Number("register_write_ns", c.host.register_write_ns, 0, kMaxNs, "ns",
           "Host time of a posted register write", "assumed");
  f.Number("register_read_ns", c.host.register_read_ns, 0, kMaxNs, "ns",
           "Host time of a register read, on top of the PCIe round trip", "assumed");
  f.Number("interrupt_ns", c.host.interrupt_ns, 0, kMaxNs, "ns",
           "From the arrival of an MSI to the waiting thread running again", "assumed");
  f.Number("submit_ns", c.host.submit_ns, 0, kMaxNs, "ns",
           "Building, sealing and storing one queue entry", "assumed");
  f.Number("completion_ns", c.host.completion_ns, 0, kMaxNs, "ns",
           "Reading and checking one response", "assumed");
  f.Number("map_ns", c.host.map_ns, 0, kMaxNs, "ns",
           "Making a host buffer reachable for DMA, and again undoing it", "assumed");
  f.Number("convert_bytes_per_ns", c.host.convert_bytes_per_ns, 1, 1000000, "bytes/ns",
           "Conversion of a tensor between host order and stick order", "assumed");

  f.Number("operation_ns", c.host.operation_ns, 0, kMaxNs, "ns",
           "What the host computes of a list itself (docs/host.md): each operation. No time of the "
           "card's stack is known",
           "assumed");
  f.Number("operation_bytes_per_ns", c.host.operation_bytes_per_ns, 1, 1000000, "bytes/ns",
           "... and what it reads and writes", "assumed");

  f.Choice("preset", c.host.preset, HostPresetNames(),
           "The front end around a launch and a copy, as the keys below: bare has none; plain and "
           "profiled are those of torch-spyre, without and with its profiler (docs/host.md)");
  f.Number("dispatch_ns", c.host.dispatch_ns, 0, kMaxNs, "ns",
           "Work of the front end in Python for each launch, before the runtime's", "public");
  f.Number("launch_ns", c.host.launch_ns, 0, kMaxNs, "ns",
           "Work of the front end's runtime for each launch, before its entries are built",
           "public");
  f.Number("convert_ns_per_kib", c.host.convert_ns_per_kib, 0, kMaxNs, "ns/KiB",
           "Conversion of a tensor, on top of convert_bytes_per_ns", "public");
  f.Number(
      "synchronise_ns", c.host.synchronise_ns, 0, kMaxNs, "ns",
      "From the end of a stream's last operation to its waiting caller going on, on top of the "
      "interrupt",
      "assumed");
  f.Number("copy_out_ns", c.host.copy_out_ns, 0, kMaxNs, "ns",
           "What is around the DMA of each copy to the host", "public");
  f.Number("copy_out_ns_per_kib", c.host.copy_out_ns_per_kib, 0, kMaxNs, "ns/KiB",
           "... and for its bytes", "public");
  f.Number("copy_out_cold_kib", c.host.copy_out_cold_kib, 0, kMaxNs, "KiB",
           "Memory beyond this of a copy to the host is new to the process", "public");
  f.Number("copy_out_cold_ns_per_kib", c.host.copy_out_cold_ns_per_kib, 0, kMaxNs, "ns/KiB",
           "... and its pages have to be made", "public");

  f.SetPrefix("runtime");
  f.Number("ring_entries", c.runtime.ring_entries, 2, 65536, "entries",
           "Size of the submission and of the response ring; a power of two");
  f.Choice("completion", c.runtime.completion, {"interrupt", "polled"},
           "How the driver learns of responses: MSI, or reading the response ring");
  f.Number("poll_interval_ns", c.runtime.poll_interval_ns, 1, kMaxNs, "ns",
           "Polled completion: simulated time between two looks at the response ring");
  f.Choice("scheduler", c.runtime.scheduler, flex::SchedulingPolicyNames(),
           "Which stream goes next: fifo, in order of arrival over all streams; round_robin, one "
           "operation of each stream in turn; priority, streams of high priority first; "
           "drain_one_first, one stream until it has nothing ready; fair, the stream that has used "
           "the least device time");
  f.Number(
      "starvation_limit", c.runtime.starvation_limit, 1, 1'000'000, "operations",
      "priority, drain_one_first, fair: operations in a row for the streams that the scheduler "
      "favours while another waits, before that gets one");
  f.Choice("hazards", c.runtime.hazards, flex::HazardModeNames(),
           "Operations of different streams that touch the same bytes in no order: off, not looked "
           "for; error, the later one is refused; warning, listed in the report; event, ordered by "
           "an event");
  f.Number("deadline_ms", c.runtime.deadline_ms, 1, 1'000'000'000, "ms",
           "Simulated time without a response after which the card counts as hung");

  f.SetPrefix("workload");
  f.Choice("op", c.workload.op, OperationNames(), "The operation");
  f.Choice("axis", c.workload.axis, {"cols", "rows"},
           "Reductions: the dimension that is reduced; softmax is along cols");
  f.Flag("functional", c.workload.functional,
         "true: data moves and is computed; false: timing only, the same times and no data");
  f.Choice("verify", c.workload.verify, {"full", "sample", "none"},
           "Compare every output element, a seeded sample, with one of every core, corelet and "
           "tile, or none with the reference");
  f.Fraction("tolerance", c.workload.tolerance,
             "Largest error against float64 of what was asked for, by the largest magnitude of its "
             "results; 0: each element has a limit, derived from the roundings of its operations "
             "(docs/report.md)");
  f.Number("seed", c.workload.seed, 0, UINT64_MAX >> 1, "", "Seed of generated inputs and samples");
  f.Number("tokens", c.workload.tokens, 0, kMaxSize, "tokens",
           "New tokens that the launches make, by which the report divides their energy "
           "(docs/energy.md); rows of an operation need not be tokens, so 0 says that there are "
           "none. A model has its own, workload.model.batch x sequence");
  f.Choice("distribution", c.workload.distribution, {"uniform", "normal", "positive", "small"},
           "Generated inputs: uniform in [-1, 1), normal (0, 1), uniform in [1/16, 4), or uniform "
           "in [-1/16, 1/16), with which chains of long sums stay finite");
  f.Number("cores", c.workload.cores, 0, 32, "cores",
           "Cores that the work division may use, at most card.cores; 0: all");
  f.Choice(
      "division", c.workload.division, compiler::SplitRuleNames(),
      "Rule of work division: public, the public compiler's passes; cost, for matmuls the split "
      "that is fastest by the card's timing parameters; public-cost, the least time by the public "
      "cost model alone");
  f.Choice(
      "schedule", c.workload.schedule, compiler::ScheduleNames(),
      "How the cores go through their shares: public, as the closed compiler is seen to do it, "
      "with small tiles and the loops that it generates, which is what times of the real card "
      "are of; own, what better code could reach");
  f.Path("bundle", c.workload.bundle,
         "Directory of an SDSC bundle, OpSpec source, or a graph that `opt` wrote (.json), to run "
         "instead of one operation; \"\": none");
  f.Text(
      "kernel", c.workload.kernel,
      "Of a bundle that is OpSpec source: which of its async_compile.sdsc() calls; \"\": the only "
      "one");
  f.List(
      "shapes", c.workload.shapes, {},
      "Of a bundle: host shape of every tensor argument in order, as \"512x4096\" or, with a type, "
      "\"512x4096:float32\"; empty: from manifest.json or op_spec.py.txt");
  f.PathList("args", c.workload.args,
             "Of a bundle: .npy file of every input argument in order; \"\" or an empty list: "
             "generated from the seed");
  f.Table("dims", c.workload.dims, 1, kMaxSize,
          "Sizes of named dimensions; of a bundle: the values of its symbolic dimensions");
  DescribeGraph(f, c.workload);
  DescribeDims(f, "workload", c.workload.size, kMaxSize, "elements", "; 0: not given");
  DescribeDims(f, "workload.tile", c.workload.tile, kMaxSize, "elements",
               ", of the tile that the kernel is compiled for; 0: the whole size");
  DescribeDims(f, "workload.split", c.workload.split, 32, "parts",
               ", number of parts in the work division, as equal as whole sticks allow; all 0: the "
               "compiler divides the work, otherwise 0 is 1");
  f.SetPrefix("workload.launch");
  f.List("order", c.workload.launch.order, {},
         "Tiled launches: dimensions from the outermost loop to the innermost; those not named "
         "follow in order of first appearance in the tensors");
  f.Choice("remainder", c.workload.launch.remainder, runtime::RemainderNames(),
           "A last tile that is smaller than the compiled one: fail, bad input; pad, it goes "
           "through tensors of the tile's shape, filled with zeros; remainder_kernel, a kernel "
           "compiled for the rest runs on it");
  f.Choice("reduction", c.workload.launch.reduction, runtime::ReductionTilingNames(),
           "Tiles of a dimension that the operation sums over: fail, bad input; device, fp32 sums "
           "are carried from launch to launch in device memory; lx, they stay in LX; plan, an "
           "operation of the plan adds rounded partial results");
  f.Choice("routing", c.workload.launch.routing, runtime::RoutingNames(),
           "auto: a launch is tiled if the shapes are not exactly the compiled ones; strict: other "
           "shapes are bad input; tiled: always, also for one tile");
  f.Choice("overlap", c.workload.launch.overlap, runtime::OverlapNames(),
           "Tiled launches: none, a tile after the other; double_buffer, the next tiles' programs "
           "are corrected on a stream of their own while a tile is computed; streams, tiles are "
           "dealt out to depth streams");
  f.Number("depth", c.workload.launch.depth, 1, runtime::kMaxOverlapDepth, "",
           "Tiles in flight with overlap, each with a replica of the programs and staging tensors "
           "of its own; 1: as overlap none");
  f.Number("interleave", c.workload.launch.interleave, 1, 1024, "chunks",
           "Pieces of each tensor that is tiled along its outermost device dimension, each an "
           "allocation of its own, on a VF in a region of its own while there are so many");
  f.SetPrefix("workload.repeat");
  f.List(
      "addresses", c.workload.repeat.addresses, {},
      "Of a bundle that repeats a launch of another program: the device virtual address of every "
      "tensor argument in order, as \"0x1000\"; empty: wherever memory is free");
  f.Text("program", c.workload.repeat.program,
         "Likewise: where the memory of the program begins, a physical address or an offset in "
         "region 7 of a VF; \"\": wherever memory is free");
  f.Text(
      "start_ps", c.workload.repeat.start_ps,
      "Likewise: when its kernel began, as \"0x1000\". It begins then, or later by whole periods "
      "of all clocks and of the refresh of device memory; \"\": as soon as it can");
  f.List(
      "memory", c.workload.repeat.memory, {},
      "Likewise: what every channel of device memory was left with when the kernel began: read or "
      "write, the requests since the bus turned, and of each bank the row that was open or -, with "
      "+PS+PS+PS if it had to wait before it could be used, closed or opened; empty: as it comes");
  f.SetPrefix("workload.issue");
  DescribeIssue(f, c.workload.issue);
  f.SetPrefix("workload.model");
  DescribeModel(f, c.workload.model);
  f.SetPrefix("workload.attention");
  DescribeAttention(f, c.workload.attention);
  f.SetPrefix("workload.inputs");
  f.Path("a", c.workload.input_a, "float16 .npy file of input a; empty: generated from the seed");
  f.Path("b", c.workload.input_b, "float16 .npy file of input b; empty: generated from the seed");

  DescribeTenants(f, c.tenants);
  DescribeCards(f, c.cards);

  f.SetPrefix("trace");
  f.Flag("enabled", c.trace.enabled, "Record a trace and write trace.sctrace");
  f.List("categories", c.trace.categories,
         {"host", "control", "pcie", "dma", "ring", "memory", "core", "firmware", "all"},
         "What is recorded");
  f.Number("capacity", c.trace.capacity, 1, 1ull << 28, "records",
           "Records that the trace file keeps at least; the oldest go first");
  f.SetPrefix("trace.waves");
  f.Choice("block", c.trace.waves.block, WavesBlockNames(),
           "Block whose signals go to waves_BLOCK.fst; it must be RTL in this configuration");
  f.Number("from", c.trace.waves.from, 0, kMaxWavesNs, "ns", "Simulated time of the first signals");
  f.Number("to", c.trace.waves.to, 0, kMaxWavesNs, "ns",
           "Simulated time of the last signals; 0: the end of the run");
  f.Flag("on_error", c.trace.waves.on_error,
         "true: only the last clocks are kept, in waves_BLOCK_earlier.fst and waves_BLOCK.fst, and "
         "only if the run fails");
  f.Number("cycles", c.trace.waves.cycles, 1, 1ull << 28, "cycles",
           "With on_error: clocks of the block in each of the two files");

  f.SetPrefix("output");
  f.Flag("tensors", c.output.tensors, "Write the output tensor as out.npy");
  f.Flag("inputs", c.output.inputs, "Write generated inputs as a.npy and b.npy");
  f.Choice(
      "compare", c.output.compare, {"none", "timed"},
      "timed: run the same with every RTL block replaced by its timed or behavioural form, and "
      "fast launches simulated whole, too; "
      "output, statuses and order of responses must be equal, and the report gives both times");

  f.SetPrefix("expect");
  f.Number(
      "max_launch_ns", c.expect.max_launch_ns, 0, kMaxWavesNs, "ns",
      "The run ends with exit status 1 if its launches take longer (`launch_ns`); 0: any time");
  f.Number("max_device_ns", c.expect.max_device_ns, 0, kMaxWavesNs, "ns",
           "The same for the sum of `device_ns` of its kernels");
  f.Number("max_host_percent", c.expect.max_host_percent, 0, 100, "%",
           "The same for the part of the launches in which only the host worked");
  f.Number("max_idle_percent", c.expect.max_idle_percent, 0, 100, "%",
           "The same for the part in which neither card nor host did");
  f.Number("max_energy_uj", c.expect.max_energy_uj, 0, 1'000'000'000'000, "uJ",
           "The same for the energy of the launches (docs/energy.md); 0: any");
  f.Text("bound_by", c.expect.bound_by,
         "The resource that must bound the launches (docs/report-time.md, Bounds); empty: any");
  f.Text("digest", c.expect.digest,
         "The digest that the trace must have, as `trace summary` prints it; empty: any");
  f.Path("rules", c.expect.rules,
         "TOML file of rules that the trace must keep (`trace check`, docs/trace-rules.md); empty: "
         "none");
  f.SetPrefix("");
  f.Tables("fault", c.fault, "Faults of the card (docs/faults.md)");
  return f.Take();
}

}  // namespace spyre::cosim
