// SPDX-License-Identifier: Apache-2.0
#include "cosim/serve/session_recorder.h"

#include <algorithm>
#include <cstdlib>

#include "model/common/transfer.h"
#include "model/pcie/config_layout.h"

namespace spyre::cosim {
namespace {

int BarOf(model::HostAccess::Space space) {
  return space == model::HostAccess::Space::kBar0   ? 0
         : space == model::HostAccess::Space::kBar2 ? 2
                                                    : 4;
}

}  // namespace

// What the recording takes for a card: before the session the card itself; then somebody who gives
// what the card has given already.
class SessionRecorder::Seam : public ObservableTransport {
 public:
  explicit Seam(InProcessTransport& card) : card_(card) {}

  bool live = true;
  uint32_t given = 0;           // to the next read
  uint64_t wait_began_ps = 0;   // of the next wait; 0: now
  driver::WaitResult result{};  // of the next wait
  HostWriteObserver observer;

  uint32_t ConfigRead(driver::FunctionId function, uint32_t offset) override {
    return live ? card_.ConfigRead(function, offset) : given;
  }
  void ConfigWrite(driver::FunctionId function, uint32_t offset, uint32_t value) override {
    if (live) card_.ConfigWrite(function, offset, value);
  }
  uint32_t Read32(driver::FunctionId function, int bar, uint64_t offset) override {
    return live ? card_.Read32(function, bar, offset) : given;
  }
  void Write32(driver::FunctionId function, int bar, uint64_t offset, uint32_t value) override {
    if (live) card_.Write32(function, bar, offset, value);
  }
  driver::IoAddress MapHost(driver::FunctionId function, void* host, size_t size) override {
    return card_.MapHost(function, host, size);
  }
  void MapHostAt(driver::FunctionId function, driver::IoAddress address, void* host,
                 size_t size) override {
    if (live) {
      card_.MapHostAt(function, address, host, size);
      return;
    }
    std::unique_ptr<uint8_t[], Free> memory(static_cast<uint8_t*>(host));
    copies_[{function, address}] = std::move(memory);
  }
  void UnmapHost(driver::FunctionId function, driver::IoAddress address) override {
    if (live) {
      card_.UnmapHost(function, address);
    } else {
      copies_.erase({function, address});
    }
  }
  driver::WaitResult WaitInterrupt(driver::FunctionId function, int vector,
                                   uint64_t deadline_ps) override {
    wait_began_ps = 0;
    return live ? card_.WaitInterrupt(function, vector, deadline_ps) : result;
  }
  // At no price; the recording does not see it.
  uint32_t Peek(driver::FunctionId function, model::HostAccess::Space space, uint64_t offset) {
    uint64_t delay_ps = 0;
    return card_.bridge().Access(function, space, offset, false, 0, &delay_ps);
  }
  uint64_t NowPs() override { return wait_began_ps != 0 ? wait_began_ps : card_.NowPs(); }
  void Advance(uint64_t host_ps) override {
    if (live) card_.Advance(host_ps);
  }
  std::string Diagnose() override { return card_.Diagnose(); }
  void ObserveHostWrites(HostWriteObserver watching) override {
    observer = watching;
    card_.ObserveHostWrites(std::move(watching));
  }

 private:
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };
  InProcessTransport& card_;
  std::map<std::pair<driver::FunctionId, driver::IoAddress>, std::unique_ptr<uint8_t[], Free>>
      copies_;
};

SessionRecorder::SessionRecorder(InProcessTransport& card, const std::string& path,
                                 const std::string& config)
    : seam_(std::make_unique<Seam>(card)),
      recording_(std::make_unique<RecordingTransport>(*seam_, path, config)) {}

SessionRecorder::~SessionRecorder() = default;

void SessionRecorder::BeginSession(ReadMemory read) {
  seam_->live = false;
  recording_->RefreshBy([read = std::move(read)](driver::FunctionId function,
                                                 driver::IoAddress address, uint64_t bytes,
                                                 uint8_t* host) {
    if (bytes > 0) read(function, address, host, bytes);
  });
}

void SessionRecorder::Read(driver::FunctionId function, model::HostAccess::Space space,
                           uint64_t offset, uint32_t value) {
  recording_->AddArrived();
  seam_->given = value;
  if (space == model::HostAccess::Space::kConfig) {
    recording_->ConfigRead(function, static_cast<uint32_t>(offset));
  } else {
    recording_->Read32(function, BarOf(space), offset);
  }
  last_ps_ = model::NowPs();
}

void SessionRecorder::Write(driver::FunctionId function, model::HostAccess::Space space,
                            uint64_t offset, uint32_t word, unsigned enables) {
  recording_->AddArrived();
  const auto at = static_cast<uint32_t>(offset);
  if (enables != 0xF) {
    // The bytes that are not written stay as they are; bits there that a one clears get a zero.
    uint32_t mask = 0;
    for (unsigned i = 0; i < 4; ++i)
      if ((enables >> i & 1) != 0) mask |= 0xFFu << (8 * i);
    uint32_t old = seam_->Peek(function, space, offset);
    if (space == model::HostAccess::Space::kConfig) {
      const model::ConfigLayout& layout =
          function == 0 ? model::PhysicalConfigLayout() : model::VirtualConfigLayout();
      old &= ~layout.clear[at / 4];
    }
    word = (old & ~mask) | (word & mask);
  }
  if (space == model::HostAccess::Space::kConfig) {
    recording_->ConfigWrite(function, at, word);
  } else {
    recording_->Write32(function, BarOf(space), offset, word);
  }
  last_ps_ = model::NowPs();
}

bool SessionRecorder::Map(driver::FunctionId function, driver::IoAddress address, uint64_t bytes) {
  if (bytes > kMaxMappedBytes - mapped_bytes_) return false;
  void* const copy = std::calloc(bytes, 1);  // pages that are never touched cost nothing
  if (copy == nullptr) return false;
  recording_->AddArrived();
  mapped_[{function, address}] = bytes;
  mapped_bytes_ += bytes;
  recording_->MapHostAt(function, address, copy, bytes);
  last_ps_ = model::NowPs();
  return true;
}

void SessionRecorder::Unmap(driver::FunctionId function, driver::IoAddress address) {
  recording_->AddArrived();
  recording_->UnmapHost(function, address);
  mapped_bytes_ -= mapped_[{function, address}];
  mapped_.erase({function, address});
  last_ps_ = model::NowPs();
}

void SessionRecorder::Wait(driver::FunctionId function, unsigned vector, uint64_t begin_ps,
                           uint64_t deadline_ps, driver::WaitResult result) {
  seam_->wait_began_ps = begin_ps;
  seam_->result = result;
  recording_->WaitInterrupt(function, static_cast<int>(vector), deadline_ps);
  last_ps_ = model::NowPs();
}

// Clients work beside each other; a replay has one host, which works for as long as time passed.
void SessionRecorder::Advance(uint64_t begin_ps) {
  const uint64_t now = model::NowPs();
  const uint64_t begin = std::max(begin_ps, last_ps_);
  if (begin < now) recording_->Advance(now - begin);
  last_ps_ = now;
}

void SessionRecorder::CardWrote(driver::FunctionId function, driver::IoAddress address,
                                uint64_t bytes) {
  seam_->observer(function, address, bytes);
}

}  // namespace spyre::cosim
