// SPDX-License-Identifier: Apache-2.0
// firmware_budget LISTING: checks and prints the size and the deepest stack of a firmware image, of
// which LISTING is `objdump -t -d`. The linker script defines the limit: __stack_bytes.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>

#include "firmware/tools/stack_depth.h"

int main(int argc, char** argv) try {
  if (argc != 2) throw std::runtime_error("usage: firmware_budget LISTING");
  std::ifstream file(argv[1]);
  if (!file) throw std::runtime_error(fmt::format("cannot read {}", argv[1]));
  const spyre::firmware::Listing listing = spyre::firmware::ReadListing(file);
  const auto depth = spyre::firmware::DeepestStack(listing, "_start");
  const uint64_t limit = listing.symbols.at("__stack_bytes");
  fmt::print("firmware: image {} bytes; deepest stack {} of {} bytes: {}\n",
             listing.symbols.at("__image_bytes"), depth.bytes, limit, fmt::join(depth.path, " > "));
  if (depth.bytes > limit) throw std::runtime_error("the stack is too small (link.ld.S)");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "firmware_budget: %s\n", error.what());
  return 1;
}
