// SPDX-License-Identifier: Apache-2.0
// A bundle's directory: bundle.mlir with the SuperDSC files that it names, and nothing outside.
#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "base/ranges.h"
#include "runtime/compiler/bundle/bundle.h"
#include "runtime/compiler/bundle/bundle_starts.h"
#include "runtime/compiler/bundle/for_each_execute.h"
#include "runtime/compiler/bundle/padded_products.h"

namespace spyre::compiler {
namespace {

namespace fs = std::filesystem;

constexpr char kMlir[] = "bundle.mlir";
// Loops can be written out: an operation for each iteration.
constexpr uint64_t kMaxMlirBytes = 64ull << 20;
constexpr size_t kMaxFiles = 10'000;

// The number of "sdsc_<number>...json", -1 for other names.
int64_t FileNumber(const fs::path& path) {
  constexpr std::string_view kPrefix = "sdsc_";
  const std::string name = path.filename().string();
  if (name.rfind(kPrefix, 0) != 0 || path.extension() != ".json") return -1;
  int64_t number = -1;
  const char* end = name.data() + name.size();
  const auto result = std::from_chars(name.data() + kPrefix.size(), end, number);
  return result.ec == std::errc{} ? number : -1;
}

// Without bundle.mlir: the files in order of their numbers, one after the other.
Bundle Sequence(const fs::path& directory) {
  std::vector<std::pair<int64_t, std::string>> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const int64_t number = FileNumber(entry.path());
    if (number >= 0) files.emplace_back(number, entry.path().filename().string());
  }
  if (error) throw BadInput("{}: {}", directory.string(), error.message());
  if (files.empty()) {
    throw BadInput("{}: neither {} nor sdsc_<number>.json is in it; is this a bundle's directory?",
                   directory.string(), kMlir);
  }
  std::sort(files.begin(), files.end());
  Bundle bundle;
  for (auto& [number, file] : files) {
    BundleExecute execute;
    execute.dsc = static_cast<int>(bundle.files.size());
    bundle.files.push_back(std::move(file));
    bundle.body.emplace_back(std::move(execute));
  }
  return bundle;
}

// Where a file that bundle.mlir names is, if that is in the directory, links followed.
fs::path Inside(const fs::path& directory, const std::string& file) {
  const fs::path name(file);
  const auto refuse = [&](const char* why) -> Error {
    return BadInput("{}: {} '{}'; a path within the bundle's directory is expected",
                    (directory / kMlir).string(), why, file);
  };
  const bool text = AllFit(file, [](char c) { return static_cast<unsigned char>(c) >= ' '; });
  if (!text) throw refuse("a file name with control characters");
  if (name.is_absolute()) throw refuse("the absolute path");
  if (AnyFits(name, [](const fs::path& part) { return part == ".."; })) {
    throw refuse("a path with '..',");
  }
  std::error_code error;
  fs::path path = fs::canonical(directory / name, error);
  if (error) {
    throw BadInput("{}: file '{}': {}", (directory / kMlir).string(), file, error.message());
  }
  const fs::path root = fs::canonical(directory, error);
  const auto [in_root, in_path] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  if (error || in_root != root.end()) throw refuse("a link that leads out of the bundle,");
  return path;
}

// Every symbol that an execute's file uses must be bound by it.
void CheckSymbols(const Bundle& bundle, const std::string& where) {
  ForEachExecute(bundle, [&](const BundleExecute& execute, const auto&) {
    const auto which = static_cast<size_t>(execute.dsc);
    for (const SdscTensor& tensor : bundle.dscs[which].tensors) {
      for (const int64_t id : tensor.start) {
        if (!tensor.symbolic || execute.symbols.count(id) > 0) continue;
        throw BadInput("{}: {} uses symbol {} ({}), which sdsc_execute does not bind in symbol_ids",
                       where, bundle.files[which], id, tensor.name);
      }
    }
  });
}

}  // namespace

bool HasBundleMlir(const fs::path& directory) {
  std::error_code error;
  return !directory.empty() && fs::exists(fs::symlink_status(directory / kMlir, error));
}

Bundle ReadBundle(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    throw BadInput("{}: the directory of a bundle is expected", directory.string());
  }
  const fs::path mlir = directory / kMlir;
  Bundle bundle = HasBundleMlir(directory)
                      ? ParseBundleMlir(ReadFile(Inside(directory, kMlir).string(), "bundle.mlir",
                                                 kMaxMlirBytes),
                                        mlir.string())
                      : Sequence(directory);
  if (bundle.files.empty()) throw BadInput("{}: nothing is executed", mlir.string());
  if (bundle.files.size() > kMaxFiles) {
    throw BadInput("{}: {} files; at most {} are read", mlir.string(), bundle.files.size(),
                   kMaxFiles);
  }
  for (const std::string& file : bundle.files) {
    const std::string text = ReadFile(Inside(directory, file).string(), "SuperDSC file");
    bundle.dscs.push_back(ParseSuperDsc(text, (directory / file).string()));
  }
  size_t executes = 0;
  ForEachExecute(bundle, [&](const auto&, const auto&) { ++executes; });
  if (executes == 0)
    throw BadInput("{}: nothing is executed: every loop has 0 trips or fewer", mlir.string());
  CheckSymbols(bundle, mlir.string());
  ResolvePaddedWalks(bundle);
  bundle.notes = ResolveConversionStarts(bundle);
  for (std::string& line : ResolvePaddedProducts(bundle)) bundle.notes.push_back(std::move(line));
  const fs::path whole = fs::canonical(directory, error);
  bundle.name = whole.filename().string();
  return bundle;
}

}  // namespace spyre::compiler
