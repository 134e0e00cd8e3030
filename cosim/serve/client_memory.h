// SPDX-License-Identifier: Apache-2.0
// The memory that one client lets the card reach: windows of its IO address space, each a part of a
// file that the client has sent, or (without a file) reached by messages to the client.
//
// Files are read and written, not mapped: a client that shortens its file under us gets a DMA fault
// and nothing else. Kernel thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/descriptor.h"
#include "driver/vfio_user_protocol.h"
#include "model/common/transfer.h"

namespace spyre::cosim {

class Connection;

class ClientMemory {
 public:
  static constexpr size_t kMaxWindows = 65535;  // what the specification says without max_dma_maps
  static constexpr size_t kMaxFiles = 64;       // of different identity

  // Gives 0 or an errno: EINVAL, EEXIST (overlaps a window), ENOSPC (too many windows), EMFILE (too
  // many files), EACCES (the file does not allow it).
  int Map(const driver::vfio_user::DmaMap& window, std::vector<Descriptor> descriptors);
  // Removes all windows in the range, as a container of Linux (VFIO_TYPE1v2_IOMMU) does: a range
  // may cover any number of windows, and none, but a range that would cut a window in two is
  // refused as a whole. Gives 0 or EINVAL. `range.size` becomes the number of bytes that were
  // mapped there, and `removed` the addresses of the windows. No access is in flight when this
  // returns: those of files are made one at a time on the same thread, and what the client has been
  // asked for there is refused.
  int Unmap(driver::vfio_user::DmaUnmap& range, std::vector<uint64_t>& removed);
  void Clear() { windows_.clear(); }
  size_t windows() const { return windows_.size(); }

  // [address, address + bytes) may lie in several windows that touch. bytes > 0.
  bool Allows(uint64_t address, uint64_t bytes, bool write) const;
  // Whether all of it lies in windows with files.
  bool InFiles(uint64_t address, uint64_t bytes) const;
  // These four do not ask what is allowed. Only if InFiles:
  bool Read(uint64_t address, uint8_t* data, uint64_t bytes) const;
  bool Write(uint64_t address, const uint8_t* data, uint64_t bytes) const;
  // Asks the client for what is not in files; messages carry at most `message_bytes`. The answer
  // may be here at once. It is a refusal, at the latest, when a window in which it lies is removed.
  std::shared_ptr<model::LateAnswer> Ask(uint64_t address, uint64_t bytes, Connection& client,
                                         uint64_t message_bytes);
  // The same for a write: sends what is not in files. The answer has no data.
  std::shared_ptr<model::LateAnswer> Send(uint64_t address, const uint8_t* data, uint64_t bytes,
                                          Connection& client, uint64_t message_bytes) const;

  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (const auto& [address, window] : windows_) visit(address, window.size);
  }

 private:
  struct File {
    Descriptor descriptor;
    dev_t device = 0;
    ino_t inode = 0;
    int access = 0;  // O_RDONLY, O_WRONLY, O_RDWR
  };
  struct Window {
    uint64_t size = 0;
    uint32_t flags = 0;
    uint64_t offset = 0;
    std::shared_ptr<File> file;  // null: by messages
  };
  using Windows = std::map<uint64_t, Window>;  // by address

  Windows::const_iterator Find(uint64_t address) const;
  // move(window, offset in its file, bytes before it, bytes) for each window in turn.
  template <typename Move>
  bool ForPieces(uint64_t address, uint64_t bytes, const Move& move) const;
  int Adopt(Descriptor descriptor, const driver::vfio_user::DmaMap& window, Window& result);

  struct Asked {
    uint64_t address, bytes;
    std::weak_ptr<model::LateAnswer> answer;
  };

  Windows windows_;
  std::vector<Asked> asked_;
  std::vector<std::weak_ptr<File>> files_;
};

}  // namespace spyre::cosim
