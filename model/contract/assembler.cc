// SPDX-License-Identifier: Apache-2.0
// Text to program. The grammar is in docs/program-format.md.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/joined.h"
#include "base/nearest.h"
#include "model/contract/op_table.h"
#include "model/contract/program.h"
#include "model/contract/program_check.h"

namespace spyre {
namespace {

struct Mnemonic {
  const OpInfo* info;
  uint8_t fn;
};

// Every spelling of every instruction: "load", "vbinary.add", "vbinary.add.lane0", ...
const std::map<std::string, Mnemonic, std::less<>>& Mnemonics() {
  static const auto table = [] {
    std::map<std::string, Mnemonic, std::less<>> all;
    for (const OpInfo& info : OpTable()) {
      for (int fn = 0; fn < 256; ++fn) {
        const auto value = static_cast<uint8_t>(fn);
        if (!IsKnownFn(info.fn_set, value)) continue;
        all[std::string(info.mnemonic) + FnSuffix(info.fn_set, value)] = {&info, value};
      }
    }
    return all;
  }();
  return table;
}

std::vector<std::string> Spellings(std::string_view begin = "") {
  std::vector<std::string> names;
  for (const auto& [name, mnemonic] : Mnemonics()) {
    if (name.compare(0, begin.size(), begin) == 0) names.push_back(name);
  }
  return names;
}

const std::vector<std::string>& Directives() {
  static const std::vector<std::string> names = {".program",    ".lx",    ".flags", ".cores",
                                                 ".table",      ".entry", ".core",  ".section",
                                                 ".core_width", ".next"};
  return names;
}

// Words of a line; ',' and ':' are words of their own, ';' begins a comment.
std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  size_t at = 0;
  while (at < line.size() && line[at] != ';') {
    const char c = line[at];
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at;
    } else if (c == ',' || c == ':') {
      words.push_back(line.substr(at++, 1));
    } else {
      const size_t end = std::min(line.find_first_of(" \t\r,:;", at), line.size());
      words.push_back(line.substr(at, end - at));
      at = end;
    }
  }
  return words;
}

class Assembler {
 public:
  explicit Assembler(std::string_view file) : file_(file) {}

  Program Run(std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      ++line_;
      Line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    CloseSection();
    CheckUses(tab_uses_, program_.address_table.size(),
              "the address table has {} entries; '.table N' sets their number");
    CheckUses(creg_uses_, program_.core_register_width(),
              "a core has {} core registers; '.core_width N' sets their number");
    if (program_.core_mask == 0) throw BadInput("{}: no '.cores MASK' that names a core", file_);
    try {
      CheckProgram(program_);
    } catch (const Error& error) {
      throw error.Within(file_);
    }
    return std::move(program_);
  }

 private:
  // Of the address table or of the core registers, whose number may come later than the use.
  struct Use {
    int line;
    uint64_t entry;
  };
  void CheckUses(const std::vector<Use>& uses, size_t entries,
                 fmt::format_string<size_t&> message) {
    for (const Use& use : uses) {
      if (use.entry < entries) continue;
      line_ = use.line;
      Fail(std::to_string(use.entry), fmt::format(message, entries));
    }
  }

  [[noreturn]] void Fail(std::string_view token, const std::string& message) const {
    constexpr size_t kShown = 40;
    throw BadInput("{}:{}: '{}': {}", file_, line_, token.substr(0, kShown), message);
  }

