// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/codegen/spyre_code.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"

namespace spyre::compiler {
namespace {

using nlohmann::ordered_json;

constexpr const char* kBinary = "init_binary.bin";
constexpr const char* kHcm = "hcm.json";
constexpr const char* kInputHandle = "correction_input";

ordered_json Command(const char* name, ordered_json properties) {
  return {{"command", name}, {"properties", std::move(properties)}};
}

std::string Decimal(uint64_t value) { return fmt::format("{}", value); }

ordered_json Plans(const Kernel& kernel, ordered_json hcm) {
  const uint64_t binary_bytes = kernel.correction_offset + kernel.correction_bytes;
  ordered_json prepare = ordered_json::array();
  prepare.push_back(Command("Allocate", {{"size", Decimal(kernel.allocation_bytes)}}));
  prepare.push_back(Command("InitTransfer", {{"init_bin_file", kBinary},
                                             {"dev_ptr", Decimal(kProgramBase)},
                                             {"size", Decimal(binary_bytes)}}));
  const std::string input_bytes = Decimal(kernel.correction_input_bytes);
  ordered_json execute = ordered_json::array();
  const size_t accumulations = kernel.accumulation.home == Accumulator::kNone ? 0 : 1;
  const size_t inputs = kernel.arguments.size() + kernel.dimensions.size() + accumulations;
  execute.push_back(Command("ComputeOnHost", {{"ihandle", ""},
                                              {"ishape", ordered_json::array({Decimal(inputs)})},
                                              {"ohandle", kInputHandle},
                                              {"size", input_bytes},
                                              {"hcm", std::move(hcm)}}));
  execute.push_back(
      Command("DataTransfer", {{"dirn", "false"},
                               {"host_handle", kInputHandle},
                               {"dev_ptr", Decimal(kProgramBase + kernel.correction_input_offset)},
                               {"size", input_bytes}}));
  execute.push_back(
      Command("ComputeOnDevice", {{"job_bin_ptr", Decimal(kProgramBase + kernel.correction_offset)},
                                  {"name", kernel.correction.name}}));
  execute.push_back(
      Command("ComputeOnDevice", {{"job_bin_ptr", Decimal(kProgramBase)}, {"name", kernel.name}}));
  return {{"JobPreparationPlan", std::move(prepare)}, {"JobExecPlan", std::move(execute)}};
}

ordered_json Metadata(const Kernel& kernel) {
  ordered_json arguments = ordered_json::array();
  for (const KernelArgument& argument : kernel.arguments) {
    arguments.push_back({{"name", argument.name},
                         {"role", argument.is_output ? "output" : "input"},
                         {"shape", argument.shape},
                         {"dims", argument.dims},
                         {"format", FormatName(argument.layout.format)},
                         {"device_size", argument.layout.device_size},
                         {"stride_map", argument.layout.stride_map},
                         {"host_dim", argument.layout.host_dim}});
  }
  ordered_json metadata = {{"name", kernel.name}, {"arguments", std::move(arguments)}};
  for (const KernelDimension& dimension : kernel.dimensions) {
    metadata["dimensions"].push_back(
        {{"name", dimension.name}, {"max", dimension.max}, {"granularity", dimension.granularity}});
  }
  if (!kernel.steps.empty()) metadata["steps"] = kernel.steps;
  if (!kernel.index_tensors.empty()) metadata["index_tensors"] = kernel.index_tensors;
  metadata["reduction_dims"] = kernel.reduction_dims;
  const KernelAccumulation& sums = kernel.accumulation;
  if (sums.home != Accumulator::kNone) {
    metadata["accumulation"] = {{"dim", sums.dim},         {"home", Name(sums.home)},
                                {"slices", sums.slices},   {"slice", sums.slice},
                                {"unit", sums.unit},       {"workspace", sums.workspace_bytes},
                                {"mark", kAccumulatorMark}};
  }
  return metadata;
}

ordered_json Hcm(const Kernel& kernel) {
  ordered_json records = ordered_json::array();
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    records.push_back(ordered_json{{"argument", i}});
  }
  for (size_t i = 0; i < kernel.dimensions.size(); ++i) {
    records.push_back(ordered_json{{"dimension", i}});
  }
  if (kernel.accumulation.home != Accumulator::kNone) {
    records.push_back(ordered_json{{"accumulation", 0}});
  }
  return {{"version", 1}, {"records", std::move(records)}};
}

ordered_json SelfContained(const Kernel& kernel) {
  ordered_json symbols = ordered_json::array(), written = ordered_json::array();
  for (const KernelArgument& argument : kernel.arguments) {
    symbols.push_back(argument.name);
    written.push_back(argument.written_bytes);
  }
  ordered_json hcm = Hcm(kernel);
  hcm["vdci"] = {{"inputSym", std::move(symbols)}, {"writtenBytes", std::move(written)}};
  return hcm;
}

void WriteJson(const std::filesystem::path& path, const ordered_json& value) {
  const std::string text = DumpJson(value, 2) + "\n";
  WriteFile(path.string(), text, "file");
}

}  // namespace

void WriteSpyreCode(const Kernel& kernel, const std::filesystem::path& dir, HcmForm hcm) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) throw BadInput("{}: cannot create the directory: {}", dir.string(), error.message());

  std::vector<uint8_t> binary = Encode(kernel.compute);
  for (const Program& program : kernel.more) {
    const std::vector<uint8_t> image = Encode(program);
    binary.insert(binary.end(), image.begin(), image.end());
  }
  const std::vector<uint8_t> correction = Encode(kernel.correction);
  binary.insert(binary.end(), correction.begin(), correction.end());
  WriteFile((dir / kBinary).string(), {reinterpret_cast<const char*>(binary.data()), binary.size()},
            "program");

  if (hcm == HcmForm::kFile) WriteJson(dir / kHcm, Hcm(kernel));
  ordered_json code =
      Plans(kernel, hcm == HcmForm::kFile ? ordered_json(kHcm) : SelfContained(kernel));
  code["Metadata"] = Metadata(kernel);
  WriteJson(dir / "spyrecode.json", code);
}

}  // namespace spyre::compiler
