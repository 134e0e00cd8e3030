// SPDX-License-Identifier: Apache-2.0
// What the card reaches of its client: memory, and interrupts behind what was written to it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cosim/serve/served_function.h"

namespace spyre::cosim {
namespace {

// What may wait for a client that does not read, or answer, before further writes are refused.
constexpr size_t kMaxWaitingBytes = 64 << 20;

}  // namespace

void ServedFunction::SettlePosted() {
  const auto settled = [this](const Posted& write) {
    if (write.answer->here && !write.answer->good && connection_->open())
      Log(fmt::format("the client has refused {} bytes at {:#x} after the card had gone on",
                      write.bytes, write.address));
    return write.answer->here;
  };
  posted_.erase(std::remove_if(posted_.begin(), posted_.end(), settled), posted_.end());
  if (posted_.empty()) LetHeldGo();
}

void ServedFunction::LetHeldGo() {
  held_bytes_ = 0;
  for (const auto& action : std::exchange(held_, {})) action();
}

void ServedFunction::Raise(unsigned vector) {
  if (posted_.empty()) {
    lines_.Raise(vector);
  } else {
    held_.emplace_back([this, vector] { lines_.Raise(vector); });
  }
}

bool ServedFunction::Allows(uint64_t address, uint64_t bytes, bool write) const {
  return memory_.Allows(address, bytes, write);
}

HostSide::Answer ServedFunction::Read(uint64_t address, uint8_t* data, uint64_t bytes,
                                      std::shared_ptr<model::LateAnswer>* late) {
  using Answer = HostSide::Answer;
  if (connection_ == nullptr || !memory_.Allows(address, bytes, false)) return Answer::kRefused;
  const bool in_files = memory_.InFiles(address, bytes);
  if (in_files && !held_.empty()) {
    *late = std::make_shared<model::LateAnswer>();
    held_.emplace_back([this, address, bytes, answer = *late] {
      answer->data.resize(bytes);
      answer->Come(memory_.Read(address, answer->data.data(), bytes));
    });
    return Answer::kLater;
  }
  if (in_files || waits_for_clients())
    return Peek(address, data, bytes) ? Answer::kDone : Answer::kRefused;
  auto answer = memory_.Ask(address, bytes, *connection_, client_->transfer_bytes);
  connection_->AwaitPrompt(answer->here);
  if (!answer->here) {
    *late = std::move(answer);
    return Answer::kLater;
  }
  if (answer->good) std::copy_n(answer->data.begin(), bytes, data);
  return answer->good ? Answer::kDone : Answer::kRefused;
}

// A write is posted, as on PCIe: a client that does not answer at once holds up nothing.
bool ServedFunction::Write(uint64_t address, const uint8_t* data, uint64_t bytes) {
  if (connection_ == nullptr || !memory_.Allows(address, bytes, true)) return false;
  if (memory_.InFiles(address, bytes)) {
    if (!WriteFiles(address, data, bytes)) return false;
  } else {
    if (connection_->unsent_bytes() > kMaxWaitingBytes) return false;
    auto answer = memory_.Send(address, data, bytes, *connection_, client_->transfer_bytes);
    if (waits_for_clients()) {
      connection_->AwaitWhole(answer->here);
    } else {
      connection_->AwaitPrompt(answer->here);
    }
    if (answer->here && !answer->good) return false;
    if (!answer->here) posted_.push_back({address, bytes, std::move(answer)});
  }
  if (site_.recorder != nullptr) site_.recorder->CardWrote(function(), address, bytes);
  return true;
}

bool ServedFunction::WriteFiles(uint64_t address, const uint8_t* data, uint64_t bytes) {
  if (posted_.empty()) return memory_.Write(address, data, bytes);
  if (held_bytes_ + bytes > kMaxWaitingBytes) return false;
  held_bytes_ += bytes;
  held_.emplace_back([this, address, written = std::string(data, data + bytes)] {
    const auto* from = reinterpret_cast<const uint8_t*>(written.data());
    if (!memory_.Write(address, from, written.size()))
      Log(fmt::format("cannot write {} bytes at {:#x}", written.size(), address));
  });
  return true;
}

bool ServedFunction::Peek(uint64_t address, uint8_t* data, uint64_t bytes) {
  if (connection_ == nullptr) return false;
  if (memory_.InFiles(address, bytes)) return memory_.Read(address, data, bytes);
  const auto answer = memory_.Ask(address, bytes, *connection_, client_->transfer_bytes);
  connection_->AwaitWhole(answer->here);
  if (answer->good) std::copy_n(answer->data.begin(), bytes, data);
  return answer->good;
}

}  // namespace spyre::cosim
