#include "cosim/tools.h"

#include <contract/registers.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "model/contract/error.h"
#include "model/contract/files.h"
#include "model/contract/program.h"
#include "runtime/spyre/spyre_code.h"
#include "traces/text.h"

namespace spyre::cosim {
namespace {

namespace fs = std::filesystem;
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

constexpr uint64_t kMaxProgramFile = 64 << 20;

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
      const size_t at = compute->offset - packet.offset;
      const uint8_t* image = packet.data->data() + at;
      const ImageInfo info = ReadImageHeader(image, packet.data->size() - at);
      text +=
          fmt::format("\n; {} at offset {} of {}\n", compute->name, compute->offset, packet.file);
      text += NameMarks(Disassemble(Decode(image, info.image_bytes)), code.steps);
    }
  }
  return text;
}

}  // namespace

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
  return all.dump(2) + "\n";
}

std::string DisassemblePath(const std::string& path) {
  if (fs::is_directory(path)) return DisassembleDirectory(path);
  const std::string bytes = ReadFile(path, "program", kMaxProgramFile);
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
  const Program program = Assemble(ReadFile(source, "program text", kMaxProgramFile), source);
  const std::vector<uint8_t> image = Encode(program);
  std::ofstream out(output, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(image.data()),
            static_cast<std::streamsize>(image.size()));
  out.flush();
  if (!out) throw BadInput("{}: cannot write the file: {}", output, std::strerror(errno));
}

}  // namespace spyre::cosim
