// SPDX-License-Identifier: Apache-2.0
#include "cosim/config/effect.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "runtime/compiler/ops/op_list.h"

namespace spyre::cosim {
namespace {

using Kind = WorkloadKind;
using Config = const RunConfig&;

bool AnyDim(const Dims& dims) {
  return dims.batch + dims.m + dims.k + dims.n + dims.rows + dims.cols != 0;
}

bool IsOperation(Config c) { return KindOf(c.workload) == Kind::kOperation; }
bool IsAttention(Config c) { return KindOf(c.workload) == Kind::kAttention; }
bool IsOneOperation(Config c) { return IsOperation(c) || IsAttention(c); }
bool IsDivided(Config c) { return !IsAttention(c) && KindOf(c.workload) != Kind::kBundle; }
bool IsBundle(Config c) { return KindOf(c.workload) == Kind::kBundle; }
bool IsModel(Config c) { return KindOf(c.workload) == Kind::kModel; }
bool IsNoModel(Config c) { return !IsModel(c); }
bool IsList(Config c) { return HasOpList(c.workload) && !IsModel(c); }
bool IsListOrModel(Config c) { return IsList(c) || IsModel(c); }
bool IsCompiled(Config c) { return !IsBundle(c); }
bool IsBundleOrList(Config c) { return IsBundle(c) || IsList(c); }
bool HasSpans(Config c) { return !IsOneOperation(c); }
bool IsOneProgram(Config c) { return KindOf(c.workload) == Kind::kOneProgram; }
bool IsStreams(Config c) { return KindOf(c.workload) == Kind::kStreams; }
bool IsTaskGraph(Config c) { return KindOf(c.workload) == Kind::kTaskGraph; }
bool IsStreamsOrTaskGraph(Config c) { return IsStreams(c) || IsTaskGraph(c); }
bool IsByEvents(Config c) {
  return IsTaskGraph(c) && c.workload.issue.release == runtime::Release::kEvents;
}
bool IsByHost(Config c) { return IsTaskGraph(c) && !IsByEvents(c); }
bool HasThreshold(Config c) {
  return IsByHost(c) && c.workload.issue.start == TaskStart::kThreshold;
}
bool Collects(runtime::IssueTiming timing) {
  return timing == runtime::IssueTiming::kBatched || timing == runtime::IssueTiming::kInterleaved;
}
bool IsBatched(Config c) { return IsStreamsOrTaskGraph(c) && Collects(c.workload.issue.timing); }
bool IsRateLimited(Config c) {
  return IsStreamsOrTaskGraph(c) && c.workload.issue.timing == runtime::IssueTiming::kRateLimited;
}

bool IsReduction(Config c) {
  return IsOperation(c) &&
         compiler::RequireOperation(c.workload.op).kind == compiler::OperationKind::kReduction;
}
bool IsTiled(Config c) {
  return IsOperation(c) &&
         (AnyDim(c.workload.tile) || c.workload.launch.routing == runtime::Routing::kTiled);
}
bool IsOverlapped(Config c) {
  return IsTiled(c) && c.workload.launch.overlap != runtime::Overlap::kNone;
}
bool IsCoOptimized(Config c) {
  return IsListOrModel(c) && c.workload.lx == LxResults::kCoOptimizing;
}
bool IsPlannedInLx(Config c) { return IsListOrModel(c) && c.workload.lx != LxResults::kNone; }
bool HasCards(Config c) { return c.cards.count > 1; }
bool HasTenants(Config c) { return !c.tenants.list.json.empty(); }
bool HasWaves(Config c) { return c.trace.waves.block != WavesBlock::kNone; }
bool HasWavesOnError(Config c) { return HasWaves(c) && c.trace.waves.on_error; }
bool Always(Config) { return true; }

struct Rule {
  const char* key;  // or a table, with a dot at its end
  bool (*has_effect)(Config);
  const char* purpose;  // "is for <purpose>"
};

constexpr const char* kOperation = "one operation (workload.op)";
constexpr const char* kBundle = "a bundle (workload.bundle)";
constexpr const char* kList = "a list of operations (workload.graph or workload.ops)";
constexpr const char* kListOrModel = "a list of operations or a model";
constexpr const char* kCompiled = "one operation, a list of operations or a model";
constexpr const char* kDivided = "one operation but for attention, a list of operations or a model";
constexpr const char* kAttention = "fused attention (workload.op = \"attention\")";
constexpr const char* kBundleOrList = "a bundle or a list of operations";
constexpr const char* kSpans = "a bundle, a list of operations or a model";
constexpr const char* kModel = "a model of one layer or more (workload.model.layers)";
constexpr const char* kOneProgram =
    "a list of operations as one program (workload.issue.mode = \"program\")";
constexpr const char* kStreams = "workload.issue.mode = \"streams\"";
constexpr const char* kTaskGraph = "workload.issue.mode = \"task_graph\"";
constexpr const char* kByEvents =
    "a task graph on the card that events release (workload.issue.release = \"events\")";
constexpr const char* kByHost =
    "a task graph on the card that the host releases (workload.issue.release = \"host\")";
constexpr const char* kStreamsOrTaskGraph = "workload.issue.mode = \"streams\" or \"task_graph\"";
constexpr const char* kCoOptimized =
    "a list of operations or a model whose workload.lx is \"co-optimizing\"";
constexpr const char* kTiled =
    "a tiled launch (workload.tile, or workload.launch.routing = \"tiled\")";
constexpr const char* kWaves = "waves of a block (trace.waves.block)";

// The first rule that fits a key counts. Every key of [workload] has one.
constexpr Rule kRules[] = {
    {"workload.op", IsOneOperation, kOperation},
    {"workload.axis", IsReduction, "a reduction: sum, amax, amin or mean"},
    {"workload.functional", Always, ""},
    {"workload.verify", Always, ""},
    {"workload.tolerance", Always, ""},
    {"workload.seed", Always, ""},
    {"workload.tokens", IsNoModel, "a workload that is not a model, which has tokens of its own"},
    {"workload.distribution", Always, ""},
    {"workload.cores", IsCompiled, kCompiled},
    {"workload.division", IsDivided, kDivided},
    {"workload.schedule", Always, ""},
    {"workload.bundle", IsBundle, kBundle},
    {"workload.kernel", IsBundle, kBundle},
    {"workload.shapes", IsBundle, kBundle},
    {"workload.args", IsBundle, kBundle},
    {"workload.repeat.", IsBundle, kBundle},
    {"workload.dims", IsBundleOrList, kBundleOrList},
    {"workload.graph", IsList, kList},
    {"workload.tensors", IsList, kList},
    {"workload.ops", IsList, kList},
    {"workload.hints", IsOneProgram, kOneProgram},
    {"workload.outputs", IsList, kList},
    {"workload.plan", IsOneProgram, kOneProgram},
    {"workload.channels", IsStreamsOrTaskGraph, kStreamsOrTaskGraph},
    {"workload.compiler", IsListOrModel, kListOrModel},
    {"workload.tiling", IsOneProgram, kOneProgram},
    {"workload.tiled_reductions", IsOneProgram, kOneProgram},
    {"workload.agree", IsOneProgram, kOneProgram},
    {"workload.lx", IsListOrModel, kListOrModel},
    {"workload.lx_step_bytes", IsCoOptimized, kCoOptimized},
    {"workload.lx_operation_bytes", IsCoOptimized, kCoOptimized},
    {"workload.lx_solver", IsPlannedInLx,
     "a list of operations or a model whose workload.lx is not \"none\""},
    {"workload.long_spans", HasSpans, kSpans},
    {"workload.chunk_bytes", IsList, kList},
    {"workload.batch", IsOperation, kOperation},
    {"workload.m", IsOperation, kOperation},
    {"workload.k", IsOperation, kOperation},
    {"workload.n", IsOperation, kOperation},
    {"workload.rows", IsOperation, kOperation},
    {"workload.cols", IsOperation, kOperation},
    {"workload.tile.", IsOperation, kOperation},
    {"workload.split.", IsOperation, kOperation},
    {"workload.launch.routing", IsOperation, kOperation},
    {"workload.launch.depth", IsOverlapped, "tiles in flight, with workload.launch.overlap"},
    {"workload.launch.", IsTiled, kTiled},
    {"workload.issue.mode", IsList, kList},
    {"workload.issue.streams", IsStreamsOrTaskGraph, kStreamsOrTaskGraph},
    {"workload.issue.dependencies", IsStreams, kStreams},
    {"workload.issue.dispatch", IsByEvents, kByEvents},
    {"workload.issue.ready", IsByHost, kByHost},
    {"workload.issue.start", IsByHost, kByHost},
    {"workload.issue.threshold", HasThreshold, "workload.issue.start = \"threshold\""},
    {"workload.issue.pools", IsByHost, kByHost},
    {"workload.issue.streams_per_unit", IsByHost, kByHost},
    {"workload.issue.timing", IsStreamsOrTaskGraph, kStreamsOrTaskGraph},
    {"workload.issue.batch", IsBatched, "workload.issue.timing = \"batched\" or \"interleaved\""},
    {"workload.issue.tasks_per_ms", IsRateLimited, "workload.issue.timing = \"rate_limited\""},
    {"workload.issue.", IsTaskGraph, kTaskGraph},
    {"workload.inputs.", IsOperation, kOperation},
    {"workload.model.", IsModel, kModel},
    {"workload.attention.", IsAttention, kAttention},
    {"cards.count", Always, ""},
    {"cards.", HasCards, "several cards (cards.count)"},
    {"tenants.", HasTenants, "several workloads at once ([[tenant]])"},
    {"trace.waves.block", Always, ""},
    {"trace.waves.cycles", HasWavesOnError, "the last clocks, with trace.waves.on_error = true"},
    {"trace.waves.", HasWaves, kWaves},
};

const Rule* RuleOf(const std::string& key) {
  const auto* const rule = std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& r) {
    const std::string_view name = r.key;
    return name.back() == '.' ? key.compare(0, name.size(), name) == 0 : key == name;
  });
  if (rule != std::end(kRules)) return rule;
  if (key.rfind("workload.", 0) == 0)
    throw InternalError("{}: nobody says for what the key has an effect", key);
  return nullptr;
}

