// SPDX-License-Identifier: Apache-2.0
#include "model/contract/register_file.h"

#include <algorithm>

#include "base/error.h"

namespace spyre::model {

using regs::Access;

Register::Register(RegisterFile* file, uint32_t offset, Access access, uint32_t reset,
                   uint32_t mask)
    : offset_(offset), access_(access), reset_(reset), mask_(mask), value_(reset) {
  if (file != nullptr) file->registers_.push_back(this);
}

uint32_t Register::value() const { return on_read_ ? on_read_() & mask_ : value_; }

void Register::Set(uint32_t value) { value_ = value & mask_; }

uint32_t Register::Read() {
  if (access_ == Access::kWriteOnly) return 0;
  const uint32_t read = value();
  if (access_ == Access::kReadToClear) value_ = 0;
  if (after_read_) after_read_(read);
  return read;
}

bool Register::Write(uint32_t value, unsigned byte_enables) {
  uint32_t bytes = 0;
  for (unsigned byte = 0; byte < 4; ++byte) {
    if ((byte_enables >> byte & 1) != 0) bytes |= 0xFFu << (8 * byte);
  }
  const uint32_t reached = mask_ & bytes;
  if (reached == 0) return true;
  value &= reached;
  switch (access_) {
    case Access::kReadOnly:
    case Access::kReadToClear:
      return false;
    case Access::kReadWrite:
      value |= value_ & ~bytes;
      value_ = value;
      break;
    case Access::kWriteOnly:
      value_ = value;
      break;
    case Access::kWriteOneToClear:
      value_ &= ~value;
      break;
  }
  if (on_write_) on_write_(value);
  return true;
}

void RegisterPair::Set(uint64_t value) {
  low_.Set(static_cast<uint32_t>(value));
  high_.Set(static_cast<uint32_t>(value >> 32));
}

void RegisterPair::OnWrite(const std::function<void(uint32_t)>& hook) {
  low_.OnWrite(hook);
  high_.OnWrite(hook);
}

void RegisterPair::OnRead(const std::function<uint64_t()>& hook) {
  low_.OnRead([hook] { return static_cast<uint32_t>(hook()); });
  high_.OnRead([hook] { return static_cast<uint32_t>(hook() >> 32); });
}

uint32_t RegisterFile::Read(uint32_t offset) {
  Register* const target = Find(offset);
  if (target != nullptr) return target->Read();
  ++bad_accesses_;
  return 0;
}

void RegisterFile::Write(uint32_t offset, uint32_t value, unsigned byte_enables) {
  Register* const target = Find(offset);
  if (target == nullptr || !target->Write(value, byte_enables)) ++bad_accesses_;
}

Register* RegisterFile::Find(uint32_t offset) const {
  const auto at = std::lower_bound(
      registers_.begin(), registers_.end(), offset,
      [](const Register* candidate, uint32_t wanted) { return candidate->offset() < wanted; });
  return at != registers_.end() && (*at)->offset() == offset ? *at : nullptr;
}

Register& RegisterFile::At(uint32_t offset) const {
  Register* const target = Find(offset);
  if (target == nullptr)
    throw InternalError("register file: there is no register at {:#x}", offset);
  return *target;
}

void RegisterFile::Reset() {
  for (Register* const target : registers_) target->Reset();
}

}  // namespace spyre::model
