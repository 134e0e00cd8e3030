// SPDX-License-Identifier: Apache-2.0
#include "firmware/tools/stack_depth.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace spyre::firmware {
namespace {

bool StartsWith(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// "8000001c <main+0x4>" names main; "" if the operands name nothing.
std::string TargetOf(const std::string& operands) {
  const size_t begin = operands.find('<');
  const size_t end = operands.find_first_of("+>", begin);
  return end == std::string::npos ? "" : operands.substr(begin + 1, end - begin - 1);
}

void ReadInstruction(const std::string& mnemonic, const std::string& operands,
                     const std::string& name, Listing::Function* function) {
  const auto bad = [&](const char* what) {
    return std::runtime_error(fmt::format("{}: {}: {} {}", name, what, mnemonic, operands));
  };
  if (mnemonic == "jr" || mnemonic == "jalr") throw bad("an indirect call or jump");
  if (mnemonic[0] == 'j' || mnemonic[0] == 'b') {
    const std::string target = TargetOf(operands);
    if (!target.empty() && target != name) function->calls.insert(target);
    return;
  }
  // Except for stores, the first operand is written. Only start-up code and code that takes nothing
  // from sp otherwise moves a register into it.
  if (!StartsWith(operands, "sp,") || mnemonic == "sw" || mnemonic == "mv") return;
  const bool adjusts = StartsWith(mnemonic, "add") && StartsWith(operands, "sp,sp,");
  const std::string amount = adjusts ? operands.substr(sizeof("sp,sp,") - 1) : "";
  const size_t digits = StartsWith(amount, "-") ? 1 : 0;
  if (amount.size() == digits ||
      amount.find_first_not_of("0123456789", digits) != std::string::npos)
    throw bad("a stack frame of no fixed size");
  if (digits == 1) function->frame_bytes += std::stoull(amount.substr(1));
}

Depth Walk(const Listing& listing, const std::string& name, std::vector<std::string>* path,
           std::map<std::string, Depth>* known) {
  const auto done = known->find(name);
  if (done != known->end()) return done->second;
  const bool recursive = std::find(path->begin(), path->end(), name) != path->end();
  path->push_back(name);
  if (recursive) throw std::runtime_error(fmt::format("recursion: {}", fmt::join(*path, " > ")));
  const auto found = listing.functions.find(name);
  if (found == listing.functions.end())
    throw std::runtime_error(fmt::format("no function {} in the listing", name));
  Depth deepest;
  for (const std::string& callee : found->second.calls) {
    Depth depth = Walk(listing, callee, path, known);
    if (depth.bytes > deepest.bytes) deepest = std::move(depth);
  }
  path->pop_back();
  deepest.bytes += found->second.frame_bytes;
  deepest.path.insert(deepest.path.begin(), name);
  return known->emplace(name, std::move(deepest)).first->second;
}

}  // namespace

// Lines: "80000000 <main>:", "80000010:\t00c000ef          \tjal\tra,8000001c <main>" and
// "00000800 g       *ABS*\t00000000 __stack_bytes".
Listing ReadListing(std::istream& text) {
  Listing listing;
  std::string name;
  for (std::string line; std::getline(text, line);) {
    const size_t label = line.find(" <");
    const std::vector<std::string> columns = Split(line, '\t');
    if (line.size() > 2 && line.substr(line.size() - 2) == ">:" && label != std::string::npos) {
      name = TargetOf(line);
      listing.functions[name];
    } else if (columns.size() >= 3 && columns[0].back() == ':') {
      ReadInstruction(columns[2], columns.size() > 3 ? columns[3] : "", name,
                      &listing.functions[name]);
    } else if (line.find(" *ABS*\t") != std::string::npos) {
      listing.symbols[Split(line, ' ').back()] = std::stoull(line, nullptr, 16);
    }
  }
  return listing;
}

Depth DeepestStack(const Listing& listing, const std::string& function) {
  std::vector<std::string> path;
  std::map<std::string, Depth> known;
  return Walk(listing, function, &path, &known);
}

}  // namespace spyre::firmware
