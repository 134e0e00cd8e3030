// SPDX-License-Identifier: Apache-2.0
#include "cosim/program/launch_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "cosim/reference/device_elements.h"
#include "cosim/session/repeated_launch.h"
#include "cosim/tensors/npy.h"
#include "cosim/verify/bundle_verify.h"
#include "cosim/verify/padding_reads.h"
#include "model/common/transfer.h"
#include "model/contract/memory_map.h"
#include "sdk/kept/kept_bundle.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;

// The most that a sample is compared of: arithmetic of the reference, and bytes of its arguments.
constexpr uint64_t kSampleMacs = 1ull << 28;
constexpr uint64_t kComparedBytes = 1ull << 30;
constexpr uint64_t kSampleBytes = 64ull << 20;

constexpr size_t kNameBytes = 100;  // of a directory

uint64_t ImageBytes(const WorkloadTensor& tensor) {
  return static_cast<uint64_t>(tensor.layout.DeviceBytes());
}

uint64_t BytesOf(const LaunchedBundle& launched) {
  uint64_t bytes = 0;
  for (const WorkloadTensor& tensor : launched.tensors) bytes += ImageBytes(tensor);
  return bytes;
}

// Of the argument's image, the bytes that are the program's memory; all, if that is not known.
uint64_t OwnBytes(const WorkloadTensor& tensor, const sdk::TensorMemory& place) {
  return place.bytes == 0 ? ImageBytes(tensor) : std::min(ImageBytes(tensor), place.bytes);
}

// Arguments of which one is written and lies over another.
bool Overlap(const std::vector<WorkloadTensor>& tensors,
             const std::vector<sdk::TensorMemory>& places) {
  const auto end = [&](size_t i) { return places[i].address + OwnBytes(tensors[i], places[i]); };
  for (size_t i = 0; i < tensors.size(); ++i) {
    for (size_t j = 0; j < tensors.size(); ++j) {
      if (i != j && tensors[i].is_output && places[i].address < end(j) &&
          places[j].address < end(i))
        return true;
    }
  }
  return false;
}

uint64_t SpecialCodes(const std::vector<uint8_t>& image) {
  uint64_t count = 0;
  for (size_t i = 0; i + 1 < image.size(); i += 2) {
    uint16_t code;
    std::memcpy(&code, image.data() + i, sizeof code);
    count += (code & kDlfNan) == kDlfNan;
  }
  return count;
}

std::string DifferenceText(const Mismatch& mismatch) {
  return fmt::format("{}, element {} of its image of sticks: got {}, expected {}", mismatch.tensor,
                     mismatch.element, HostValue(mismatch.format, mismatch.got),
                     HostValue(mismatch.format, mismatch.expected));
}

}  // namespace

LaunchWatch::LaunchWatch(const RunConfig& config, const sdk::CardRequest& request,
                         model::Card& card)
    : config_(config), request_(request), card_(card), bundles_(config, request.out) {
  checks_.verify = config.workload.functional ? request.verify : "none";
}

void LaunchWatch::Loaded(const sdk::ProgramLoad& load) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Program program;
  program.bundle = bundles_.Find(load.image, load.bytes, program.why);
  programs_[load.allocation] = std::move(program);
}

void LaunchWatch::Launched(const sdk::ProgramLaunch& launch) {
  const std::lock_guard<std::mutex> lock(mutex_);
  launches_[launch.correlation] = launch;
}

void LaunchWatch::Job(const model::Job& job, bool ended) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (ended) {
    const auto found = running_.find(&job);
    if (found == running_.end()) return;
    End(job, found->second);
    running_.erase(found);
    return;
  }
  auto launch = launches_.extract(job.flow);
  if (launch.empty()) return;
  if (!launch.mapped().correction) Begin(job, std::move(launch.mapped()));
}