  // ------------------------------------------------------------------ numbers
  struct Number {
    bool negative;
    uint64_t magnitude;
  };
  Number ParseNumber(std::string_view token) const {
    std::string_view digits = token;
    Number number{false, 0};
    if (!digits.empty() && digits.front() == '-') {
      number.negative = true;
      digits.remove_prefix(1);
    }
    int base = 10;
    if (digits.size() > 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
      base = 16;
      digits.remove_prefix(2);
    }
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, number.magnitude, base);
    if (error == std::errc::result_out_of_range) Fail(token, "number does not fit in 64 bits");
    if (error != std::errc() || stop != end) {
      Fail(token, "expected a number: decimal, or hexadecimal with 0x");
    }
    return number;
  }
  uint64_t Unsigned(std::string_view token, uint64_t limit, const char* what) const {
    const Number number = ParseNumber(token);
    if ((number.negative && number.magnitude != 0) || number.magnitude > limit) {
      Fail(token, fmt::format("{} must be 0..{}", what, limit));
    }
    return number.magnitude;
  }
  int64_t Signed(std::string_view token) const {
    const Number number = ParseNumber(token);
    constexpr uint64_t kMinimum = uint64_t{1} << 63;
    if (number.magnitude > (number.negative ? kMinimum : kMinimum - 1)) {
      Fail(token, "number must be -9223372036854775808..9223372036854775807");
    }
    return static_cast<int64_t>(number.negative ? 0 - number.magnitude : number.magnitude);
  }

  // ------------------------------------------------------------------ lines
  void Line(std::string_view line) {
    const std::vector<std::string_view> words = Words(line);
    if (words.empty()) return;
    if (words[0].front() == '.') {
      Directive(words);
    } else {
      Statement(words);
    }
  }

  void Flag(std::string_view flag) {
    if (flag == "timing_only") {
      program_.timing_only = true;
    } else if (flag == "generated_loops") {
      program_.generated_loops = true;
    } else {
      Fail(flag, "the flags are timing_only and generated_loops");
    }
  }

  void ExpectWords(const std::vector<std::string_view>& words, size_t count,
                   const char* form) const {
    if (words.size() < count) Fail(words[0], fmt::format("expected '{}'", form));
    if (words.size() > count) Fail(words[count], fmt::format("unexpected after '{}'", form));
  }

  void Directive(const std::vector<std::string_view>& words) {
    const std::string_view name = words[0];
    const auto& known = Directives();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      Fail(name, "not a directive" + DidYouMean(name, known));
    }
    if (name != ".entry" && name != ".core" && name != ".section") {
      if (std::find(given_.begin(), given_.end(), name) != given_.end()) {
        Fail(name, "given twice");
      }
      given_.emplace_back(name);
    }
    constexpr uint64_t kMask = 0xFFFFFFFF;
    if (name == ".program") {
      ProgramName(words);
    } else if (name == ".lx") {
      ExpectWords(words, 2, ".lx BYTES");
      program_.lx_bytes = static_cast<uint32_t>(Unsigned(words[1], kLxUsableBytes, "LX bytes"));
    } else if (name == ".next") {
      ExpectWords(words, 2, ".next BYTES");
      program_.next = static_cast<uint32_t>(Unsigned(words[1], kMaxImageBytes, "distance"));
    } else if (name == ".flags") {
      if (words.size() < 2) Fail(name, "expected '.flags FLAG...'");
      for (size_t i = 1; i < words.size(); ++i) Flag(words[i]);
    } else if (name == ".cores") {
      ExpectWords(words, 2, ".cores MASK");
      program_.core_mask = static_cast<uint32_t>(Unsigned(words[1], kMask, "a core mask"));
    } else if (name == ".table") {
      ExpectWords(words, 2, ".table N");
      program_.address_table.resize(
          Unsigned(words[1], kMaxImageBytes / 8, "number of address-table entries"));
    } else if (name == ".entry") {
      ExpectWords(words, 3, ".entry I VALUE");
      const size_t entries = program_.address_table.size();
      if (entries == 0) Fail(name, "needs '.table N' before it");
      program_.address_table[Unsigned(words[1], entries - 1, "address-table entry")] =
          Unsigned(words[2], UINT64_MAX, "value");
    } else if (name == ".core") {
      CoreRow(words);
    } else if (name == ".core_width") {
      ExpectWords(words, 2, ".core_width N");
      if (!program_.core_registers.empty()) Fail(name, "comes before the first '.core'");
      const uint64_t width = Unsigned(words[1], kMaxCoreRegisters, "registers of a core");
      if (width == 0) Fail(words[1], fmt::format("a core has 1..{} registers", kMaxCoreRegisters));
      AddCoreRows(width);
    } else {
      ExpectWords(words, 3, ".section UNIT MASK");
      OpenSection(words[1], static_cast<uint32_t>(Unsigned(words[2], kMask, "a core mask")));
    }
  }

  // The rest of the line, as it is: a name may hold spaces, commas and colons.
  void ProgramName(const std::vector<std::string_view>& words) {
    if (words.size() < 2) Fail(words[0], "expected '.program NAME'");
    const char* begin = words[1].data();
    const char* end = words.back().data() + words.back().size();
    program_.name.assign(begin, end);
    if (program_.name.size() > kMaxProgramName) {
      Fail(program_.name, fmt::format("a program name has at most {} bytes", kMaxProgramName));
    }
  }

  void CoreRow(const std::vector<std::string_view>& words) {
    if (words.size() < 3 || words[2] != ":") Fail(words[0], "expected '.core C: v0 v1 ...'");
    if (program_.core_registers.empty()) AddCoreRows(kCoreRegisters);
    const size_t width = program_.core_register_width();
    if (words.size() > 3 + width) {
      Fail(words[3 + width],
           fmt::format("a core has {} registers; '.core_width N' before the first '.core' gives "
                       "it more",
                       width));
    }
    auto& row = program_.core_registers[Unsigned(words[1], kMaxCores - 1, "core")];
    for (size_t i = 3; i < words.size(); ++i) row[i - 3] = Signed(words[i]);
  }

  void AddCoreRows(size_t width) {
    program_.core_registers.assign(kMaxCores, std::vector<int64_t>(width));
  }

  void OpenSection(std::string_view unit_name, uint32_t core_mask) {
    CloseSection();
    std::vector<std::string> names;
    std::optional<Unit> unit;
    for (int i = 0; i < kUnitCount; ++i) {
      names.emplace_back(UnitName(static_cast<Unit>(i)));
      if (unit_name == names.back()) unit = static_cast<Unit>(i);
    }
    if (!unit) {
      Fail(unit_name, fmt::format("not a unit; units are {}", Joined(names, ", ")) +
                          DidYouMean(unit_name, names));
    }
    program_.sections.push_back({*unit, core_mask, {}});
  }

  void CloseSection() {
    if (loop_lines_.empty()) return;
    line_ = loop_lines_.back();
    Fail("loop", "has no 'end' in its section");
  }

  // ------------------------------------------------------------------ instructions
  Mnemonic FindMnemonic(std::string_view word) const {
    const auto& all = Mnemonics();
    if (auto it = all.find(word); it != all.end()) return it->second;
    const std::string base(word.substr(0, word.find('.')));
    if (FindOp(std::string_view(base)) != nullptr) {
      Fail(word, fmt::format("'{}' is written {}", base, Joined(Spellings(base), ", ")));
    }
    Fail(word, "not an instruction" + DidYouMean(word, Spellings()));
  }

  uint8_t Register(std::string_view token, const OpInfo& info, std::string_view operand) const {
    if (operand == "-") {
      if (token != "-" && token != "r0") {
        Fail(token, fmt::format("'{}' does not use this operand: write -", info.mnemonic));
      }
      return 0;
    }
    if (token.size() < 2 || token[0] != 'r') {
      Fail(token, fmt::format("operand {} of '{}' is a register, r0..r{}", operand, info.mnemonic,
                              kRegisters - 1));
    }
    return static_cast<uint8_t>(Unsigned(token.substr(1), kRegisters - 1, "register number"));
  }

  void Attribute(std::string_view token, Instruction* instruction) const {
    const size_t equals = token.find('=');
    const std::string_view key = token.substr(0, equals);
    if (equals == std::string_view::npos || (key != "wait" && key != "signal")) {
      Fail(token, "expected wait=tN, signal=tN or the end of the line");
    }
    const std::string_view value = token.substr(equals + 1);
    if (value.size() < 2 || value[0] != 't') {
      Fail(token, fmt::format("a token is t1..t{}", kTokens - 1));
    }
    const auto number =
        static_cast<uint8_t>(Unsigned(value.substr(1), kTokens - 1, "token number"));
    uint8_t& field = key == "wait" ? instruction->wait : instruction->signal;
    if (number == 0) Fail(token, fmt::format("tokens are t1..t{}", kTokens - 1));
    if (field != 0) Fail(token, fmt::format("'{}' given twice", key));
    field = number;
  }

  void Statement(const std::vector<std::string_view>& words) {
    const Mnemonic mnemonic = FindMnemonic(words[0]);
    const OpInfo& info = *mnemonic.info;
    if (program_.sections.empty()) Fail(words[0], "needs '.section UNIT MASK' before it");
    Instruction instruction;
    instruction.op = info.op;
    instruction.fn = mnemonic.fn;
    const size_t count = info.operands.size() + (info.has_immediate ? 1 : 0);
    size_t at = 1;
    for (size_t i = 0; i < count; ++i, ++at) {
      const bool comma = i == 0 || (at < words.size() && words[at++] == ",");
      if (!comma || at >= words.size() || words[at] == ",") {
        const size_t wrong = comma ? at : at - 1;
        Fail(wrong < words.size() ? words[wrong] : words[0],
             fmt::format("'{}' has {} operand{}, with commas between: {}{}", words[0], count,
                         count == 1 ? "" : "s", Joined(info.operands, ", "),
                         info.has_immediate ? ", number" : ""));
      }
      if (i < info.operands.size()) {
        instruction.reg[i] = Register(words[at], info, info.operands[i]);
      } else {
        instruction.imm = Signed(words[at]);
      }
    }
    for (; at < words.size(); ++at) Attribute(words[at], &instruction);
    Add(words[0], instruction);
  }

  void Add(std::string_view word, const Instruction& instruction) {
    Section& section = program_.sections.back();
    // The size of the table, and of the core registers, may be set later: checked at the end.
    constexpr size_t kAny = SIZE_MAX;
    const std::string problem = CheckInstruction(instruction, section.unit, kAny, kAny);
    if (!problem.empty()) Fail(word, problem);
    if (instruction.op == Op::kCreg) {
      creg_uses_.push_back({line_, static_cast<uint64_t>(instruction.imm)});
    } else if (instruction.op == Op::kTab) {
      tab_uses_.push_back({line_, static_cast<uint64_t>(instruction.imm)});
    } else if (instruction.op == Op::kLoop) {
      loop_lines_.push_back(line_);
      if (loop_lines_.size() > static_cast<size_t>(kMaxLoopDepth)) {
        Fail(word, fmt::format("loops nest at most {} deep", kMaxLoopDepth));
      }
    } else if (instruction.op == Op::kEnd) {
      if (loop_lines_.empty()) Fail(word, "has no 'loop' before it in its section");
      loop_lines_.pop_back();
    }
    section.code.push_back(instruction);
  }

  std::string file_;
  int line_ = 0;
  Program program_;
  std::vector<std::string> given_;  // directives that may come once
  std::vector<int> loop_lines_;     // open loops of the section
  std::vector<Use> tab_uses_, creg_uses_;
};

}  // namespace

Program Assemble(std::string_view text, std::string_view file_name) {
  return Assembler(file_name).Run(text);
}

}  // namespace spyre
