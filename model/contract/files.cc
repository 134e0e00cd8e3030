#include "model/contract/files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "model/contract/error.h"

namespace spyre {

std::string ReadFile(const std::string& path, const char* what, uint64_t max_bytes) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    throw BadInput("{}: cannot read the {}: no such file, or no permission", path, what);
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
  std::string bytes(size, '\0');
  std::ifstream in(path, std::ios::binary);
  if (!in.read(bytes.data(), static_cast<std::streamsize>(size))) {
    throw BadInput("{}: cannot read the {}: {}", path, what, std::strerror(errno));
  }
  return bytes;
}

}  // namespace spyre