void LaunchWatch::Begin(const model::Job& job, sdk::ProgramLaunch launch) {
  KernelCheck& check = checks_.kernels[launch.name];
  ++check.launches;
  const Program& program = programs_[launch.allocation];
  const bool compare = checks_.verify != "none";
  if (program.bundle == nullptr) {
    if (compare && check.not_compared.empty()) check.not_compared = program.why;
    return;
  }
  const ProgramBundle& bundle = *program.bundle;
  const std::vector<WorkloadTensor>& tensors = bundle.launched.tensors;
  if (launch.arguments.size() != tensors.size()) {
    check.not_compared = fmt::format("{} addresses are known of its {} arguments",
                                     launch.arguments.size(), tensors.size());
    return;
  }
  if (check.origins.empty()) check.origins = bundle.origins;
  Running running;
  running.bundle = &bundle;
  running.name = launch.name;
  running.arguments = launch.arguments;
  const bool first = kept_.count(&bundle) == 0;
  if (compare && (checks_.verify == "full" || first)) {
    const uint64_t bytes = BytesOf(bundle.launched);
    if (Overlap(tensors, launch.arguments)) {
      check.not_compared = "an output lies over another argument";
    } else if (bytes > (checks_.verify == "full" ? kComparedBytes : kSampleBytes)) {
      check.not_compared = fmt::format("its arguments have {} bytes", bytes);
    } else {
      running.checked = true;
    }
  }
  if (running.checked) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      running.inputs.push_back(tensors[i].is_input
                                   ? FromDeviceImage(tensors[i].layout, tensors[i].host_format,
                                                     ImageOf(job, tensors[i], launch.arguments[i]))
                                   : HostData());
    }
  }
  if (first) Keep(job, bundle, launch, check);
  running_[&job] = std::move(running);
}

void LaunchWatch::End(const model::Job& job, const Running& running) {
  if (job.status != Status::OK) return;
  KernelCheck& check = checks_.kernels[running.name];
  if (checks_.verify != "none") CountSpecialCodes(job, running, check);
  if (!running.checked) return;
  if (checks_.verify == "sample" && job.macs > kSampleMacs) {
    check.not_compared = fmt::format("a launch has {} multiplications", job.macs);
    return;
  }
  try {
    Compare(job, running, check);
  } catch (const Error& error) {
    check.not_compared = error.what();
  }
}

void LaunchWatch::Compare(const model::Job& job, const Running& running, KernelCheck& check) {
  const LaunchedBundle& launched = running.bundle->launched;
  if (const std::string why = ReadsOfOthers(launched, running); !why.empty()) {
    ++check.compared;
    if (check.wrong++ == 0) check.first_wrong = why;
    return;
  }
  std::vector<HostData> outputs;
  for (size_t i = 0; i < launched.tensors.size(); ++i) {
    const WorkloadTensor& tensor = launched.tensors[i];
    outputs.push_back(tensor.is_output ? FromDeviceImage(tensor.layout, tensor.host_format,
                                                         ImageOf(job, tensor, running.arguments[i]))
                                       : HostData());
  }
  const Verification result = VerifyBits(launched, running.inputs, outputs, {});
  ++check.compared;
  check.elements += result.elements;
  check.mismatches += result.mismatches;
  if (result.mismatches == 0) return;
  if (check.wrong++ == 0) check.first_wrong = DifferenceText(result.first.front());
}

// "": the outputs do not depend on what lies behind an argument. A bundle may read there, where it
// pads a dimension, but not count on what it finds.
std::string LaunchWatch::ReadsOfOthers(const LaunchedBundle& launched, const Running& running) {
  std::vector<uint64_t> own;
  std::string text;
  for (size_t i = 0; i < launched.tensors.size(); ++i) {
    const WorkloadTensor& tensor = launched.tensors[i];
    own.push_back(OwnBytes(tensor, running.arguments[i]));
    if (own.back() == ImageBytes(tensor) || !text.empty()) continue;
    text = fmt::format(
        "it reads {} as far as byte {}, which has {} bytes, and what lies behind it "
        "decides its results",
        tensor.name, ImageBytes(tensor), own.back());
  }
  return !text.empty() && DependsOnNeighbours(launched, running.inputs, own) ? text : "";
}

void LaunchWatch::CountSpecialCodes(const model::Job& job, const Running& running,
                                    KernelCheck& check) {
  uint64_t made = 0, given = 0;
  const std::vector<WorkloadTensor>& tensors = running.bundle->launched.tensors;
  const auto count = [&](size_t i) {
    return SpecialCodes(ImageOf(job, tensors[i], running.arguments[i]));
  };
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].is_output && tensors[i].layout.format == DataFormat::kSen169Fp16)
      made += count(i);
  }
  if (made == 0) return;
  check.special_codes += made;
  if (!checks_.first_special.empty()) return;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].is_output && tensors[i].layout.format == DataFormat::kSen169Fp16)
      given += count(i);
  }
  if (given == 0) checks_.first_special = running.name;
}

