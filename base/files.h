// SPDX-License-Identifier: Apache-2.0
// Reading input files: whole, regular ones only, bounded; and writing files that are there whole or
// not at all. Any thread.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/input_guard.h"

namespace spyre {

// The largest text that is read: many times what people and compilers write, and little enough that
// what a parser makes of it fits into memory. Readers of what may be larger have a bound of their
// own, and say why.
inline constexpr uint64_t kMaxTextBytes = 16 << 20;

// A regular file that is open for reading.
struct InputFile {
  std::ifstream stream;
  uint64_t size_bytes = 0;
};
// Throws Error(kBadInput) naming the path and `what` it was to be when it is not there, cannot be
// read, is not a regular file (a directory, a device, a pipe), or has more than max_bytes.
InputFile OpenFile(const std::string& path, const char* what, uint64_t max_bytes);
// The same, and all its bytes.
std::string ReadFile(const std::string& path, const char* what, uint64_t max_bytes = kMaxTextBytes);

// The lines of an input of any length, one after the other.
class LineReader {
 public:
  // name: of the input, for messages.
  LineReader(std::istream& in, std::string name, uint64_t max_line_bytes = kMaxTextBytes);
  // false: there is no further line. Throws Error(kBadInput) naming the input and the line if that
  // is longer than max_line_bytes, or if reading stopped before the end.
  bool Next(std::string& line);
  uint64_t number() const { return number_; }  // of the last line, from 1

 private:
  std::istream& in_;
  const std::string name_;
  const uint64_t max_line_bytes_;
  std::string block_;
  uint64_t number_ = 0;
};

// No file that was read is overwritten, and none that is being written is read (input_guard.h).

// A file that is being written, beside the place that it will have. Whoever is interrupted leaves
// the file that was there before, or none. Devices and pipes are written in place.
class OutputFile {
 public:
  // what: "trace", for messages. Throws Error(kBadInput) if it cannot be made.
  OutputFile(std::string path, std::string what);
  ~OutputFile();  // removes what was not committed
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::ostream& stream() { return stream_; }
  // Puts the file in its place. Throws Error(kBadInput) if not all of it could be written. Once.
  void Commit();

 private:
  std::string path_, what_, target_,
      written_;  // written_ is target_ where it is not a regular file
  std::unique_ptr<OutputClaim> claim_;
  std::ofstream stream_;
};

// A file for whoever watches it while it is written: in its place from the beginning. Before the
// first byte it keeps what was there.
class GrowingFile {
 public:
  // Throws Error(kBadInput) naming `what` if it cannot be made.
  GrowingFile(const std::string& path, const char* what);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  std::ostream& stream();

 private:
  class Buffer;
  OutputClaim claim_;
  std::unique_ptr<Buffer> buffer_;
  std::ostream stream_;
};

// The whole of a file by one call.
void WriteFile(const std::string& path, std::string_view bytes, const std::string& what);

// A directory of its own below the system's temporary one, gone with all in it at the end.
class ScratchDirectory {
 public:
  // The purpose is a part of its name. Throws Error(kBadInput) if it cannot be made.
  explicit ScratchDirectory(const std::string& purpose);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace spyre
