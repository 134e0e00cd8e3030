// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/codegen/generate_attention.h"

#include <utility>

#include "runtime/compiler/codegen/kernel_layout.h"

namespace spyre::compiler {
namespace {

KernelArgument ArgumentOf(const char* name, std::vector<std::string> dims,
                          std::vector<int64_t> shape, bool is_output) {
  KernelArgument argument;
  argument.name = name;
  argument.is_output = is_output;
  argument.layout = DefaultLayout(shape, DataFormat::kSen169Fp16);
  argument.shape = std::move(shape);
  argument.dims = std::move(dims);
  return argument;
}

bool RowsFirst(const KernelArgument& argument) {
  return argument.layout.DeviceByteStride(1) <= argument.layout.DeviceByteStride(2);
}

}  // namespace

Kernel GenerateAttention(const AttentionSpec& spec) {
  const AttentionPlan plan = PlanAttention(spec);
  Kernel kernel;
  kernel.name = "attention";
  const std::vector<int64_t> rows{spec.heads, spec.sequence, spec.head_dim};
  const std::vector<int64_t> keys{spec.kv_heads, spec.context, spec.head_dim};
  kernel.arguments.push_back(ArgumentOf("q", {"head", "row", "depth"}, rows, false));
  kernel.arguments.push_back(ArgumentOf("k", {"kv_head", "key", "depth"}, keys, false));
  kernel.arguments.push_back(ArgumentOf("v", {"kv_head", "key", "depth"}, keys, false));
  kernel.arguments.push_back(ArgumentOf("out", {"head", "row", "depth"}, rows, true));
  // None of them can be cut by a launch: the kernel knows the whole sizes.
  kernel.reduction_dims = {"head", "row", "kv_head", "key", "depth"};

  const int cores = plan.cores();
  const uint32_t mask = cores == kMaxCores ? ~0u : (1u << cores) - 1;
  StepCode code(mask);
  CoreColumns columns;
  BuildAttention(spec, plan, {RowsFirst(kernel.arguments[1]), RowsFirst(kernel.arguments[0])},
                 columns, code);
  kernel.lx = code.TakeLxUses(0, mask);
  Program& program = kernel.compute;
  program.name = kernel.name;
  program.core_mask = mask;
  program.timing_only = spec.timing_only;
  program.generated_loops = spec.schedule == Schedule::kPublic;
  program.address_table.assign(kernel.arguments.size() * kTableEntriesPerTensor, 0);
  program.lx_bytes = static_cast<uint32_t>(plan.lx_bytes);
  program.sections = code.Finish();
  program.core_registers = columns.Rows();
  kernel.plan.split = {
      {"kv_head", plan.kv_split}, {"group", plan.group_split}, {"row", plan.row_split}};
  kernel.plan.tile = {{"head", plan.heads}, {"row", plan.rows}, {"key", plan.keys}};
  kernel.plan.cores_used = cores;
  kernel.plan.lx_bytes_used = plan.lx_bytes;
  LayOutAllocation(kernel);
  return kernel;
}

}  // namespace spyre::compiler
