// SPDX-License-Identifier: Apache-2.0
// Names and literals shared by the writers.
#include <cctype>

#include "model/contract/generator/writers.h"

namespace spyre::generator {
namespace {
char Upper(char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); }
char Lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
bool IsUpper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
}  // namespace

const char* AccessName(Access access) {
  switch (access) {
    case Access::kRo:
      return "RO";
    case Access::kRw:
      return "RW";
    case Access::kRw1c:
      return "RW1C";
    case Access::kWo:
      return "WO";
    case Access::kRc:
      return "RC";
  }
  return "?";
}

const char* ScopeNote(Scope scope) {
  switch (scope) {
    case Scope::kAll:
      return "";
    case Scope::kPf:
      return " (PF only)";
    case Scope::kController:
      return " (management controller)";
  }
  return "?";
}

bool IsReadable(Access access) { return access != Access::kWo; }
bool IsWritable(Access access) {
  return access == Access::kRw || access == Access::kRw1c || access == Access::kWo;
}

uint32_t Register::mask() const {
  if (fields.empty()) return 0xFFFFFFFFu;
  uint32_t bits = 0;
  for (const Field& field : fields) bits |= field.mask();
  return bits;
}

std::string PascalFromUpper(std::string_view name) {
  std::string out;
  bool start = true;
  for (char c : name) {
    if (c == '_') {
      start = true;
      continue;
    }
    out += start ? Upper(c) : Lower(c);
    start = false;
  }
  return out;
}

std::string SnakeFromPascal(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (IsUpper(c) && !out.empty()) out += '_';
    out += Lower(c);
  }
  return out;
}

std::string UpperCase(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = Upper(c);
  return out;
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::vector<Pair> PairsOf(const Block& block) {
  std::vector<Pair> pairs;
  for (const Register& low : block.registers) {
    const size_t stem = low.name.size() < 3 ? 0 : low.name.size() - 3;
    if (stem == 0 || low.name.compare(stem, 3, "_LO") != 0) continue;
    const std::string name = low.name.substr(0, stem);
    for (const Register& high : block.registers) {
      if (high.name == name + "_HI" && high.offset == low.offset + 4 && high.access == low.access) {
        pairs.push_back({name, &low, &high});
      }
    }
  }
  return pairs;
}

}  // namespace spyre::generator
