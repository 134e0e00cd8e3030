// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/error.h"

namespace spyre {

InputFile OpenFile(const std::string& path, const char* what, uint64_t max_bytes) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    throw BadInput("{}: cannot read the {}: {}", path, what, error.message());
  // Opening a pipe would wait for its other end.
  if (!fs::is_regular_file(status)) {
    throw BadInput("{}: cannot read the {}: it is {}", path, what,
                   fs::is_directory(status) ? "a directory" : "not a regular file");
  }
  const uint64_t size = fs::file_size(path, error);
  if (error) throw BadInput("{}: cannot read the {}: {}", path, what, error.message());
  if (size > max_bytes) {
    throw BadInput("{}: {} bytes are too many for a {}; at most {}", path, size, what, max_bytes);
  }
  NoteInput(path);
  InputFile file{std::ifstream(path, std::ios::binary), size};
  if (!file.stream) throw BadInput("{}: cannot read the {}: {}", path, what, std::strerror(errno));
  return file;
}

std::string ReadFile(const std::string& path, const char* what, uint64_t max_bytes) {
  InputFile file = OpenFile(path, what, max_bytes);
  std::string bytes(file.size_bytes, '\0');
  if (!file.stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
    throw BadInput("{}: cannot read the {}: {}", path, what, std::strerror(errno));
  }
  return bytes;
}

LineReader::LineReader(std::istream& in, std::string name, uint64_t max_line_bytes)
    : in_(in), name_(std::move(name)), max_line_bytes_(max_line_bytes), block_(64 << 10, '\0') {}

bool LineReader::Next(std::string& line) {
  line.clear();
  ++number_;
  for (bool ended = false; !ended;) {
    // Stops behind a line end, which it counts, or at the end, or, as a failure, when block_ is
    // full.
    in_.getline(block_.data(), static_cast<std::streamsize>(block_.size()));
    const auto count = static_cast<size_t>(in_.gcount());
    if (in_.bad()) throw BadInput("{}: reading stopped before the end of the file", name_);
    const bool at_end = in_.eof();
    if (at_end && line.empty() && count == 0) return false;
    const bool is_part = in_.fail() && !at_end;
    if (is_part) in_.clear();
    line.append(block_.data(), is_part || at_end ? count : count - 1);
    if (line.size() > max_line_bytes_) {
      throw BadInput("{}: line {} is longer than {} bytes", name_, number_, max_line_bytes_);
    }
    ended = !is_part;
  }
  return true;
}

OutputFile::OutputFile(std::string path, std::string what)
    : path_(std::move(path)), what_(std::move(what)), target_(path_) {
  namespace fs = std::filesystem;
  std::error_code error;
  // The file that a link names is written, and the link stays.
  if (fs::is_symlink(path_, error)) target_ = fs::weakly_canonical(path_, error).string();
  if (target_.empty()) target_ = path_;
  claim_ = std::make_unique<OutputClaim>(target_);
  const bool exists = fs::exists(target_, error);
  written_ = exists && !fs::is_regular_file(target_, error) ? target_ : target_ + ".part";
  errno = 0;
  if (!exists || access(target_.c_str(), W_OK) == 0)
    stream_.open(written_, std::ios::binary | std::ios::trunc);
  if (!stream_.is_open())
    throw BadInput("{}: cannot write the {}: {}", path_, what_, std::strerror(errno));
}

OutputFile::~OutputFile() {
  if (!stream_.is_open()) return;
  stream_.close();
  std::error_code ignored;
  if (written_ != target_) std::filesystem::remove(written_, ignored);
}

void OutputFile::Commit() {
  claim_->Require();
  errno = 0;
  stream_.flush();
  bool good = stream_.good();
  const int reason = errno;
  stream_.close();
  good = good && !stream_.fail();
  std::error_code error;
  if (good && written_ != target_) std::filesystem::rename(written_, target_, error);
  if (good && !error) {
    claim_->Written();
    claim_.reset();
    return;
  }
  // The reason of an earlier write is not known any more.
  const std::string why = error         ? error.message()
                          : reason != 0 ? std::strerror(reason)
                                        : "not all of it fits";
  if (written_ != target_) std::filesystem::remove(written_, error);
  throw BadInput("{}: cannot write the {}: {}", path_, what_, why);
}

// Empties the file when the first bytes come.
class GrowingFile::Buffer : public std::filebuf {
 public:
  Buffer(std::string path, const OutputClaim& claim) : path_(std::move(path)), claim_(claim) {}

 protected:
  int_type overflow(int_type c) override {
    if (c != traits_type::eof()) Begin();
    return std::filebuf::overflow(c);
  }
  std::streamsize xsputn(const char* data, std::streamsize size) override {
    if (size > 0) Begin();
    return std::filebuf::xsputn(data, size);
  }

 private:
  void Begin() {
    if (begun_) return;
    claim_.Require();  // the stream is bad then
    begun_ = true;
    std::error_code ignored;  // devices and pipes have no size
    std::filesystem::resize_file(path_, 0, ignored);
  }

  const std::string path_;
  const OutputClaim& claim_;
  bool begun_ = false;
};

GrowingFile::GrowingFile(const std::string& path, const char* what)
    : claim_(path), buffer_(std::make_unique<Buffer>(path, claim_)), stream_(nullptr) {
  errno = 0;
  if (buffer_->open(path, std::ios::out | std::ios::app | std::ios::binary) == nullptr)
    throw BadInput("{}: cannot write the {}: {}", path, what, std::strerror(errno)).Subject(path);
  stream_.rdbuf(buffer_.get());
}

GrowingFile::~GrowingFile() {
  stream_.flush();
  claim_.Written();
}

std::ostream& GrowingFile::stream() { return stream_; }

void WriteFile(const std::string& path, std::string_view bytes, const std::string& what) {
  OutputFile file(path, what);
  file.stream().write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.Commit();
}

ScratchDirectory::ScratchDirectory(const std::string& purpose)
    : path_(std::filesystem::temp_directory_path() / ("spyre-" + purpose + "-XXXXXX")) {
  if (mkdtemp(path_.data()) == nullptr)
    throw BadInput("{}: cannot make the directory: {}", path_, std::strerror(errno));
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace spyre
