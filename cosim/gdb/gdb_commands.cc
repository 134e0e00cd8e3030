// SPDX-License-Identifier: Apache-2.0
#include "cosim/gdb/gdb_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cosim/gdb/gdb_packet.h"

namespace spyre::cosim {
namespace {

using model::DebugTarget;
using Resume = model::Debugger::Resume;
using Stop = model::Debugger::Stop;

// Numbers as GDB knows them, whatever the host's errno and signals are.
constexpr const char* kOk = "OK";
constexpr const char* kNoAccess = "E0e";
constexpr const char* kMalformed = "E16";
constexpr int kSigInt = 2, kSigIll = 4, kSigTrap = 5, kSigBus = 10, kSigSegv = 11;

constexpr unsigned kCoreRegisters = DebugTarget::kPc + 1;  // of the packets g and G
constexpr unsigned kMcause = 0x342;
constexpr uint32_t kInstructionBytes = 4;  // no compressed instructions

struct CsrName {
  unsigned number;
  const char* name;
};
constexpr CsrName kCsrNames[] = {
    {0x300, "mstatus"},    {0x301, "misa"},     {0x304, "mie"},           {0x305, "mtvec"},
    {0x306, "mcounteren"}, {0x310, "mstatush"}, {0x320, "mcountinhibit"}, {0x340, "mscratch"},
    {0x341, "mepc"},       {0x342, "mcause"},   {0x343, "mtval"},         {0x344, "mip"},
    {0xb00, "mcycle"},     {0xb02, "minstret"}, {0xb80, "mcycleh"},       {0xb82, "minstreth"},
    {0xc00, "cycle"},      {0xc01, "time"},     {0xc02, "instret"},       {0xc80, "cycleh"},
    {0xc81, "timeh"},      {0xc82, "instreth"}, {0xf11, "mvendorid"},     {0xf12, "marchid"},
    {0xf13, "mimpid"},     {0xf14, "mhartid"},  {0xf15, "mconfigptr"},
};

// Walks over the arguments of a packet. A call that does not find what it wants returns false.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  std::string_view rest() const { return text_; }
  bool Done() const { return text_.empty(); }
  bool Skip(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  // One to eight digits, most significant first.
  bool Number(uint32_t* value) {
    size_t digits = 0;
    uint32_t number = 0;
    while (digits < text_.size() && HexDigit(static_cast<uint8_t>(text_[digits])) >= 0) {
      number = number * 16 + static_cast<uint32_t>(HexDigit(static_cast<uint8_t>(text_[digits])));
      ++digits;
    }
    if (digits == 0 || digits > 8) return false;
    text_.remove_prefix(digits);
    *value = number;
    return true;
  }
  // A register as the target's memory would hold it: four bytes, low byte first.
  bool Register(uint32_t* value) {
    std::vector<uint8_t> bytes;
    if (text_.size() < 8 || !Bytes(text_.substr(0, 8), &bytes)) return false;
    text_.remove_prefix(8);
    *value = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<uint32_t>(bytes[3]) << 24;
    return true;
  }
  // Two digits a byte, nothing else.
  static bool Bytes(std::string_view text, std::vector<uint8_t>* bytes) {
    if (text.size() % 2 != 0) return false;
    for (size_t i = 0; i < text.size(); i += 2) {
      const int high = HexDigit(static_cast<uint8_t>(text[i]));
      const int low = HexDigit(static_cast<uint8_t>(text[i + 1]));
      if (high < 0 || low < 0) return false;
      bytes->push_back(static_cast<uint8_t>(high * 16 + low));
    }
    return true;
  }

 private:
  std::string_view text_;
};

std::string HexOfRegister(DebugTarget& target, unsigned number) {
  uint32_t value = 0;
  if (!target.ReadRegister(number, &value)) return "xxxxxxxx";
  return fmt::format("{:08x}", __builtin_bswap32(value));
}

std::string ReadRegisters(DebugTarget& target) {
  std::string all;
  for (unsigned i = 0; i < kCoreRegisters; ++i) all += HexOfRegister(target, i);
  return all;
}

std::string WriteRegisters(std::string_view arguments, DebugTarget& target) {
  Cursor cursor(arguments);
  uint32_t values[kCoreRegisters];
  for (uint32_t& value : values) {
    if (!cursor.Register(&value)) return kMalformed;
  }
  if (!cursor.Done()) return kMalformed;
  for (unsigned i = 1; i < kCoreRegisters; ++i) {  // x0 stays what it is
    if (!target.WriteRegister(i, values[i])) return kNoAccess;
  }
  return kOk;
}

std::string ReadRegister(std::string_view arguments, DebugTarget& target) {
  Cursor cursor(arguments);
  uint32_t number = 0;
  if (!cursor.Number(&number) || !cursor.Done()) return kMalformed;
  uint32_t value = 0;
  if (!target.ReadRegister(number, &value)) return kNoAccess;
  return HexOfRegister(target, number);
}

std::string WriteRegister(std::string_view arguments, DebugTarget& target) {
  Cursor cursor(arguments);
  uint32_t number = 0, value = 0;
  if (!cursor.Number(&number) || !cursor.Skip('=') || !cursor.Register(&value) || !cursor.Done())
    return kMalformed;
  return target.WriteRegister(number, value) ? kOk : kNoAccess;
}

bool AddressAndLength(Cursor& cursor, uint32_t* address, uint32_t* length) {
  return cursor.Number(address) && cursor.Skip(',') && cursor.Number(length);
}

std::string ReadMemory(std::string_view arguments, DebugTarget& target) {
  Cursor cursor(arguments);
  uint32_t address = 0, length = 0;
  if (!AddressAndLength(cursor, &address, &length) || !cursor.Done()) return kMalformed;
  // A shorter answer is allowed: GDB asks again for the rest.
  std::vector<uint8_t> data(std::min<size_t>(length, kGdbPacketBytes / 2));
  if (!target.ReadMemory(address, data.data(), data.size())) return kNoAccess;
  std::string text;
  for (const uint8_t byte : data) text += fmt::format("{:02x}", byte);
  return text;
}

std::string WriteMemory(std::string_view arguments, bool binary, DebugTarget& target) {
  Cursor cursor(arguments);
  uint32_t address = 0, length = 0;
  if (!AddressAndLength(cursor, &address, &length) || !cursor.Skip(':')) return kMalformed;
  std::vector<uint8_t> data;
  if (binary) {
    data.assign(cursor.rest().begin(), cursor.rest().end());
  } else if (!Cursor::Bytes(cursor.rest(), &data)) {
    return kMalformed;
  }
  if (data.size() != length) return kMalformed;
  return target.WriteMemory(address, data.data(), data.size()) ? kOk : kNoAccess;
}

// The registers that this target has, in the words of GDB's RISC-V features.
std::string TargetDescription(DebugTarget& target) {
  std::string xml =
      "<?xml version=\"1.0\"?>\n<!DOCTYPE target SYSTEM \"gdb-target.dtd\">\n"
      "<target version=\"1.0\">\n<architecture>riscv:rv32</architecture>\n"
      "<feature name=\"org.gnu.gdb.riscv.cpu\">\n";
  for (unsigned i = 0; i < 32; ++i)
    xml += fmt::format("<reg name=\"x{}\" bitsize=\"32\" type=\"int\" regnum=\"{}\"/>\n", i, i);
  xml += fmt::format("<reg name=\"pc\" bitsize=\"32\" type=\"code_ptr\" regnum=\"{}\"/>\n",
                     DebugTarget::kPc);
  xml += "</feature>\n<feature name=\"org.gnu.gdb.riscv.csr\">\n";
  for (const CsrName& csr : kCsrNames) {
    uint32_t value = 0;
    if (!target.ReadRegister(DebugTarget::kCsr + csr.number, &value)) continue;
    xml += fmt::format("<reg name=\"{}\" bitsize=\"32\" type=\"int\" regnum=\"{}\"/>\n", csr.name,
                       DebugTarget::kCsr + csr.number);
  }
  return xml + "</feature>\n</target>\n";
}

// One piece of an object that GDB reads: "offset,length".
std::string Piece(const std::string& object, std::string_view arguments) {
  Cursor cursor(arguments);
  uint32_t offset = 0, length = 0;
  if (!AddressAndLength(cursor, &offset, &length) || !cursor.Done()) return kMalformed;
  if (offset >= object.size()) return "l";
  const size_t bytes = std::min<size_t>(length, kGdbPacketBytes / 2);
  const bool last = object.size() - offset <= bytes;
  return (last ? "l" : "m") + object.substr(offset, bytes);
}

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string Query(std::string_view text, DebugTarget& target) {
  if (TakePrefix(text, "qXfer:features:read:target.xml:"))
    return Piece(TargetDescription(target), text);
  if (TakePrefix(text, "qXfer:features:read:")) return "E00";  // no such annex
  if (TakePrefix(text, "qSupported")) {
    return fmt::format(
        "PacketSize={:x};QStartNoAckMode+;qXfer:features:read+;vContSupported+;swbreak+;hwbreak+",
        kGdbPacketBytes);
  }
  if (text == "qC") return "QC1";  // one thread, number 1
  if (text == "qfThreadInfo") return "m1";
  if (text == "qsThreadInfo") return "l";
  if (text == "qAttached") return "1";  // GDB detaches when it quits
  if (TakePrefix(text, "qSymbol:")) return kOk;
  return "";
}

int SignalOf(DebugTarget& target, Stop why) {
  if (why == Stop::kInterrupt) return kSigInt;
  uint32_t cause = 0;
  if (why != Stop::kTrap || !target.ReadRegister(DebugTarget::kCsr + kMcause, &cause))
    return kSigTrap;
  switch (cause) {  // the privileged architecture's exception codes
    case 0:         // misaligned: instruction, load, store
    case 4:
    case 6:
      return kSigBus;
    case 1:  // access fault: instruction, load, store
    case 5:
    case 7:
      return kSigSegv;
    case 2:
      return kSigIll;
    default:
      return kSigTrap;
  }
}

}  // namespace

const std::string& GdbCommands::Stopped(DebugTarget& target, Stop why) {
  stop_reply_ = fmt::format("T{:02x}thread:1;", SignalOf(target, why));
  return stop_reply_;
}

void GdbCommands::ClearBreakpoints(DebugTarget& target) {
  for (const uint32_t address : breakpoints_) target.ClearBreakpoint(address);
  breakpoints_.clear();
}

// "type,address,kind", and maybe conditions, which GDB evaluates itself, since this server does not
// offer to.
std::string GdbCommands::Breakpoint(std::string_view arguments, bool set, DebugTarget& target) {
  Cursor cursor(arguments);
  uint32_t type = 0, address = 0, kind = 0;
  if (!cursor.Number(&type) || !cursor.Skip(',') || !AddressAndLength(cursor, &address, &kind))
    return kMalformed;
  if (type > 1) return "";  // watchpoints
  if (!cursor.Done() || address % kInstructionBytes != 0) return kMalformed;
  if (set) {
    breakpoints_.insert(address);
    target.SetBreakpoint(address);
  } else {
    breakpoints_.erase(address);
    target.ClearBreakpoint(address);
  }
  return kOk;
}

// c, s with an address to go on from, or none; C, S with a signal, which no bare processor takes.
GdbCommands::Reply GdbCommands::Continue(std::string_view arguments, char action,
                                         DebugTarget& target) {
  Cursor cursor(arguments);
  uint32_t signal = 0, address = 0;
  const bool has_signal = action == 'C' || action == 'S';
  if (has_signal && !cursor.Number(&signal)) return {kMalformed, {}};
  const bool has_address = has_signal ? cursor.Skip(';') : !cursor.Done();
  if (has_address && !cursor.Number(&address)) return {kMalformed, {}};
  if (!cursor.Done()) return {kMalformed, {}};
  if (has_address && !target.WriteRegister(DebugTarget::kPc, address)) return {kNoAccess, {}};
  const bool step = action == 's' || action == 'S';
  return {{}, step ? Resume::kStep : Resume::kContinue};
}

GdbCommands::Reply GdbCommands::Handle(const std::string& packet, DebugTarget& target) {
  if (packet.empty()) return {"", {}};
  std::string_view arguments(packet);
  if (TakePrefix(arguments, "vCont?")) return {"vCont;c;C;s;S", {}};
  if (TakePrefix(arguments, "vCont;")) {
    // There is one thread, so the first action is the one that counts.
    const std::string_view action = arguments.substr(0, arguments.find_first_of(":;"));
    if (action.empty() || std::string_view("cCsS").find(action[0]) == std::string_view::npos)
      return {kMalformed, {}};
    return Continue(action.substr(1), action[0], target);
  }
  arguments.remove_prefix(1);
  switch (packet[0]) {
    case '?':
      return {stop_reply_, {}};
    case 'g':
      return {ReadRegisters(target), {}};
    case 'G':
      return {WriteRegisters(arguments, target), {}};
    case 'p':
      return {ReadRegister(arguments, target), {}};
    case 'P':
      return {WriteRegister(arguments, target), {}};
    case 'm':
      return {ReadMemory(arguments, target), {}};
    case 'M':
    case 'X':
      return {WriteMemory(arguments, packet[0] == 'X', target), {}};
    case 'Z':
    case 'z':
      return {Breakpoint(arguments, packet[0] == 'Z', target), {}};
    case 'c':
    case 'C':
    case 's':
    case 'S':
      return Continue(arguments, packet[0], target);
    case 'H':  // there is one thread to choose
    case 'T':
      return {kOk, {}};
    case 'q':
      return {Query(packet, target), {}};
    case 'D':
    case 'k':  // a card is not killed by its debugger: it goes on alone
      ClearBreakpoints(target);
      if (packet[0] == 'k') return {{}, Resume::kDetach};
      return {kOk, Resume::kDetach};
    default:
      return {"", {}};
  }
}

}  // namespace spyre::cosim
