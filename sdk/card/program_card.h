// SPDX-License-Identifier: Apache-2.0
// ProgramCard: the card of a program that is not ours (a PyTorch script), as the SDK sees it. The
// SDK has the driver and the runtime; what is behind the card's Transport, and what becomes of what
// the program did on it, is behind this interface. Two implementations: the module spyre_card
// (cosim/program) simulates the card in this process and writes the report, the trace and what
// belongs to them; ElsewhereCard (open.h) is a card that is served or in the machine.
//
// Order of calls: OpenCard, then one RuntimeContext on transport(), function() and options(), then
// announcements as the program goes on, then Finish with the context, once, when nothing is
// enqueued any more. The context is destroyed before the card. Threads: the SDK serialises all
// calls of this interface, but not those of the Transport. Announcements move no simulated time.
//
// Errors: Error(kBadInput) from opening for a configuration that is wrong or a directory that
// cannot be written; Finish reports what it could not write on the terminal and does not throw.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/transport.h"
#include "runtime/flex/runtime_context.h"

namespace spyre::sdk {

// What the environment asks for; environment.h reads it.
struct CardRequest {
  std::string config;             // TOML file; "": the card of the defaults
  std::vector<std::string> sets;  // "card.cores=8", as --set of `spyre-cosim run`
  std::string out;                // directory for report.json, trace and kernels; "": no files
  std::string where;              // "": in this process; "vfio-user:DIR"; "vfio:ADDRESS"
  size_t card = 0;                // its number, where several are served
  std::string rank;               // "rank 2": of several programs that have a card each; "": alone
  unsigned ranks = 1;             // on this host, of which each opens a card
  std::string function;           // "pf", "vf" (VF 1); "": as the configuration's key `mode` says
  // The command line of the program, for the report's description.
  std::string program;
  // Bundles are kept in out/kernels, with the arguments of their first launches as far as these
  // have at most so many bytes; empty: no bundles are kept.
  std::optional<uint64_t> keep_bytes;
  // Which launches are compared with the reference: "none", "sample", "full"; only of kept bundles.
  std::string verify = "none";
};

// Bytes that were copied into program memory, to the start of an allocation: a program as its
// compiler wrote it. What `dxp_standalone` made is known by its digest (kept_bundle.h).
struct ProgramLoad {
  uint64_t allocation = 0;  // device virtual address of the program allocation
  const uint8_t* image = nullptr;
  uint64_t bytes = 0;
};

// Tensor memory of the program.
struct TensorMemory {
  uint64_t address = 0;  // device virtual
  uint64_t bytes = 0;    // of the allocation, from that address on
};

// One COMPUTE that has just been enqueued; the card has not seen it yet.
struct ProgramLaunch {
  uint64_t number = 0;       // of the launch: CompletedOperation::tag of its COMPUTE
  uint64_t correlation = 0;  // CompletedOperation::correlation of its COMPUTE
  std::string name;          // as the program names it, up to 255 bytes
  uint64_t allocation = 0;   // ProgramLoad::allocation
  uint64_t offset = 0;       // of the binary in it
  bool correction = false;   // it prepares another program, and is no kernel itself
  uint32_t stream = 0;
  // In the order of the kernel's arguments, as the last correction input gave them; empty if the
  // program was never corrected and no addresses came with the launch.
  std::vector<TensorMemory> arguments;
};

// A copy with conversion.
struct ProgramCopy {
  bool to_card = false;
  uint64_t special = 0;  // infinities and NaN among the host's numbers
};

// How the programs of one host that have a card each tell each other, by their ranks: in the
// cards' simulated time, and at no price. Messages of a sender come in the order in which they were
// posted.
class RankMail {
 public:
  virtual ~RankMail() = default;
  virtual void Post(uint32_t from, uint32_t to, std::string_view message) = 0;
  // Sleeps until one has come for rank `to`; empty: none can come any more.
  struct Mail {
    uint32_t from = 0;
    std::string text;
  };
  virtual std::optional<Mail> Receive(uint32_t to) = 0;
  // A part of what the program did with others, for the trace of the card.
  virtual void Trace(const std::string& part, uint64_t begin_ps, uint64_t end_ps, uint64_t bytes,
                     size_t peer) = 0;
};

class ProgramCard {
 public:
  virtual ~ProgramCard() = default;

  // Null: this card is alone.
  virtual RankMail* mail() { return nullptr; }
  virtual size_t number() const { return 0; }  // of the card among those of the host

  virtual driver::Transport& transport() = 0;
  virtual driver::FunctionId function() const = 0;
  virtual const flex::RuntimeOptions& options() const = 0;

  virtual void Loaded(const ProgramLoad& load) = 0;
  virtual void Launched(const ProgramLaunch& launch) = 0;
  // After its conversion.
  virtual void Converted(const ProgramCopy& copy) = 0;
  // An operation of the program has failed; `what` is what the program is told.
  virtual void Failed(const std::string& what) = 0;

  // The program is at its end, all streams are idle or in error. Writes what CardRequest::out asks
  // for and prints what the user is to see.
  virtual void Finish(flex::RuntimeContext& context) noexcept = 0;
};

// What the module exports.
using OpenModuleCard = void (*)(std::unique_ptr<ProgramCard>& card, const CardRequest& request);

}  // namespace spyre::sdk
