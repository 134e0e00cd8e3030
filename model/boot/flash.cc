// SPDX-License-Identifier: Apache-2.0
#include "model/boot/flash.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace spyre::model {
namespace {
constexpr uint8_t kErased = 0xFF;
}  // namespace

Flash::Flash(const std::string& path, uint32_t bytes) : path_(path), contents_(bytes, kErased) {
  if (path.empty()) return;
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) Refuse(std::strerror(errno));
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) Refuse("another card that runs has it");
  struct stat status {};
  if (fstat(file_, &status) != 0) Refuse(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) Refuse("it is not a regular file");
  is_new_ = status.st_size == 0;
  if (is_new_) {
    Store(0, contents_.size());
    return;
  }
  if (static_cast<uint64_t>(status.st_size) != bytes) {
    Refuse(
        fmt::format("it has {} bytes, and the card's flash has {}; name a file that is not there"
                    " to have one made",
                    status.st_size, bytes));
  }
  for (size_t done = 0; done < contents_.size();) {
    const ssize_t count =
        pread(file_, &contents_[done], contents_.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) Refuse(count == 0 ? "it became shorter" : std::strerror(errno));
    done += static_cast<size_t>(count);
  }
}

Flash::~Flash() {
  if (file_ >= 0) close(file_);
}

void Flash::Refuse(const std::string& why) {
  if (file_ >= 0) close(file_);
  file_ = -1;
  throw BadInput("card.management.flash = \"{}\": {}", path_, why)
      .Subject("card.management.flash")
      .Value(path_);
}

bool Flash::IsBlank(uint32_t address, uint32_t bytes) const {
  const auto begin = contents_.begin() + address;
  return std::all_of(begin, begin + bytes, [](uint8_t byte) { return byte == kErased; });
}

void Flash::Do(const FlashOperation& operation) {
  if (!powered_) return;
  size_t bytes = operation.erases() ? kFlashSectorBytes : operation.data.size();
  if (cut_ && operations_ == cut_->at) {
    bytes = bytes * cut_->eighths / 8;
    powered_ = false;
  }
  ++operations_;
  uint8_t* const at = &contents_[operation.address];
  for (size_t i = 0; i < bytes; ++i) {
    at[i] = operation.erases() ? kErased : static_cast<uint8_t>(at[i] & operation.data[i]);
  }
  Store(operation.address, bytes);
}

void Flash::Store(uint32_t address, size_t bytes) {
  if (file_ < 0) return;
  for (size_t done = 0; done < bytes;) {
    const ssize_t count =
        pwrite(file_, &contents_[address + done], bytes - done, static_cast<off_t>(address + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) Refuse(std::strerror(errno));
    done += static_cast<size_t>(count);
  }
}

void Flash::CutPower(uint64_t operations, unsigned eighths) {
  cut_ = Cut{operations_ + operations, eighths};
}

void Flash::RestorePower() {
  powered_ = true;
  cut_.reset();
}

}  // namespace spyre::model
