// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/rvtest_command.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_text.h"
#include "model/rtl/rtl_blocks.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

class NoRegisters : public model::ControllerBus {
 public:
  bool Maps(uint32_t /*address*/) const override { return false; }
  uint32_t Read(uint32_t /*address*/) override { return 0; }
  void Write(uint32_t /*address*/, uint32_t /*value*/) override {}
};

struct Result {
  std::string path;
  std::string failure;  // empty: passed
  uint64_t cycles = 0, instructions = 0;
};

class RvtestProgram {
 public:
  explicit RvtestProgram(const std::string& path) : image_(model::ReadElf(path)) {
    const auto tohost = image_.symbols.find("tohost");
    if (tohost == image_.symbols.end()) {
      throw BadInput("{}: no symbol tohost; a test program writes its result to the word there",
                     path);
    }
    tohost_ = tohost->second;
    controller_->Load(image_);
    if (tohost_ % 4 != 0 || !Tohost(nullptr)) {
      throw BadInput("{}: tohost 0x{:08x} is not a word of the controller's SRAM", path, tohost_);
    }
  }

  Result Run(uint64_t max_cycles) {
    uint32_t value = 0;
    while (Tohost(&value) && value == 0 && controller_->cycles() < max_cycles) Advance(max_cycles);
    return {image_.name, FailureOf(value, max_cycles), controller_->cycles(),
            controller_->retired()};
  }

 private:
  bool Tohost(uint32_t* value) {
    uint32_t word = 0;
    return controller_->ReadMemory(tohost_, value == nullptr ? &word : value, sizeof word);
  }
  // One instruction, or the time until the timer wakes the core.
  void Advance(uint64_t max_cycles) {
    if (controller_->Step()) return;
    const uint64_t now = controller_->cycles();
    const uint64_t due = controller_->timer_due();
    // A timer that is over and has not woken it never will: its interrupt is disabled.
    controller_->SkipCycles((due > now ? std::min(due, max_cycles) : max_cycles) - now);
  }
  std::string FailureOf(uint32_t value, uint64_t max_cycles) const {
    if (value == 1) return "";
    if (value % 2 == 1) return fmt::format("test {} failed", value >> 1);
    if (value != 0) return fmt::format("0x{:x} in tohost is not a result", value);
    return fmt::format("no answer within {} cycles{}, pc=0x{:08x} ({})", max_cycles,
                       controller_->asleep() ? ", asleep" : "", controller_->pc(),
                       image_.Describe(controller_->pc()));
  }

  model::ElfImage image_;
  uint32_t tohost_ = 0;
  NoRegisters bus_;
  std::unique_ptr<model::RtlController> controller_ = model::MakeRtlController(bus_);
};

Json JsonOf(const Result& result) {
  Json json{{"path", result.path},
            {"passed", result.failure.empty()},
            {"cycles", result.cycles},
            {"instructions", result.instructions}};
  if (!result.failure.empty()) json["failure"] = result.failure;
  return json;
}

void Print(const Result& result, std::ostream& out) {
  if (result.failure.empty()) {
    out << fmt::format("PASS {} ({} cycles, {} instructions)\n", result.path, result.cycles,
                       result.instructions);
  } else {
    out << fmt::format("FAIL {}: {}\n", result.path, result.failure);
  }
}

}  // namespace

void AddRvtestCommand(command_line::Command& root) {
  command_line::Command& command =
      root.AddCommand("rvtest", "Run RISC-V test programs on the management controller alone");
  command.Footer(
      "A program ends by a write to its symbol tohost: 1 passes, 2n+1 fails test n.\n"
      "Exit status: 0 all passed; 1 some failed; 2 bad input, no executable for the controller or "
      "no "
      "tohost.");
  const auto options = std::make_shared<RvtestOptions>();
  command.Add("ELF", options->files, "32-bit RISC-V executables, SRAM at 0x80000000")
      .Required()
      .Completes(command_line::Words::kFiles);
  command.Add("--max-cycles", options->max_cycles, "cycles that one program may take", 1)
      .ShowDefault();
  command.Add("--json", options->json, "as JSON");
  command.Action([options] { return RunRvtestCommand(*options, std::cout); });
}

int RunRvtestCommand(const RvtestOptions& options, std::ostream& out) {
  // Files are checked first, so that a mistyped last one is told at once.
  for (const std::string& path : options.files) RvtestProgram check(path);
  Json results = Json::array();
  size_t failed = 0;
  for (const std::string& path : options.files) {
    const Result result = RvtestProgram(path).Run(options.max_cycles);
    failed += !result.failure.empty();
    if (options.json) {
      results.push_back(JsonOf(result));
    } else {
      Print(result, out);
    }
  }
  if (options.json) {
    out << DumpJson(Json{{"passed", options.files.size() - failed},
                         {"failed", failed},
                         {"programs", results}},
                    2)
        << "\n";
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace spyre::cosim
