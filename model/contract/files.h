// Reading input files: whole, regular ones only, bounded. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace spyre {

// The bytes of the regular file at `path`. Throws Error(kBadInput) naming the path and `what` it
// was to be when it is not there, cannot be read, is no regular file (a directory, a device, a
// pipe), or has more than max_bytes.
std::string ReadFile(const std::string& path, const char* what, uint64_t max_bytes);

}  // namespace spyre
