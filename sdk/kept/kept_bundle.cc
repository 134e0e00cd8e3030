// SPDX-License-Identifier: Apache-2.0
#include "sdk/kept/kept_bundle.h"

#include <unistd.h>
#include <xxhash.h>

#include "base/error.h"

namespace spyre::sdk {

namespace fs = std::filesystem;

std::string ProgramDigest(const uint8_t* image, uint64_t bytes) {
  while (bytes > 0 && image[bytes - 1] == 0) --bytes;
  const XXH128_hash_t hash = XXH3_128bits(image, bytes);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

fs::path KeptBundle(const std::string& out, const std::string& digest) {
  return fs::path(out) / "kernels/.compiled" / digest;
}

void CopyBundle(const fs::path& from, const fs::path& to) {
  try {
    fs::create_directories(to);
    for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
      const std::string name = entry.path().filename().string();
      const bool sdsc = name.rfind("sdsc_", 0) == 0 && entry.path().extension() == ".json";
      if (entry.is_regular_file() && (name == "bundle.mlir" || sdsc))
        fs::copy_file(entry.path(), to / name, fs::copy_options::overwrite_existing);
    }
  } catch (const fs::filesystem_error& error) {
    throw BadInput("the bundle {} cannot be kept: {}", from.string(), error.what());
  }
}

void KeepBundle(const fs::path& bundle, const std::string& out, const std::string& digest) {
  const fs::path place = KeptBundle(out, digest);
  std::error_code error;
  if (fs::exists(place, error)) return;
  // Others see it whole or not at all.
  const fs::path draft = fmt::format("{}.{}", place.string(), getpid());
  CopyBundle(bundle, draft);
  fs::rename(draft, place, error);
  if (error) fs::remove_all(draft, error);  // another process was faster
}

}  // namespace spyre::sdk
