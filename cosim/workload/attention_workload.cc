// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/attention_workload.h"

#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "cosim/verify/check.h"
#include "cosim/workload/compile_settings.h"
#include "cosim/workload/kernel_run.h"
#include "cosim/workload/launch_settings.h"
#include "runtime/compiler/codegen/generate_attention.h"
#include "runtime/compiler/codegen/spyre_code.h"

namespace spyre::cosim {
namespace {

compiler::AttentionSpec SpecOf(const RunConfig& config) {
  const AttentionConfig& settings = config.workload.attention;
  compiler::AttentionSpec spec;
  spec.heads = static_cast<int64_t>(settings.heads);
  spec.kv_heads = static_cast<int64_t>(settings.kv_heads);
  spec.sequence = static_cast<int64_t>(settings.sequence);
  spec.context = static_cast<int64_t>(settings.context == 0 ? settings.sequence : settings.context);
  spec.head_dim = static_cast<int64_t>(settings.head_dim);
  spec.causal = settings.causal;
  spec.cores = MaxCores(config, std::getenv("SENCORES"));
  spec.lx_bytes = config.card.lx_usable_bytes();
  spec.timing_only = !config.workload.functional;
  spec.schedule = config.workload.schedule;
  return spec;
}

WorkloadTensor TensorOf(const char* name, std::vector<int64_t> shape, int position) {
  WorkloadTensor tensor;
  tensor.name = name;
  tensor.position = position;
  int64_t elements = 1;
  for (const int64_t size : shape) {
    if (elements > kMaxElements / size)
      throw BadInput("tensor {} is larger than any card; use smaller sizes", name);
    elements *= size;
  }
  tensor.layout = DefaultLayout(shape, DataFormat::kSen169Fp16);
  tensor.shape = std::move(shape);
  return tensor;
}

}  // namespace

AttentionWorkload::AttentionWorkload(const RunConfig& config) : spec_(SpecOf(config)) {
  compiler::PlanAttention(spec_);  // refuses sizes that do not fit together
  description_ = fmt::format("attention heads={} kv_heads={} sequence={} context={} head_dim={}{}",
                             spec_.heads, spec_.kv_heads, spec_.sequence, spec_.context,
                             spec_.head_dim, spec_.causal ? ", causal" : "");
  tensors_.push_back(TensorOf("q", {spec_.heads, spec_.sequence, spec_.head_dim}, 0));
  tensors_.push_back(TensorOf("k", {spec_.kv_heads, spec_.context, spec_.head_dim}, 1));
  tensors_.push_back(TensorOf("v", {spec_.kv_heads, spec_.context, spec_.head_dim}, 2));
  tensors_.push_back(TensorOf("out", {spec_.heads, spec_.sequence, spec_.head_dim}, 3));
  tensors_.back().is_input = false;
  tensors_.back().is_output = true;
}

WorkloadWork AttentionWorkload::Work() const {
  throw BadInput(
      "workload.op = \"attention\": there is no closed form of the fused kernel; card.fidelity = "
      "\"timed\" simulates it");
}

compiler::Kernel AttentionWorkload::CompileKernel() const {
  return compiler::GenerateAttention(spec_);
}

CompiledWorkload AttentionWorkload::Compile(const std::string& directory) {
  const compiler::Kernel kernel = CompileKernel();
  compiler::WriteSpyreCode(kernel, directory);
  directory_ = directory;
  CompiledWorkload compiled;
  compiled.directory = directory;
  compiled.kernel_names = {kernel.name};
  compiled.plan = kernel.plan;
  compiled.lx[kernel.name] = {kernel.steps, kernel.lx};
  compiled.chunks.resize(tensors_.size());
  return compiled;
}

std::unique_ptr<WorkloadRun> AttentionWorkload::Open(flex::RuntimeContext& context,
                                                     RunTensors& tensors) const {
  return std::make_unique<KernelRun>(context, *this, tensors,
                                     KernelLaunch{directory_, LaunchOptionsOf({}), {}});
}

Verification AttentionWorkload::Verify(const std::vector<HostData>& inputs,
                                       const std::vector<HostData>& outputs,
                                       const CheckOptions& options) const {
  AttentionProblem problem;
  problem.heads = spec_.heads;
  problem.kv_heads = spec_.kv_heads;
  problem.sequence = spec_.sequence;
  problem.context = spec_.context;
  problem.depth = spec_.head_dim;
  problem.causal = spec_.causal;
  problem.tile = compiler::PlanAttention(spec_).keys;
  return VerifyAttention(problem, inputs, outputs, options);
}

std::unique_ptr<Workload> ResolveAttention(const RunConfig& config) {
  return std::make_unique<AttentionWorkload>(config);
}

}  // namespace spyre::cosim
