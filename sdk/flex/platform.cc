// SPDX-License-Identifier: Apache-2.0
#include "sdk/flex/platform.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <utility>
#include <variant>

#include "model/contract/memory_map.h"
#include "model/contract/program.h"
#include "sdk/card/environment.h"
#include "sdk/card/open.h"
#include "sdk/flex/activities.h"
#include "sdk/flex/ending_signals.h"
#include "sdk/flex/special_numbers.h"
#include "sdk/host_functions/correction.h"

namespace spyre::sdk {
namespace {

std::mutex opening;  // and of what follows
std::optional<size_t> chosen_device;
std::atomic<Platform*> platform = nullptr;

constexpr uint32_t kStreams = 65;  // that a context has at most

// Also where the program ends by _exit, if libspyre_exit.so is there (sdk/exit/exit.cc).
void FinishBeforeExit(void (*finish)()) {
  using Register = void (*)(void (*)());
  const auto tell = reinterpret_cast<Register>(dlsym(RTLD_DEFAULT, "spyre_before_exit"));
  if (tell != nullptr) tell(finish);
}

// "its arguments: 0 has 16384 bytes at 0x0, 1 at 0x1000 is no memory that the program has".
std::string ArgumentsText(const std::vector<TensorMemory>& arguments) {
  std::string text = "its arguments:";
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TensorMemory& argument = arguments[i];
    text += i == 0 ? " " : ", ";
    text += argument.bytes == 0
                ? fmt::format("{} at {:#x} is no memory that the program has", i, argument.address)
                : fmt::format("{} has {} bytes at {:#x}", i, argument.bytes, argument.address);
  }
  return text;
}

}  // namespace

Platform::Platform(std::unique_ptr<ProgramCard> card, bool reports)
    : card_(std::move(card)),
      reports_(reports),
      process_(getpid()),
      context_(std::make_unique<flex::RuntimeContext>(card_->transport(), card_->function(),
                                                      card_->options())) {
  SetPhysicalAddresses(context_->is_physical());
  ::flex::activity::Recorder::Get().Attach(*context_);
}

Platform& Platform::Get() {
  if (Platform* const opened = platform) return *opened;
  const std::lock_guard<std::mutex> lock(opening);
  if (platform == nullptr) {
    const CardRequest request = RequestOfEnvironment(chosen_device.value_or(LocalRank()));
    platform = new Platform(OpenCard(request), !request.out.empty());
    std::atexit(FinishAtExit);
    // Who serves the card is to know that the program has ended, and has not died.
    if (!request.out.empty() || platform.load()->card_->mail() != nullptr) {
      FinishOnSignals(FinishAtExit);
      FinishBeforeExit(FinishAtExit);
    }
  }
  return *platform;
}

void Platform::ChooseDevice(size_t device) {
  const std::lock_guard<std::mutex> lock(opening);
  chosen_device = device;
}

Platform* Platform::Opened() {
  Platform* const opened = platform;
  return opened == nullptr || opened->finished_ ? nullptr : opened;
}

flex::RuntimeContext& Platform::context() {
  if (finished_) throw BadInput("the card is closed: the program is at its end");
  if (getpid() != process_) {
    throw BadInput(
        "process {} uses the card that process {}, which it was forked from, has opened; start it "
        "with the method 'spawn', or use the card in one of the two only",
        getpid(), process_);
  }
  return *context_;
}

flex::DeviceHandle Platform::HandleOf(const ::flex::Chunk& chunk) const {
  if (context_->is_physical()) return flex::PFDeviceHandle{chunk.addr.offset, 0};
  return flex::VFDeviceHandle{static_cast<uint32_t>(chunk.addr.region_id), chunk.addr.offset, 0};
}

const ::flex::Chunk& Platform::ChunkOf(const ::flex::CompositeAddress* address, const char* what) {
  if (address == nullptr || address->chunks().size() != 1) {
    throw BadInput("{}: memory in one piece is expected, and it has {} pieces", what,
                   address == nullptr ? 0 : address->chunks().size());
  }
  return address->chunks().front();
}

::flex::LogicalAddress Platform::AddressOf(const flex::DeviceHandle& handle) {
  if (const auto* place = std::get_if<flex::VFDeviceHandle>(&handle))
    return {place->region_id, place->vf_offset};
  return {0, std::get<flex::PFDeviceHandle>(handle).physical_address};
}

void Platform::Free(const flex::DeviceHandle& handle) {
  Platform* const opened = Opened();
  if (opened == nullptr || getpid() != opened->process_) return;
  const auto allocation = opened->context_->FindAllocation(handle);
  if (!allocation) return;  // a reset of the card has taken it
  {
    const std::lock_guard<std::mutex> lock(opened->mutex_);
    opened->programs_.erase(allocation->id);
  }
  opened->context_->Free(handle);
}

Platform::Place Platform::PlaceOf(const flex::DeviceHandle& handle) const {
  const auto allocation = context_->FindAllocation(handle);
  if (!allocation) return {};
  return {*allocation, flex::RawOffset(handle) - flex::RawOffset(allocation->handle)};
}

