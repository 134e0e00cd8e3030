// SPDX-License-Identifier: Apache-2.0
// SDSC files read and written again: nothing of them is lost.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/json_text.h"
#include "runtime/compiler/bundle/bundle.h"
#include "tests/paths.h"

namespace spyre::compiler::sdsc_json_test {
namespace {

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Every SDSC file below a directory of test data; returns how many.
int ExpectWrittenAsRead(const std::string& below, BundleDialect dialect) {
  int files = 0;
  const auto root = std::filesystem::path(SPYRE_SOURCE_DIR) / "tests/data" / below;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("sdsc_", 0) != 0 || entry.path().extension() != ".json") continue;
    const std::string text = ReadText(entry.path());
    const auto expected = SortedJsonOf(text);
    const auto actual =
        SortedJsonOf(ToSdscJson(ParseSuperDsc(text, entry.path().string()), dialect));
    EXPECT_EQ(actual, expected) << entry.path() << ":\n"
                                << nlohmann::json::diff(expected, actual).dump(1);
    ++files;
  }
  return files;
}

TEST(ToSdscJson, WritesEverySampleAsItWasRead) {
  EXPECT_GE(ExpectWrittenAsRead("bundles/symbolic_constants", BundleDialect::kSymbolicConstants),
            11);
  EXPECT_GE(ExpectWrittenAsRead("bundles/flat_baked_addresses", BundleDialect::kBakedAddresses),
            28);
  EXPECT_GE(ExpectWrittenAsRead("bundles/symbolic_args", BundleDialect::kSymbolicArguments), 11);
}

TEST(ToSdscJson, WritesEveryCaptureAsItWasRead) {
  EXPECT_EQ(
      ExpectWrittenAsRead("real_bundles/swiglu_512x4096x12800", BundleDialect::kBakedAddresses), 9);
  EXPECT_EQ(ExpectWrittenAsRead("real_bundles/mlp_512x4096x12800_heuristic",
                                BundleDialect::kSymbolicConstants),
            1);
  EXPECT_EQ(ExpectWrittenAsRead("real_bundles/mlp_512x4096x12800_cost_model",
                                BundleDialect::kSymbolicConstants),
            1);
}

}  // namespace
}  // namespace spyre::compiler::sdsc_json_test
