// SPDX-License-Identifier: Apache-2.0
#include "cosim/serve/client_memory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cosim/serve/connection.h"

namespace spyre::cosim {
namespace {

using driver::vfio_user::Command;
using driver::vfio_user::DmaAccess;

// Two flags of libvfio-user: how the server is to use the file. Either way it is read and written.
constexpr uint32_t kByMapping = 0x4;
constexpr uint32_t kByFileAccess = 0x8;

bool ReadFileAt(int fd, uint8_t* data, uint64_t bytes, uint64_t offset) {
  while (bytes > 0) {
    const ssize_t n = pread(fd, data, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    offset += static_cast<uint64_t>(n);
    bytes -= static_cast<uint64_t>(n);
  }
  return true;
}

bool WriteFileAt(int fd, const uint8_t* data, uint64_t bytes, uint64_t offset) {
  struct stat status {};
  // Writing must not make the file longer than its owner has it.
  if (fstat(fd, &status) != 0 || offset + bytes > static_cast<uint64_t>(status.st_size))
    return false;
  while (bytes > 0) {
    const ssize_t n = pwrite(fd, data, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    offset += static_cast<uint64_t>(n);
    bytes -= static_cast<uint64_t>(n);
  }
  return true;
}

std::string_view BytesOf(const DmaAccess& access) {
  return {reinterpret_cast<const char*>(&access), sizeof(access)};
}

// A late answer that comes in parts: good if all of them are.
struct Parts {
  std::shared_ptr<model::LateAnswer> whole;
  uint64_t left = 1;  // the last is not the client's
  bool good = true;

  void Come(bool is_good) {
    good &= is_good;
    if (--left == 0) whole->Come(good);
  }
};

// The bytes go to `at` of the answer's data.
void AskFor(Connection& client, const DmaAccess& access, uint64_t at,
            const std::shared_ptr<Parts>& parts) {
  ++parts->left;
  client.Ask(Command::kDmaRead, BytesOf(access),
             [access, at, parts](const std::optional<std::string>& reply) {
               const bool good = reply && reply->size() == sizeof(access) + access.count &&
                                 std::memcmp(reply->data(), &access, sizeof(access)) == 0;
               if (good)
                 std::memcpy(&parts->whole->data[at], &(*reply)[sizeof(access)], access.count);
               parts->Come(good);
             });
}

void SendTo(Connection& client, const DmaAccess& access, const uint8_t* data,
            const std::shared_ptr<Parts>& parts) {
  ++parts->left;
  std::string message(BytesOf(access));
  message.append(reinterpret_cast<const char*>(data), access.count);
  client.Ask(Command::kDmaWrite, message, [access, parts](const std::optional<std::string>& reply) {
    // The specification gives the reply's count 4 bytes, libvfio-user 8.
    parts->Come(reply && reply->size() >= 12 && std::memcmp(reply->data(), &access, 12) == 0);
  });
}

}  // namespace

int ClientMemory::Adopt(Descriptor descriptor, const driver::vfio_user::DmaMap& window,
                        Window& result) {
  struct stat status {};
  const int mode = fcntl(descriptor.get(), F_GETFL);
  if (mode < 0 || fstat(descriptor.get(), &status) != 0 || !S_ISREG(status.st_mode)) return EINVAL;
  const auto length = static_cast<uint64_t>(status.st_size);
  if (window.offset > length || window.size > length - window.offset) return EINVAL;
  const int access = mode & O_ACCMODE;
  const bool writes = (window.flags & driver::vfio_user::kDmaWritable) != 0;
  const bool reads = (window.flags & driver::vfio_user::kDmaReadable) != 0;
  if ((writes && access == O_RDONLY) || (reads && access == O_WRONLY)) return EACCES;
  files_.erase(std::remove_if(files_.begin(), files_.end(),
                              [](const std::weak_ptr<File>& file) { return file.expired(); }),
               files_.end());
  for (const std::weak_ptr<File>& known : files_) {
    const std::shared_ptr<File> file = known.lock();
    if (file->device == status.st_dev && file->inode == status.st_ino && file->access == access) {
      result.file = file;
      return 0;
    }
  }
  if (files_.size() >= kMaxFiles) return EMFILE;
  result.file =
      std::make_shared<File>(File{std::move(descriptor), status.st_dev, status.st_ino, access});
  files_.push_back(result.file);
  return 0;
}

int ClientMemory::Map(const driver::vfio_user::DmaMap& window,
                      std::vector<Descriptor> descriptors) {
  const uint32_t rights = driver::vfio_user::kDmaReadable | driver::vfio_user::kDmaWritable;
  const uint32_t ways = kByMapping | kByFileAccess;
  const uint64_t last = std::numeric_limits<int64_t>::max();  // of file offsets
  if ((window.flags & ~(rights | ways)) != 0 || (window.flags & ways) == ways) return EINVAL;
  if ((window.flags & ways) != 0 && descriptors.empty()) return EINVAL;
  if (window.size == 0 || window.address + (window.size - 1) < window.address ||
      descriptors.size() > 1 || window.offset > last || window.size > last) {
    return EINVAL;
  }
  const uint64_t end = window.address + (window.size - 1);  // inclusive
  const auto above = windows_.upper_bound(end);
  if (above != windows_.begin()) {
    const auto& [address, below] = *std::prev(above);
    if (address + (below.size - 1) >= window.address) return EEXIST;
  }
  if (windows_.size() >= kMaxWindows) return ENOSPC;
  Window added{window.size, window.flags & rights, window.offset, nullptr};
  if (!descriptors.empty()) {
    if (const int error = Adopt(std::move(descriptors[0]), window, added)) return error;
  }
  windows_.emplace(window.address, std::move(added));
  return 0;
}

int ClientMemory::Unmap(driver::vfio_user::DmaUnmap& range, std::vector<uint64_t>& removed) {
  auto first = windows_.begin();
  auto behind = windows_.end();
  if (range.flags == driver::vfio_user::kUnmapAll) {
    if (range.address != 0 || range.size != 0) return EINVAL;
  } else {
    const uint64_t last = range.address + (range.size - 1);  // inclusive
    if (range.flags != 0 || range.size == 0 || last < range.address) return EINVAL;
    const auto cut = [this](uint64_t address) {  // whether a window lies on both sides of it
      const auto found = Find(address);
      return found != windows_.end() && found->first != address;
    };
    if (cut(range.address) || (last != std::numeric_limits<uint64_t>::max() && cut(last + 1)))
      return EINVAL;
    first = windows_.lower_bound(range.address);
    behind = windows_.upper_bound(last);
  }
  range.size = 0;
  for (auto window = first; window != behind; ++window) {
    const auto& [address, here] = *window;
    range.size += here.size;
    removed.push_back(address);
    for (const Asked& asked : asked_) {
      const auto answer = asked.answer.lock();
      if (answer != nullptr && asked.address - address < here.size) answer->Come(false);
      if (answer != nullptr && address - asked.address < asked.bytes) answer->Come(false);
    }
  }
  windows_.erase(first, behind);
  return 0;
}

ClientMemory::Windows::const_iterator ClientMemory::Find(uint64_t address) const {
  const auto above = windows_.upper_bound(address);
  if (above == windows_.begin()) return windows_.end();
  const auto found = std::prev(above);
  return address - found->first < found->second.size ? found : windows_.end();
}

bool ClientMemory::Allows(uint64_t address, uint64_t bytes, bool write) const {
  const uint32_t right = write ? driver::vfio_user::kDmaWritable : driver::vfio_user::kDmaReadable;
  if (bytes == 0 || address + (bytes - 1) < address) return false;
  while (bytes > 0) {
    const auto found = Find(address);
    if (found == windows_.end() || (found->second.flags & right) == 0) return false;
    const uint64_t here = std::min(bytes, found->second.size - (address - found->first));
    address += here;
    bytes -= here;
  }
  return true;
}

template <typename Move>
bool ClientMemory::ForPieces(uint64_t address, uint64_t bytes, const Move& move) const {
  for (uint64_t done = 0; done < bytes;) {
    const auto found = Find(address + done);
    if (found == windows_.end()) return false;
    const auto& [base, window] = *found;
    const uint64_t offset = address + done - base;
    const uint64_t here = std::min(bytes - done, window.size - offset);
    if (!move(window, window.offset + offset, done, here)) return false;
    done += here;
  }
  return true;
}

bool ClientMemory::InFiles(uint64_t address, uint64_t bytes) const {
  return ForPieces(address, bytes, [](const Window& window, uint64_t, uint64_t, uint64_t) {
    return window.file != nullptr;
  });
}

bool ClientMemory::Read(uint64_t address, uint8_t* data, uint64_t bytes) const {
  return ForPieces(address, bytes,
                   [&](const Window& window, uint64_t offset, uint64_t at, uint64_t here) {
                     return ReadFileAt(window.file->descriptor.get(), data + at, here, offset);
                   });
}

std::shared_ptr<model::LateAnswer> ClientMemory::Ask(uint64_t address, uint64_t bytes,
                                                     Connection& client, uint64_t message_bytes) {
  auto answer = std::make_shared<model::LateAnswer>();
  answer->data.resize(bytes);
  const auto parts = std::make_shared<Parts>();
  parts->whole = answer;
  parts->Come(ForPieces(
      address, bytes, [&](const Window& window, uint64_t offset, uint64_t at, uint64_t here) {
        if (window.file != nullptr)
          return ReadFileAt(window.file->descriptor.get(), &answer->data[at], here, offset);
        for (uint64_t done = 0; done < here; done += message_bytes) {
          const DmaAccess access{address + at + done, std::min(here - done, message_bytes)};
          AskFor(client, access, at + done, parts);
        }
        return true;
      }));
  const auto over = [](const Asked& asked) { return asked.answer.expired(); };
  asked_.erase(std::remove_if(asked_.begin(), asked_.end(), over), asked_.end());
  asked_.push_back({address, bytes, answer});
  return answer;
}

bool ClientMemory::Write(uint64_t address, const uint8_t* data, uint64_t bytes) const {
  return ForPieces(address, bytes,
                   [&](const Window& window, uint64_t offset, uint64_t at, uint64_t here) {
                     return WriteFileAt(window.file->descriptor.get(), data + at, here, offset);
                   });
}

std::shared_ptr<model::LateAnswer> ClientMemory::Send(uint64_t address, const uint8_t* data,
                                                      uint64_t bytes, Connection& client,
                                                      uint64_t message_bytes) const {
  auto answer = std::make_shared<model::LateAnswer>();
  const auto parts = std::make_shared<Parts>();
  parts->whole = answer;
  parts->Come(ForPieces(
      address, bytes, [&](const Window& window, uint64_t offset, uint64_t at, uint64_t here) {
        if (window.file != nullptr)
          return WriteFileAt(window.file->descriptor.get(), data + at, here, offset);
        for (uint64_t done = 0; done < here; done += message_bytes) {
          const DmaAccess access{address + at + done, std::min(here - done, message_bytes)};
          SendTo(client, access, data + at + done, parts);
        }
        return true;
      }));
  return answer;
}

}  // namespace spyre::cosim
