// SPDX-License-Identifier: Apache-2.0
// The card of this process with its runtime, opened once and finished when the process ends; and
// what is known of its programs. Any thread.
//
// It is never destroyed: memory and streams that outlive the end of the program find it finished.
// Locks are taken in this order: the runtime's, then the platform's own.
#pragma once

#include <atomic>
#include <cstdint>
#include <flex/flex.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/contract/stick_layout.h"
#include "runtime/flex/runtime_context.h"
#include "sdk/card/program_card.h"
#include "sdk/flex/staging.h"
#include "sdk/host_functions/correction.h"

namespace spyre::sdk {

class Platform {
 public:
  // Opens the card that the environment asks for at the first call. Throws what opening throws,
  // then and at every further call that tries again.
  static Platform& Get();
  // Before the card is opened: which device of the process it is; without, that of LOCAL_RANK.
  static void ChooseDevice(size_t device);
  static Platform* Opened();  // null: not yet, or finished

  // Throws BadInput when the program is at its end.
  flex::RuntimeContext& context();
  StagingPool& staging() { return staging_; }
  RankMail* mail() { return card_->mail(); }  // null: the card is alone
  size_t card_number() const { return card_->number(); }

  flex::DeviceHandle HandleOf(const ::flex::Chunk& chunk) const;
  // The one chunk of the address. BadInput, naming `what`, if it has none or several.
  static const ::flex::Chunk& ChunkOf(const ::flex::CompositeAddress* address, const char* what);
  static ::flex::LogicalAddress AddressOf(const flex::DeviceHandle& handle);
  // Ends an allocation, or does nothing if the program is at its end.
  static void Free(const flex::DeviceHandle& handle);

  // Programs, by the place of their allocation. What was copied there is looked at where it may be
  // a program; corrections: the addresses that a correction input brings.
  void NoteProgramCopy(const flex::DeviceHandle& place, const uint8_t* image, uint64_t bytes);
  void NoteCorrection(const flex::DeviceHandle& place, CorrectedArguments arguments);
  // Throws BadInput if a launch of the program would write behind the memory that one of its
  // arguments has, where other tensors lie. Nothing in the card would notice.
  void CheckWrites(const flex::DeviceHandle& place, const std::string& kernel) const;
  // Of the binary at this place.
  struct Binary {
    bool correction = false;  // it prepares the program at the start of the allocation
    bool one_core = false;    // it runs on core 0 alone
  };
  Binary BinaryAt(const flex::DeviceHandle& place) const;
  // A COMPUTE that has just been enqueued. tensors: as the launch named them.
  void NoteLaunch(const flex::DeviceHandle& place, const std::string& name, uint32_t stream,
                  uint64_t number, uint64_t correlation, const std::vector<uint64_t>& tensors);
  // A conversion that has been carried out, with the host's side of it.
  void NoteConversion(const DataConversion& conversion, bool to_card, const void* host);
  uint64_t NextLaunch() { return ++launches_; }

  // Runs `call`. If the card fails in it, the failure is noted, the card is made usable again, and
  // the error goes on to the caller.
  template <typename Call>
  auto Guarded(const Call& call) -> decltype(call()) {
    try {
      return call();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kDeviceFault) throw;
      const Error explained = Explained(error);
      Recover(explained);
      throw explained;
    }
  }
  bool lost() const { return lost_; }  // no recovery has helped

 private:
  Platform(std::unique_ptr<ProgramCard> card, bool reports);
  // With the arguments of the launch that has failed, if it was one.
  Error Explained(const Error& error) const;
  void Recover(const Error& error);
  void Finish();
  static void FinishAtExit();

  struct Program {
    std::map<uint64_t, bool> one_core;  // offset of a binary -> it runs on core 0 alone
    CorrectedArguments corrected;       // of its last correction input
    uint64_t launch = 0;                // its last one, and what it was given
    std::vector<TensorMemory> arguments;
  };
  struct Place {
    flex::Allocation allocation;
    uint64_t offset = 0;
  };
  Place PlaceOf(const flex::DeviceHandle& handle) const;
  CorrectedArguments CorrectedOf(const Place& place) const;
  // What the program has from this address on; 0 bytes: it is not its memory.
  TensorMemory MemoryAt(uint64_t address) const;

  const std::unique_ptr<ProgramCard> card_;
  const bool reports_;        // somebody will read what is noted
  const int process_;         // that opened the card: children of it have none
  mutable std::mutex mutex_;  // of what follows, and of calls of card_
  std::unique_ptr<flex::RuntimeContext> context_;
  std::map<uint64_t, Program> programs_;  // by Allocation::id
  StagingPool staging_;
  std::atomic<uint64_t> launches_ = 0;
  std::atomic<bool> lost_ = false;
  std::atomic<bool> finished_ = false;
};

}  // namespace spyre::sdk
