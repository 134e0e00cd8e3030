// SPDX-License-Identifier: Apache-2.0
#include "model/common/register_file.h"

#include <iterator>
#include <utility>

#include "base/error.h"

namespace spyre::model {
namespace {

using regs::Access;
using regs::kRegisters;

constexpr size_t kCount = std::size(kRegisters);

// Word address to index in kRegisters, -1 where there is none.
const std::vector<int16_t>& WordIndex() {
  static const std::vector<int16_t> index = [] {
    std::vector<int16_t> words(kRegisters[kCount - 1].offset / 4 + 1, -1);
    for (size_t i = 0; i < kCount; ++i) words[kRegisters[i].offset / 4] = static_cast<int16_t>(i);
    return words;
  }();
  return index;
}

}  // namespace

RegisterFile::RegisterFile(bool physical_function)
    : physical_function_(physical_function), values_(kCount), hooks_(kCount) {
  Reset();
}

uint32_t RegisterFile::Read(uint32_t offset) {
  const int index = IndexOf(offset);
  if (index < 0) {
    ++bad_accesses_;
    return 0;
  }
  const Access access = kRegisters[index].access;
  if (access == Access::kWriteOnly) return 0;
  const uint32_t value = Peek(offset);
  if (access == Access::kReadToClear) values_[index] = 0;
  if (const auto& hook = hooks_[index].after_read) hook(value);
  return value;
}

void RegisterFile::Write(uint32_t offset, uint32_t value, unsigned byte_enables) {
  const int index = IndexOf(offset);
  if (index < 0) {
    ++bad_accesses_;
    return;
  }
  uint32_t bytes = 0;
  for (unsigned byte = 0; byte < 4; ++byte) {
    if ((byte_enables >> byte & 1) != 0) bytes |= 0xFFu << (8 * byte);
  }
  const uint32_t reached = kRegisters[index].mask & bytes;
  if (reached == 0) return;
  value &= reached;
  switch (kRegisters[index].access) {
    case Access::kReadOnly:
    case Access::kReadToClear:
      ++bad_accesses_;
      return;
    case Access::kReadWrite:
      value |= values_[index] & ~bytes;
      values_[index] = value;
      break;
    case Access::kWriteOnly:
      values_[index] = value;
      break;
    case Access::kWriteOneToClear:
      values_[index] &= ~value;
      break;
  }
  if (const auto& hook = hooks_[index].on_write) hook(value);
}

void RegisterFile::OnWrite(uint32_t offset, std::function<void(uint32_t)> hook) {
  hooks_[Require(offset)].on_write = std::move(hook);
}

void RegisterFile::OnRead(uint32_t offset, std::function<uint32_t()> hook) {
  hooks_[Require(offset)].on_read = std::move(hook);
}

void RegisterFile::AfterRead(uint32_t offset, std::function<void(uint32_t)> hook) {
  hooks_[Require(offset)].after_read = std::move(hook);
}

bool RegisterFile::Has(uint32_t offset) const { return IndexOf(offset) >= 0; }

uint32_t RegisterFile::Peek(uint32_t offset) const {
  const size_t index = Require(offset);
  const auto& hook = hooks_[index].on_read;
  return hook ? hook() & kRegisters[index].mask : values_[index];
}

void RegisterFile::Poke(uint32_t offset, uint32_t value) {
  const size_t index = Require(offset);
  values_[index] = value & kRegisters[index].mask;
}

void RegisterFile::Reset() {
  for (size_t i = 0; i < kCount; ++i) values_[i] = kRegisters[i].reset;
}

int RegisterFile::IndexOf(uint32_t offset) const {
  const auto& words = WordIndex();
  if (offset % 4 != 0 || offset / 4 >= words.size()) return -1;
  const int index = words[offset / 4];
  if (index >= 0 && kRegisters[index].pf_only && !physical_function_) return -1;
  return index;
}

size_t RegisterFile::Require(uint32_t offset) const {
  const int index = IndexOf(offset);
  if (index < 0) {
    throw InternalError("register file: the {} function has no register at {:#x}",
                        physical_function_ ? "physical" : "virtual", offset);
  }
  return static_cast<size_t>(index);
}

}  // namespace spyre::model