void Platform::NoteProgramCopy(const flex::DeviceHandle& place, const uint8_t* image,
                               uint64_t bytes) {
  const Place at = PlaceOf(place);
  const std::lock_guard<std::mutex> lock(mutex_);
  Program& program = programs_[at.allocation.id];
  program.one_core.clear();
  // Images lie behind each other, each aligned to sticks; what is between or behind them is none.
  for (uint64_t offset = 0; offset + kStickBytes <= bytes; offset += kStickBytes) {
    try {
      const ImageInfo header = ReadImageHeader(image + offset, bytes - offset);
      program.one_core[at.offset + offset] = header.core_mask == 1;
      offset += AlignUp(header.image_bytes, kStickBytes) - kStickBytes;
    } catch (const Error&) {
      continue;
    }
  }
  if (at.offset != 0) return;
  ProgramLoad load;
  load.allocation = flex::RawOffset(at.allocation.handle);
  load.image = image;
  load.bytes = bytes;
  card_->Loaded(load);
}

void Platform::NoteCorrection(const flex::DeviceHandle& place, CorrectedArguments arguments) {
  const Place at = PlaceOf(place);
  const std::lock_guard<std::mutex> lock(mutex_);
  programs_[at.allocation.id].corrected = std::move(arguments);
}

void Platform::CheckWrites(const flex::DeviceHandle& place, const std::string& kernel) const {
  const CorrectedArguments arguments = CorrectedOf(PlaceOf(place));
  for (size_t i = 0; i < arguments.written_bytes.size(); ++i) {
    const TensorMemory memory = MemoryAt(static_cast<uint64_t>(arguments.addresses[i]));
    // Where the program has no memory at all, the card says so.
    if (memory.bytes == 0 || arguments.written_bytes[i] <= memory.bytes) continue;
    throw BadInput(
        "kernel {} is not launched: it writes argument {} as far as byte {}, which has {} bytes "
        "at {:#x}; what lies behind them belongs to other tensors. The bundle's sizes are wrong, "
        "or it was given another tensor than it was compiled for",
        kernel, i, arguments.written_bytes[i], memory.bytes, memory.address);
  }
}

CorrectedArguments Platform::CorrectedOf(const Place& place) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto program = programs_.find(place.allocation.id);
  return program == programs_.end() ? CorrectedArguments() : program->second.corrected;
}

TensorMemory Platform::MemoryAt(uint64_t address) const {
  const uint64_t segment = SegmentOf(address);
  const ::flex::Chunk chunk({segment, context_->is_physical() ? address : SegmentOffset(address)},
                            0, 0);
  const Place place = PlaceOf(HandleOf(chunk));
  return {address, place.allocation.size_bytes - place.offset};
}

Platform::Binary Platform::BinaryAt(const flex::DeviceHandle& place) const {
  const Place at = PlaceOf(place);
  const std::lock_guard<std::mutex> lock(mutex_);
  Binary binary;
  binary.correction = at.offset != 0;
  const auto program = programs_.find(at.allocation.id);
  if (program == programs_.end()) return binary;
  const auto image = program->second.one_core.find(at.offset);
  binary.one_core = image != program->second.one_core.end() && image->second;
  return binary;
}

void Platform::NoteLaunch(const flex::DeviceHandle& place, const std::string& name, uint32_t stream,
                          uint64_t number, uint64_t correlation,
                          const std::vector<uint64_t>& tensors) {
  const Place at = PlaceOf(place);
  ProgramLaunch launch;
  launch.number = number;
  launch.correlation = correlation;
  launch.name = name;
  launch.allocation = flex::RawOffset(at.allocation.handle);
  launch.offset = at.offset;
  launch.correction = at.offset != 0;
  launch.stream = stream;
  std::vector<uint64_t> addresses = tensors;
  if (addresses.empty()) {
    const CorrectedArguments corrected = CorrectedOf(at);
    addresses.assign(corrected.addresses.begin(), corrected.addresses.end());
  }
  for (const uint64_t address : addresses) launch.arguments.push_back(MemoryAt(address));
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!launch.correction) {
    Program& program = programs_[at.allocation.id];
    program.launch = number;
    program.arguments = launch.arguments;
  }
  card_->Launched(launch);
}

void Platform::NoteConversion(const DataConversion& conversion, bool to_card, const void* host) {
  if (!reports_) return;
  ProgramCopy copy;
  copy.to_card = to_card;
  copy.special = CountSpecialNumbers(conversion, /*source=*/to_card, host);
  const std::lock_guard<std::mutex> lock(mutex_);
  card_->Converted(copy);
}

Error Platform::Explained(const Error& error) const {
  for (uint32_t stream = 0; stream < kStreams; ++stream) {
    const auto failed = context_->ErrorOf(stream);
    if (!failed || failed->operation.tag == 0) continue;
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [id, program] : programs_) {
      if (program.launch == failed->operation.tag && !program.arguments.empty())
        return DeviceFault("{}; {}", error.what(), ArgumentsText(program.arguments));
    }
  }
  return error;
}

void Platform::Recover(const Error& error) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    card_->Failed(error.what());
  }
  try {
    context_->Synchronize();  // what other streams do comes to its end
  } catch (const Error&) {
    // It is being told, or is of a stream that will be told by its own next call.
  }
  try {
    context_->Reset();
  } catch (const Error&) {
    lost_ = true;
  }
}

void Platform::FinishAtExit() {
  if (Platform* const opened = Opened()) opened->Finish();
}

void Platform::Finish() {
  if (getpid() != process_) return;
  try {
    context_->Synchronize();
  } catch (const std::exception& error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    card_->Failed(error.what());
  }
  const auto lock = context_->Lock();  // a program that is ended by a signal goes on meanwhile
  if (finished_.exchange(true)) return;
  card_->Finish(*context_);
}

}  // namespace spyre::sdk
