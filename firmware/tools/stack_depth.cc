#include "firmware/tools/stack_depth.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <stdexcept>

namespace spyre::firmware {
namespace {

// "80000000 <_start>:"
const std::regex kLabel(R"(^[0-9a-f]+ <([^>]+)>:$)");
// "80000010:\t00c000ef  \tjal\tra,8000001c <main>"
const std::regex kInstruction(R"(^\s*[0-9a-f]+:\s+[0-9a-f]+\s+([a-z][a-z0-9.]*)\s*(.*)$)");
const std::regex kTarget(R"(<([^>+]+)(\+0x[0-9a-f]+)?>)");
const std::regex kAdjust(R"(^sp,sp,(-?)([0-9]+)$)");
// "80010000 g       *ABS*\t00000000 __stack_bytes"
const std::regex kSymbol(R"(^([0-9a-f]{8,16}) .{7} \S+\s+[0-9a-f]+ (\S+)$)");

bool StartsWith(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

void ReadInstruction(const std::string& line, const std::string& mnemonic,
                     const std::string& operands, const std::string& name,
                     Listing::Function* function) {
  std::smatch match;
  if (mnemonic == "jr" || mnemonic == "jalr")
    throw std::runtime_error(fmt::format("{}: an indirect call or jump: {}", name, line));
  if (mnemonic[0] == 'j' || mnemonic[0] == 'b') {
    if (std::regex_search(operands, match, kTarget) && match[1] != name)
      function->calls.insert(match[1]);
    return;
  }
  // Except for stores, the first operand is written. Only start-up code and code that takes nothing
  // from sp otherwise moves a register into it.
  if (!StartsWith(operands, "sp,") || mnemonic == "sw" || mnemonic == "mv") return;
  if (!StartsWith(mnemonic, "add") || !std::regex_match(operands, match, kAdjust))
    throw std::runtime_error(fmt::format("{}: a stack frame of no fixed size: {}", name, line));
  if (match[1] == "-") function->frame_bytes += std::stoull(match[2]);
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

Listing ReadListing(std::istream& text) {
  Listing listing;
  std::string name;
  std::smatch match;
  for (std::string line; std::getline(text, line);) {
    if (std::regex_match(line, match, kLabel)) {
      name = match[1];
      listing.functions[name];
    } else if (std::regex_match(line, match, kInstruction)) {
      ReadInstruction(line, match[1], match[2], name, &listing.functions[name]);
    } else if (std::regex_match(line, match, kSymbol)) {
      listing.symbols[match[2]] = std::stoull(match[1], nullptr, 16);
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
