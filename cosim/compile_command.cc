#include "cosim/compile_command.h"

#include <fmt/format.h>

#include "cosim/npy.h"
#include "cosim/workload.h"
#include "cosim/workload_run.h"
#include "model/contract/error.h"
#include "model/contract/nearest.h"

namespace spyre::cosim {
namespace {

using compiler::BundleDialect;

BundleDialect DialectOf(const std::string& name) {
  if (name.empty() || name == "arguments") return BundleDialect::kSymbolicArguments;
  if (name == "constants") return BundleDialect::kSymbolicConstants;
  if (name == "baked") return BundleDialect::kBakedAddresses;
  throw BadInput("--dialect {}: must be constants, baked or arguments{}", name,
                 DidYouMean(name, {"constants", "baked", "arguments"}));
}

size_t InstructionCount(const Program& program) {
  size_t count = 0;
  for (const Section& section : program.sections) count += section.code.size();
  return count;
}

std::string Describe(const compiler::Kernel& kernel) {
  std::string text =
      fmt::format("{}: {} instructions for {} cores, {} bytes of LX, {} of pool\n", kernel.name,
                  InstructionCount(kernel.compute), kernel.plan.cores_used,
                  kernel.plan.lx_bytes_used, kernel.pool_bytes);
  for (const compiler::KernelArgument& argument : kernel.arguments) {
    text += fmt::format("  {} {} {} {}\n", argument.is_output ? "out" : "in ", argument.name,
                        FormatName(argument.layout.format), ShapeText(argument.shape));
  }
  for (const compiler::KernelDimension& dimension : kernel.dimensions) {
    text += fmt::format("  dim {}: a multiple of {} up to {}\n", dimension.name,
                        dimension.granularity, dimension.max);
  }
  return text;
}

}  // namespace

std::string CompileBundle(const RunConfig& config, const CompileOptions& options) {
  const BundleDialect dialect = DialectOf(options.dialect);
  const Workload workload = ResolveWorkload(config);
  if (workload.issue != nullptr) {
    throw BadInput(
        "workload.issue.mode = \"{}\" makes a program of each operation, and compile writes one; "
        "run "
        "leaves them all in its spyrecode directory, mode = \"program\" makes one of the list",
        config.workload.issue.mode);
  }
  const compiler::Kernel kernel = CompileWorkload(workload);
  compiler::WriteSpyreCode(kernel, options.output);
  std::string text = Describe(kernel);
  if (!options.bundle.empty()) {
    if (workload.source == nullptr) {
      throw BadInput("--bundle {}: {} is a bundle already; OpSpec source and op lists become one",
                     options.bundle, options.input);
    }
    compiler::WriteBundle(compiler::EmitBundle(*workload.source, dialect), dialect, options.bundle);
    text += fmt::format("SDSC bundle: {}\n", options.bundle);
  }
  return text + fmt::format("SpyreCode: {}\n", options.output);
}

}  // namespace spyre::cosim
