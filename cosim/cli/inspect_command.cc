// SPDX-License-Identifier: Apache-2.0
#include "cosim/cli/inspect_command.h"

#include <contract/registers.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"
#include "cosim/cli/common_options.h"
#include "cosim/cli/run_command.h"
#include "cosim/cli/warnings.h"
#include "cosim/config/config.h"
#include "cosim/session/check_run.h"
#include "model/contract/program.h"
#include "model/contract/program_check.h"
#include "runtime/spyre/spyre_code.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;
using command_line::Words;
using Json = nlohmann::ordered_json;

const char* AccessName(regs::Access access) {
  switch (access) {
    case regs::Access::kReadOnly:
      return "RO";
    case regs::Access::kReadWrite:
      return "RW";
    case regs::Access::kWriteOneToClear:
      return "RW1C";
    case regs::Access::kWriteOnly:
      return "WO";
    case regs::Access::kReadToClear:
      return "RC";
  }
  return "?";
}

std::string Bits(const regs::FieldInfo& field) {
  const uint32_t width = static_cast<uint32_t>(__builtin_popcount(field.mask));
  return fmt::format("{}:{}", field.shift + width - 1, field.shift);
}

template <class Visit>
void ForEachField(const regs::RegisterInfo& reg, Visit visit) {
  for (const regs::FieldInfo& field : regs::kRegisterFields)
    if (field.offset == reg.offset) visit(field);
}

// Puts the file of each step behind its mark, `mark r5, 3`.
std::string NameMarks(const std::string& text, const std::vector<std::string>& steps) {
  std::string result;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    result += line;
    const size_t mark = line.find("mark ");
    const size_t comma = mark == std::string_view::npos ? mark : line.find(',', mark);
    if (comma != std::string_view::npos) {
      size_t step = 0;
      const std::string_view number = line.substr(line.find_first_not_of(' ', comma + 1));
      const auto parsed = std::from_chars(number.data(), number.data() + number.size(), step);
      if (parsed.ec == std::errc() && step < steps.size()) result += "  ; " + steps[step];
    }
    result += '\n';
  }
  return result;
}

std::string DisassembleDirectory(const std::string& path) {
  const runtime::SpyreCode code = runtime::ReadSpyreCode(path);
  std::string text = fmt::format("; SpyreCode '{}', {} bytes of program memory\n", code.name,
                                 code.allocation_bytes);
  for (size_t i = 0; i < code.steps.size(); ++i)
    text += fmt::format("; step {}: {}\n", i, code.steps[i]);
  for (const runtime::ExecStep& step : code.exec_plan) {
    const auto* compute = std::get_if<runtime::DeviceComputeStep>(&step);
    if (compute == nullptr) continue;
    for (const runtime::InitPacket& packet : code.init_packets) {
      if (compute->offset < packet.offset ||
          compute->offset - packet.offset >= packet.data->size()) {
        continue;
      }
      size_t at = compute->offset - packet.offset;
      for (uint64_t next = 1; next != 0; at += next) {
        const uint64_t offset = packet.offset + at;
        text += fmt::format("\n; {} at offset {} of {}\n", compute->name, offset, packet.file);
        try {
          if (at >= packet.data->size()) throw BadInput("the file ends before it");
          const uint8_t* image = packet.data->data() + at;
          const ImageInfo info = ReadImageHeader(image, packet.data->size() - at);
          text += NameMarks(Disassemble(Decode(image, info.image_bytes)), code.steps);
          next = info.next;
        } catch (const Error& error) {
          throw error.Within(
              fmt::format("{}/{}: {} at offset {}", path, packet.file, compute->name, offset));
        }
      }
    }
  }
  return text;
}

}  // namespace

void AddCheckCommand(command_line::Command& root) {
  struct Arguments {
    std::string config;
    std::vector<std::string> sets;
    bool json = false, reference = false;
  };
  const auto a = std::make_shared<Arguments>();
  command_line::Command& command =
      root.AddCommand("check", "Say whether a configuration runs, and print all of its keys");
  command.Footer("What `run` would refuse without simulating is refused here, with status 2.");
  command
      .Add("CONFIG", a->config,
           "what `run` takes; without it the defaults are printed and nothing is checked")
      .Completes(Words::kFiles);
  AddSets(command, a->sets);
  command.Add("--json", a->json, "as JSON");
  command.Add("--reference", a->reference, "print docs/configuration.md instead");
  command.Action([a] {
    if (a->reference) {
      std::cout << ConfigReference();
      return 0;
    }
    const RunConfig config = ConfigOf(a->config, a->sets, {});
    if (!a->config.empty()) PrintWarnings(CheckRun(config));
    std::cout << (a->json ? ToJson(config) + "\n" : ToToml(config));
    return 0;
  });
}