std::vector<uint8_t> LaunchWatch::ImageOf(const model::Job& job, const WorkloadTensor& tensor,
                                          const sdk::TensorMemory& memory) const {
  std::vector<uint8_t> image(static_cast<size_t>(tensor.layout.DeviceBytes()));
  // A job has no segments before it begins.
  const model::PhysicalRange segment =
      card_.mmu().Segments(job.function, {})[SegmentOf(memory.address)];
  const uint64_t offset = SegmentOffset(memory.address);
  if (offset >= segment.length) return image;
  const uint64_t bytes = std::min<uint64_t>(image.size(), segment.length - offset);
  model::SparseMemory& contents = card_.memory().contents();
  if (contents.Contains(segment.base + offset, bytes))
    std::memcpy(image.data(), contents.At(segment.base + offset), bytes);
  return image;
}

std::string LaunchWatch::NewDirectory(const std::string& name) {
  std::string text = name.substr(0, kNameBytes);
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-') c = '_';
  }
  if (text.empty()) text = "kernel";
  // What is there already is somebody else's.
  for (;;) {
    const int number = ++names_[text];
    std::string directory = fmt::format("{}/kernels/{}{}", request_.out, text,
                                        number == 1 ? "" : fmt::format("_{}", number));
    if (!fs::exists(directory)) return directory;
  }
}

void LaunchWatch::Keep(const model::Job& job, const ProgramBundle& bundle,
                       const sdk::ProgramLaunch& launch, KernelCheck& check) {
  const std::string directory = NewDirectory(launch.name);
  kept_[&bundle] = directory;
  try {
    sdk::CopyBundle(bundle.compiled, directory);
    const std::vector<WorkloadTensor>& tensors = bundle.launched.tensors;
    const bool with_data =
        config_.workload.functional && BytesOf(bundle.launched) <= *request_.keep_bytes;
    RunConfig config = config_;
    config.preset = RunConfig().preset;  // its values are in the keys; its file may not be there
    const bool functional = config.workload.functional;
    config.workload = WorkloadConfig();
    config.workload.functional = functional;
    config.workload.bundle = ".";
    config.expect = ExpectConfig();
    config.fault = TableList();  // they are of moments of the whole program
    config.card.faults.clear();
    nlohmann::ordered_json arguments = nlohmann::ordered_json::array();
    for (size_t i = 0; i < tensors.size(); ++i) {
      const WorkloadTensor& tensor = tensors[i];
      const HostFormat& host = HostFormatOf(tensor.host_format);
      arguments.push_back({{"name", tensor.name},
                           {"host_size", tensor.shape},
                           {"dtype", host.name},
                           {"device_format", FormatName(tensor.layout.format)}});
      config.workload.repeat.addresses.push_back(fmt::format("{:#x}", launch.arguments[i].address));
      if (!with_data || !tensor.is_input) continue;
      const std::string file = tensor.name + ".npy";
      const HostData data = FromDeviceImage(tensor.layout, tensor.host_format,
                                            ImageOf(job, tensor, launch.arguments[i]));
      WriteNpy(fmt::format("{}/{}", directory, file), host.npy, tensor.shape, data.data());
      config.workload.args.push_back(file);
    }
    config.workload.repeat.program = fmt::format("{:#x}", launch.allocation);
    config.workload.repeat.start_ps = fmt::format("{:#x}", model::NowPs());
    config.workload.repeat.memory = MemoryTexts(card_.memory());
    const nlohmann::ordered_json manifest = {{"kernel_args", std::move(arguments)}};
    WriteFile(directory + "/manifest.json", DumpJson(manifest, 2) + "\n", "manifest");
    WriteFile(directory + "/launch.toml", ToToml(config), "configuration");
    if (check.kept.empty()) check.kept = directory;
  } catch (const std::exception& error) {
    warnings_.push_back(fmt::format("kernel {} is not kept: {}", launch.name, error.what()));
  }
}

ProgramChecks LaunchWatch::Finish(std::vector<std::string>& warnings) {
  const std::lock_guard<std::mutex> lock(mutex_);
  warnings.insert(warnings.end(), warnings_.begin(), warnings_.end());
  std::error_code error;
  fs::remove_all(sdk::KeptBundle(request_.out, ""), error);
  return checks_;
}

}  // namespace spyre::cosim
