// SPDX-License-Identifier: Apache-2.0
// What every parser under libFuzzer promises: hostile input is an Error(kBadInput), never a crash,
// a hang, another exception or a huge allocation.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"

namespace spyre::fuzz {

inline void Require(bool promise, const char* what) {
  if (promise) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

// Runs a parser; anything but success and BadInput stops the fuzzer.
template <typename Parse>
int Try(Parse parse) {
  try {
    parse();
  } catch (const Error& error) {
    Require(error.kind() == ErrorKind::kBadInput, error.what());
  }
  return 0;
}

inline std::string Text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// A file of this process, for parsers that read files themselves.
inline std::filesystem::path Scratch() {
  static const auto directory = [] {
    auto path = std::filesystem::temp_directory_path() /
                ("spyre_fuzz_" + std::to_string(static_cast<long>(getpid())));
    std::filesystem::create_directories(path);
    return path;
  }();
  return directory;
}

inline void Write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace spyre::fuzz