std::string WhatRuns(const WorkloadConfig& workload) {
  switch (KindOf(workload)) {
    case Kind::kOperation:
    case Kind::kAttention:
      return fmt::format("the operation '{}'", workload.op);
    case Kind::kBundle:
      return fmt::format("the bundle {}", workload.bundle);
    case Kind::kModel:
      return fmt::format("a model (workload.model.layers = {})", workload.model.layers);
    default:
      return fmt::format("a list of operations with workload.issue.mode = \"{}\"",
                         Name(workload.issue.mode));
  }
}

// The keys that have a rule, with their defaults. They are fields of a configuration of its own,
// into which the one that is asked about is copied: that is far less than making fields for it.
class RuledKeys {
 public:
  RuledKeys() {
    RunConfig usual;
    std::vector<Field> defaults = Fields(usual);
    std::vector<Field> fields = Fields(config_);
    for (size_t i = 0; i < fields.size(); ++i) {
      const Rule* const rule = RuleOf(fields[i].key);
      if (rule != nullptr && rule->has_effect != Always)
        keys_.push_back({rule, std::move(fields[i]), defaults[i].ValueText()});
    }
  }
  RuledKeys(const RuledKeys&) = delete;
  RuledKeys& operator=(const RuledKeys&) = delete;

  void Refuse(const RunConfig& config) {
    config_ = config;
    for (const Key& key : keys_) {
      if (key.rule->has_effect(config)) continue;
      const std::string value = key.field.ValueText();
      if (config.given.count(key.field.key) == 0 && value == key.usual) continue;
      const bool of_workload = key.field.key.rfind("workload.", 0) == 0;
      throw BadInput(
          "{} = {} has no effect: it is for {}{}; leave it out", key.field.key, value,
          key.rule->purpose,
          of_workload ? ", and this configuration runs " + WhatRuns(config.workload) : "")
          .Subject(key.field.key)
          .Value(value)
          .Remedy("leave it out");
    }
  }

