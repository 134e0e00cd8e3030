// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/compile_command.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "base/error.h"
#include "cosim/cli/common_options.h"
#include "cosim/cli/run_command.h"
#include "cosim/cli/warnings.h"
#include "cosim/tensors/npy.h"
#include "cosim/workload/emit_passes.h"
#include "cosim/workload/resolve.h"
#include "runtime/compiler/codegen/spyre_code.h"
#include "runtime/compiler/front_end/compiler_preset.h"
#include "runtime/compiler/front_end/front_end.h"
#include "runtime/compiler/passes/passes.h"

namespace spyre::cosim {
namespace {

using compiler::BundleDialect;

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

void AddCompileCommand(command_line::Command& root) {
  using command_line::Words;
  command_line::Command& command =
      root.AddCommand("compile", "Compile a bundle, OpSpec source or a list of operations");
  command.Footer(
      "Exit status: 0 done; 2 bad input. docs/bundles.md and docs/compiler.md have examples.");
  struct Arguments {
    CompileOptions options;
    std::string emit;
    bool json = false;
    bool explain = false;
    std::vector<std::string> sets;
    BundleArguments bundle;
  };
  const auto a = std::make_shared<Arguments>();
  command
      .Add("INPUT", a->options.input,
           "directory of an SDSC bundle, OpSpec source (.py, .txt), a configuration of a bundle or "
           "of a list of operations, or such a list in JSON")
      .Required()
      .Completes(Words::kFiles);
  command_line::Option& output =
      command.Add("-o,--output", a->options.output, "SpyreCode directory to write")
          .Placeholder("DIR")
          .Completes(Words::kDirectories);
  command
      .Add(
          "--emit", a->emit,
          "print what a pass left, and write nothing: decompose, stick, lower, hints, tile, "
          "propagate, division, lx, kernel, bundle or all; or a part of it: sticks, groups, graph, "
          "loops, opspec")
      .Placeholder("PASS")
      .Suggests(EmitStages())
      .Excludes(output);
  command.Add("--json", a->json, "with --emit: as JSON that opt reads; all: a line for each pass");
  command
      .Add("--explain", a->explain,
           "print why operations are divided, buffers placed and hints used as they are, and write "
           "nothing")
      .Excludes(output);
  command.Add("--bundle", a->options.bundle, "also write the SDSC bundle to this directory")
      .Placeholder("DIR")
      .Completes(Words::kDirectories);
  command.Add("--dialect", a->options.dialect,
              "of that bundle: constants, baked or arguments (symbolic arguments); without it "
              "that of workload.compiler",
              {{"constants", BundleDialect::kSymbolicConstants},
               {"baked", BundleDialect::kBakedAddresses},
               {"arguments", BundleDialect::kSymbolicArguments}});
  AddSets(command, a->sets);
  AddShapes(command, a->bundle);
  command.Action([a] {
    const RunConfig config = ConfigOf(a->options.input, a->sets, a->bundle);
    if (!a->emit.empty()) {
      std::vector<std::string> warnings;
      try {
        EmitPasses(config, {a->emit, a->json}, std::cout, warnings);
      } catch (const Error& error) {
        if (a->json && error.kind() == ErrorKind::kBadInput)
          std::cout << compiler::ErrorLine(error) << std::flush;
        throw;
      }
      PrintWarnings(warnings);
      return 0;
    }
    if (a->json) throw BadInput("compile: --json is for --emit PASS");
    if (a->explain) {
      std::vector<std::string> warnings;
      std::cout << ExplainList(config, warnings);
      PrintWarnings(warnings);
      return 0;
    }
    if (a->options.output.empty())
      throw BadInput("compile: --output DIR, --emit PASS or --explain is needed");
    std::cout << CompileBundle(config, a->options);
    return 0;
  });
}

std::string CompileBundle(const RunConfig& config, const CompileOptions& options) {
  const std::unique_ptr<Workload> workload = ResolveWorkload(config);
  PrintWarnings(workload->warnings());
  const compiler::Kernel kernel = workload->CompileKernel();
  compiler::WriteSpyreCode(kernel, options.output);
  std::string text = Describe(kernel);
  if (!options.bundle.empty()) {
    if (workload->source() == nullptr) {
      throw BadInput("--bundle {}: {} is a bundle already; OpSpec source and op lists become one",
                     options.bundle, options.input);
    }
    const BundleDialect dialect =
        options.dialect.value_or(compiler::OptionsOf(config.workload.compiler)
                                     .dialect.value_or(BundleDialect::kSymbolicArguments));
    compiler::WriteBundle(compiler::EmitBundle(*workload->source(), dialect), dialect,
                          options.bundle);
    text += fmt::format("SDSC bundle: {}\n", options.bundle);
  }
  return text + fmt::format("SpyreCode: {}\n", options.output);
}

}  // namespace spyre::cosim
