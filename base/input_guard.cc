// SPDX-License-Identifier: Apache-2.0
#include "base/input_guard.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"

namespace spyre {
namespace {

using FileId = std::pair<dev_t, ino_t>;

struct Files {
  std::mutex mutex;
  std::map<FileId, std::string> read;  // by the path under which each was read
  std::set<FileId> written;
  std::vector<std::string> claimed;
};

Files& All() {
  static Files* const files = new Files;  // outlives every other object
  return *files;
}

// Of a regular file; devices and pipes lose nothing.
std::optional<FileId> IdOf(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return FileId(status.st_dev, status.st_ino);
}

}  // namespace

void NoteInput(const std::string& path) {
  const std::optional<FileId> id = IdOf(path);
  if (!id) return;
  Files& files = All();
  const std::lock_guard<std::mutex> lock(files.mutex);
  if (files.written.count(*id) != 0) return;
  files.read[*id] = path;
  for (const std::string& claimed : files.claimed) {
    if (IdOf(claimed) != id) continue;
    throw BadInput("{}: this file is read, and would be overwritten as {}; write to another one",
                   path, claimed)
        .Subject(path)
        .Value(claimed)
        .Remedy("another file");
  }
}

void NoteOwn(const std::string& path) {
  const std::optional<FileId> id = IdOf(path);
  if (!id) return;
  Files& files = All();
  const std::lock_guard<std::mutex> lock(files.mutex);
  files.read.erase(*id);
  files.written.insert(*id);
}

OutputClaim::OutputClaim(std::string path) : path_(std::move(path)) {
  Require();
  Files& files = All();
  const std::lock_guard<std::mutex> lock(files.mutex);
  files.claimed.push_back(path_);
}

void OutputClaim::Require() const {
  const std::optional<FileId> id = IdOf(path_);
  if (!id) return;
  Files& files = All();
  const std::lock_guard<std::mutex> lock(files.mutex);
  const auto found = files.read.find(*id);
  // The number of a file that is gone may be that of another one by now.
  if (found == files.read.end() || IdOf(found->second) != id) return;
  throw BadInput("{}: this file is read, and would be overwritten; write to another one", path_)
      .Subject(path_)
      .Value(found->second)
      .Remedy("another file");
}

OutputClaim::~OutputClaim() {
  Files& files = All();
  const std::lock_guard<std::mutex> lock(files.mutex);
  files.claimed.erase(std::find(files.claimed.begin(), files.claimed.end(), path_));
}

void OutputClaim::Written() const { NoteOwn(path_); }

}  // namespace spyre
