// SPDX-License-Identifier: Apache-2.0
#include "cosim/workload/op_list_kernel.h"

#include <memory>
#include <utility>

#include "base/ranges.h"
#include "cosim/workload/op_list_workload.h"
#include "model/contract/program.h"
#include "runtime/compiler/front_end/kernel_arguments.h"
#include "runtime/compiler/front_end/plan_facts.h"

namespace spyre::cosim {

KernelFacts FactsOfKernel(const compiler::FrontEndResult& result, const compiler::Kernel& kernel) {
  KernelFacts facts;
  facts.plan = compiler::FactsOf(result);
  facts.program_bytes = Encode(kernel.compute).size();
  for (const Section& section : kernel.compute.sections) facts.instructions += section.code.size();
  return facts;
}

OpListKernel CompileOpListKernel(const RunConfig& config, const compiler::NamedGraph& graph,
                                 const std::string& name, const compiler::Plan& plan) {
  const compiler::FrontEndOptions options = FrontEndOptionsOf(config, plan);
  const compiler::FrontEndResult result = compiler::CompileNamedGraph(graph, options);
  OpListKernel kernel;
  kernel.arguments = result.arguments;
  kernel.warnings = result.log;
  kernel.decisions = result.decisions;
  for (const int output : graph.outputs) {
    const std::string& tensor = graph.tensors[static_cast<size_t>(output)].name;
    const auto& planned = result.primitives.tensors;
    const auto same = FindIf(planned, [&](const auto& other) { return other.name == tensor; });
    kernel.output_sticks.push_back(same->stick);
  }
  compiler::Bundle bundle =
      compiler::EmitBundle(result.source, compiler::DialectFor(result, options));
  compiler::RefuseShortArguments(result, bundle);
  bundle.name = name;
  kernel.plan = PlanBundle(BundleSettingsOf(config), std::move(bundle), ShapesOf(graph, result));
  kernel.plan.kernel = std::make_shared<const compiler::Kernel>(CompileBundleKernel(kernel.plan));
  kernel.plan.facts =
      std::make_shared<const KernelFacts>(FactsOfKernel(result, *kernel.plan.kernel));
  return kernel;
}

}  // namespace spyre::cosim