void AddRegsCommand(command_line::Command& root) {
  struct Arguments {
    bool markdown = false, json = false;
  };
  const auto a = std::make_shared<Arguments>();
  command_line::Command& command = root.AddCommand("regs", "Print the registers of the card");
  command_line::Option& markdown = command.Add("--markdown", a->markdown, "as a Markdown table");
  command.Add("--json", a->json, "as JSON").Excludes(markdown);
  command.Action([a] {
    std::cout << (a->json ? RegistersJson() : a->markdown ? RegistersMarkdown() : RegistersText());
    return 0;
  });
}

void AddProgramTextCommands(command_line::Command& root) {
  struct Arguments {
    std::string path, output;
  };
  const auto a = std::make_shared<Arguments>();
  command_line::Command& disasm = root.AddCommand("disasm", "Print the text of a program");
  disasm.Add("PATH", a->path, "program binary or SpyreCode directory")
      .Required()
      .Completes(Words::kFiles);
  disasm.Action([a] {
    std::cout << DisassemblePath(a->path);
    return 0;
  });
  command_line::Command& assemble = root.AddCommand("asm", "Assemble a program");
  assemble.Add("FILE", a->path, "text, as disasm prints it").Required().Completes(Words::kFiles);
  assemble.Add("-o,--output", a->output, "program binary to write")
      .Required()
      .Placeholder("FILE")
      .Completes(Words::kFiles);
  assemble.Action([a] {
    AssembleFile(a->path, a->output);
    return 0;
  });
}

std::string RegistersText() {
  trace::Table table({"address", "register", "access", "reset", "functions", "meaning"}, 6);
  for (const regs::RegisterInfo& reg : regs::kRegisters) {
    table.Add({fmt::format("0x{:04x}", reg.offset), reg.name, AccessName(reg.access),
               fmt::format("0x{:08x}", reg.reset), reg.pf_only ? "PF" : "PF, VF", reg.description});
    ForEachField(reg, [&](const regs::FieldInfo& field) {
      table.Add({"", fmt::format("  {}", field.name), "", Bits(field), "", field.description});
    });
  }
  return table.ToString("");
}

std::string RegistersMarkdown() {
  std::string text =
      "| Address | Register | Access | Reset | Functions | Meaning |\n|---|---|---|---|---|---|\n";
  for (const regs::RegisterInfo& reg : regs::kRegisters) {
    text += fmt::format("| 0x{:04x} | {} | {} | 0x{:08x} | {} | {} |\n", reg.offset, reg.name,
                        AccessName(reg.access), reg.reset, reg.pf_only ? "PF" : "PF, VF",
                        reg.description);
    ForEachField(reg, [&](const regs::FieldInfo& field) {
      text += fmt::format("| | {}[{}] | | | | {} |\n", field.name, Bits(field), field.description);
    });
  }
  return text;
}

std::string RegistersJson() {
  Json all = Json::array();
  for (const regs::RegisterInfo& reg : regs::kRegisters) {
    Json fields = Json::array();
    ForEachField(reg, [&](const regs::FieldInfo& field) {
      fields.push_back({{"name", field.name},
                        {"shift", field.shift},
                        {"mask", field.mask},
                        {"description", field.description}});
    });
    all.push_back({{"name", reg.name},
                   {"block", reg.block},
                   {"offset", reg.offset},
                   {"access", AccessName(reg.access)},
                   {"reset", reg.reset},
                   {"mask", reg.mask},
                   {"pf_only", reg.pf_only},
                   {"dynamic", reg.dynamic},
                   {"description", reg.description},
                   {"fields", fields}});
  }
  return DumpJson(all, 2) + "\n";
}

std::string DisassemblePath(const std::string& path) {
  if (fs::is_directory(path)) return DisassembleDirectory(path);
  const std::string bytes = ReadFile(path, "program", kMaxImageBytes);
  const auto* image = reinterpret_cast<const uint8_t*>(bytes.data());
  try {
    std::string text = Disassemble(Decode(image, bytes.size()));
    const size_t used = ReadImageHeader(image, bytes.size()).image_bytes;
    if (used < bytes.size()) {
      text += fmt::format(
          "; {} more bytes follow this program in the file; disassemble the SpyreCode directory "
          "for all\n",
          bytes.size() - used);
    }
    return text;
  } catch (const Error& error) {
    throw BadInput("{}: {}", path, error.what());
  }
}

void AssembleFile(const std::string& source, const std::string& output) {
  const Program program = Assemble(ReadFile(source, "program text"), source);
  const std::vector<uint8_t> image = Encode(program);
  WriteFile(output, {reinterpret_cast<const char*>(image.data()), image.size()}, "file");
}

}  // namespace spyre::cosim
