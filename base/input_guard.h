// SPDX-License-Identifier: Apache-2.0
// No command destroys what it reads. Every file that a process opens for reading is noted
// (OpenFile does it), and every file that it writes is claimed first (OutputFile and GrowingFile do
// it): a claim of a file that was read is refused, and so is reading a file that is claimed. Files
// are the same if device and inode are, by whatever name or link. Any thread.
//
// A file that the process itself has written is not an input: it may be read and written again.
#pragma once

#include <string>

namespace spyre {

// Before `path` is read. Throws Error(kBadInput) if it is claimed.
void NoteInput(const std::string& path);

// `path` is what an earlier process of this command left for this one, which may write it again.
void NoteOwn(const std::string& path);

// That `path` is being written, for as long as it lives.
class OutputClaim {
 public:
  // Throws Error(kBadInput) if `path` is a file that was read.
  explicit OutputClaim(std::string path);
  ~OutputClaim();
  OutputClaim(const OutputClaim&) = delete;
  OutputClaim& operator=(const OutputClaim&) = delete;

  // Before the file is changed: throws Error(kBadInput) if somebody has read it all the same.
  void Require() const;
  // The file has its new content, or some of it: it is this process's own from now on.
  void Written() const;

 private:
  std::string path_;
};

}  // namespace spyre
