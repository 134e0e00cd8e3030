// SPDX-License-Identifier: Apache-2.0
#include "cosim/config/host_preset.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace spyre::cosim {
namespace {

// Of aiuLaunchControlBlocks, the call that hands a launch over.
constexpr uint64_t kLaunchNs = 1'086;
// An asynchronous launch returns after 7 us.
constexpr uint64_t kPlainLaunchNs = 7'000;
// launch_jobplan with the profiler on: host compute, correction and the launch.
constexpr uint64_t kProfiledLaunchNs = 873'672;
// tensor.cpu() of 4 MiB takes 7,142 us, of which the copy is 376.
constexpr uint64_t kConvertNsPerKib = (7'142'000 - 376'000) / 4096;
// Fitted to the copies of tensor.cpu(), 256 KiB to 512 MiB, less the DMA: two slopes, of memory
// that the process has and of new memory. Copies of both sides of 4 MiB are slower than that one.
constexpr uint64_t kCopyOutNs = 115'000;
constexpr uint64_t kCopyOutNsPerKib = 85;
constexpr uint64_t kCopyOutColdNsPerKib = 508;

}  // namespace

const std::vector<std::string>& HostPresetNames() {
  static const std::vector<std::string> names = {"bare", "plain", "profiled"};
  return names;
}

void ApplyHostPreset(HostConfig& host) {
  if (host.preset == "bare") return;
  host.launch_ns = kLaunchNs;
  host.convert_ns_per_kib = kConvertNsPerKib;
  host.copy_out_ns = kCopyOutNs;
  host.copy_out_ns_per_kib = kCopyOutNsPerKib;
  host.copy_out_cold_ns_per_kib = kCopyOutColdNsPerKib;
  host.dispatch_ns = (host.preset == "plain" ? kPlainLaunchNs : kProfiledLaunchNs) - kLaunchNs;
}

void FindHostPreset(HostConfig& host, const toml::table& document, const std::string& name) {
  const toml::node_view<const toml::node> preset = document["host"]["preset"];
  if (!preset.is_string()) return;  // one that is no text is refused where it is read
  host.preset = preset.as_string()->get();
  const std::vector<std::string>& names = HostPresetNames();
  if (std::find(names.begin(), names.end(), host.preset) != names.end()) return;
  throw BadInput("{}: host.preset = \"{}\" is not known; use one of {}", name, host.preset,
                 fmt::join(names, ", "))
      .Subject("host.preset");
}

}  // namespace spyre::cosim
