#include "runtime/compiler/kernel.h"

#include <algorithm>

#include "runtime/compiler/correction.h"
#include "runtime/compiler/tile_walk.h"

namespace spyre::compiler {
namespace {

void LayOutAllocation(Kernel& kernel) {
  kernel.correction_input_bytes = CorrectionInputBytes(kernel.arguments.size());
  const std::vector<uint8_t> image = Encode(kernel.compute);
  const ImageInfo info = ReadImageHeader(image.data(), image.size());
  kernel.compute_bytes = image.size();
  kernel.correction_offset = AlignUp(kernel.compute_bytes, kStickBytes);
  // The correction program holds the addresses of its input, behind its own image: the image's size
  // does not depend on them, so a first version tells it.
  const uint64_t table = info.address_table_offset;
  const size_t arguments = kernel.arguments.size();
  kernel.correction_bytes =
      Encode(CorrectionProgram(kernel.name, arguments, kProgramBase, kProgramBase + table)).size();
  kernel.correction_input_offset =
      AlignUp(kernel.correction_offset + kernel.correction_bytes, kStickBytes);
  kernel.allocation_bytes = kernel.correction_input_offset + kernel.correction_input_bytes;
  kernel.correction = CorrectionProgram(
      kernel.name, arguments, kProgramBase + kernel.correction_input_offset, kProgramBase + table);
}

}  // namespace

Kernel GenerateKernel(const KernelSpec& spec) {
  Problem problem = ResolveProblem(spec);
  Kernel kernel;
  kernel.name = problem.operation->name;
  Program& program = kernel.compute;
  program.name = kernel.name;
  program.core_mask = problem.core_mask();
  program.timing_only = spec.timing_only;
  program.address_table.assign(problem.arguments.size() * kTableEntriesPerTensor, 0);
  switch (problem.operation->kind) {
    case OperationKind::kMatmul:
      BuildMatmul(problem, kernel);
      break;
    case OperationKind::kUnary:
    case OperationKind::kBinary:
      BuildPointwise(problem, kernel);
      break;
    case OperationKind::kReduction:
      BuildReduction(problem, kernel);
      break;
    case OperationKind::kSoftmax:
      BuildSoftmax(problem, kernel);
      break;
  }
  program.lx_bytes = static_cast<uint32_t>(kernel.plan.lx_bytes_used);
  for (const Axis& axis : problem.axes) {
    kernel.plan.split[axis.name] = axis.split;
    kernel.plan.tile[axis.name] = std::min(axis.tile * axis.unit_elements(), axis.size);
    if (axis.reduced) kernel.reduction_dims.push_back(axis.name);
  }
  // Softmax cannot be cut along its rows any more than a sum can.
  if (problem.operation->kind == OperationKind::kSoftmax)
    kernel.reduction_dims.emplace_back("cols");
  kernel.plan.cores_used = problem.cores();
  kernel.arguments = std::move(problem.arguments);
  LayOutAllocation(kernel);
  return kernel;
}

}  // namespace spyre::compiler
