// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/json_text.h"

namespace spyre::cosim {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr std::chrono::milliseconds kLongestUnsynced{100};
constexpr uint64_t kMostBytes = 4ull << 30;  // a million points of 4 KiB

Json HeaderJson(const JournalHeader& header) {
  return {{"journal", kFormat},
          {"sweep", header.digest},
          {"points", header.points},
          {"build", header.build}};
}

struct Content {
  std::vector<Json> rows;
  uint64_t whole_bytes = 0;  // up to the end of the last whole line
};

void CheckHeader(const std::string& path, const Json& line, const JournalHeader& header) {
  if (!line.is_object() || line.value("journal", 0) != kFormat)
    throw BadInput("{}: this is not the journal of a sweep; use another --out", path);
  if (line.value("sweep", "") != header.digest) {
    throw BadInput(
        "{}: this is the journal of another sweep: its grid or configuration was different; use "
        "another --out, or remove the directory",
        path);
  }
  if (line.value("build", "") != header.build) {
    throw BadInput(
        "{}: its points were run by another build of the program ({}, this is {}); use another "
        "--out, or remove the directory",
        path, line.value("build", ""), header.build);
  }
}

Content ReadContent(const std::string& path, const JournalHeader& header) {
  Content content;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return content;
  const std::string text = ReadFile(path, "journal", kMostBytes);
  uint64_t number = 0;
  for (size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    ++number;
    Json line = JsonIfAny(std::string_view(text).substr(begin, end - begin));
    if (line.is_discarded()) {
      if (end + 1 == text.size()) break;  // torn in a way that left the end of the line
      throw BadInput(
          "{}, line {}: this is not JSON: the journal is damaged; remove the line and "
          "--resume to run its point again",
          path, number);
    }
    if (number == 1) {
      CheckHeader(path, line, header);
    } else {
      content.rows.push_back(std::move(line));
    }
    content.whole_bytes = end + 1;
  }
  return content;
}

}  // namespace

std::vector<Json> ReadJournal(const std::string& path, const JournalHeader& header) {
  return ReadContent(path, header).rows;
}

Journal::Journal(std::string path, const JournalHeader& header) : path_(std::move(path)) {
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) throw BadInput("{}: cannot be written: {}", path_, std::strerror(errno));
  try {
    if (flock(file_, LOCK_EX | LOCK_NB) != 0)
      throw BadInput("{}: another process is running this sweep; wait for it", path_);
    const uint64_t whole = ReadContent(path_, header).whole_bytes;
    if (ftruncate(file_, static_cast<off_t>(whole)) != 0)
      throw BadInput("{}: cannot be shortened: {}", path_, std::strerror(errno));
    if (whole == 0) Append(HeaderJson(header));
  } catch (...) {
    close(file_);
    throw;
  }
}

Journal::~Journal() {
  if (file_ < 0) return;
  fdatasync(file_);
  close(file_);
}

void Journal::CloseInChild() {
  if (file_ >= 0) close(file_);
  file_ = -1;
}

void Journal::Append(const Json& row) {
  const std::string line = PrintableJson(row) + "\n";
  ssize_t written = -1;
  do {
    written = write(file_, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  const auto now = std::chrono::steady_clock::now();
  const bool is_due = now - synced_ > kLongestUnsynced;
  if (is_due) synced_ = now;
  if (written != static_cast<ssize_t>(line.size()) || (is_due && fdatasync(file_) != 0))
    throw BadInput("{}: cannot write all of a result: {}", path_, std::strerror(errno));
}

}  // namespace spyre::cosim
