// SPDX-License-Identifier: Apache-2.0
#include "base/input_guard.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"

namespace spyre {
namespace {

using FileId = std::pair<dev_t, ino_t>;

struct Files {
  std::mutex mutex;
  // Each with the path under which it was read or written.
  std::map<FileId, std::string> read;
  std::map<FileId, std::string> written;
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

// Whether `noted` holds the file `id`. The number of a file that is gone may be that of another
// one by now.
bool Holds(const std::map<FileId, std::string>& noted, const FileId& id) {
  const auto found = noted.find(id);
  return found != noted.end() && IdOf(found->second) == id;
}

}  // namespace

void NoteInput(const std::string& path) {
  const std::optional<FileId> id = IdOf(path);
  if (!id) return;
  Files& files = All();
  const std::lock_guard<std::mutex> lock(files.mutex);
  if (Holds(files.written, *id)) return;
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
  files.written[*id] = path;
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
  if (!Holds(files.read, *id)) return;
  throw BadInput("{}: this file is read, and would be overwritten; write to another one", path_)
      .Subject(path_)
      .Value(files.read.at(*id))
      .Remedy("another file");
}

OutputClaim::~OutputClaim() {
  Files& files = All();
  const std::lock_guard<std::mutex> lock(files.mutex);
  files.claimed.erase(std::find(files.claimed.begin(), files.claimed.end(), path_));
}

void OutputClaim::Written() const { NoteOwn(path_); }

}  // namespace spyre