 private:
  struct Key {
    const Rule* rule;
    Field field;        // of config_
    std::string usual;  // its default, as text
  };

  RunConfig config_;
  std::vector<Key> keys_;
};

}  // namespace

WorkloadKind KindOf(const WorkloadConfig& workload) {
  if (workload.model.layers > 0) return Kind::kModel;
  if (!HasOpList(workload)) {
    if (!workload.bundle.empty()) return Kind::kBundle;
    return workload.op == kAttentionOp ? Kind::kAttention : Kind::kOperation;
  }
  switch (workload.issue.mode) {
    case IssueMode::kProgram:
      return Kind::kOneProgram;
    case IssueMode::kStreams:
      return Kind::kStreams;
    case IssueMode::kTaskGraph:
      break;
  }
  return Kind::kTaskGraph;
}

bool HasOpList(const WorkloadConfig& workload) {
  return !workload.graph.empty() || !workload.ops.json.empty();
}

bool HasEffect(const RunConfig& config, const std::string& key) {
  const Rule* const rule = RuleOf(key);
  return rule == nullptr || rule->has_effect(config);
}

void RefuseKeysWithoutEffect(const RunConfig& config) {
  thread_local RuledKeys keys;
  keys.Refuse(config);
}

}  // namespace spyre::cosim
