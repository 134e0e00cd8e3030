// SPDX-License-Identifier: Apache-2.0
// The structure of the sources: who includes whom, how large folders and files are, and where unit
// tests stand. The build writes folders.txt (spyre_folder in cmake/ProjectOptions.cmake): a line
// for each folder, with the folders that it may include.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/paths.h"

namespace spyre::layout_test {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = SPYRE_SOURCE_DIR;
const std::vector<std::string> kProduct = {"base",  "bringup", "cosim",   "driver", "firmware",
                                           "model", "python",  "runtime", "sdk",    "traces"};
constexpr size_t kMostUnits = 26;
constexpr int kMostLines = 400;

using Arrows = std::map<std::string, std::set<std::string>>;

std::string TextOf(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

Arrows AllowedArrows() {
  Arrows arrows;
  std::ifstream in(SPYRE_BUILD_DIR "/folders.txt");
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    std::istringstream targets(line.substr(colon + 1));
    std::set<std::string>& to = arrows[line.substr(0, colon)];
    for (std::string folder; targets >> folder;) to.insert(folder);
  }
  return arrows;
}

// Paths relative to the root.
std::vector<fs::path> SourcesBelow(const std::string& top, const std::set<std::string>& endings) {
  std::vector<fs::path> sources;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
    if (endings.count(entry.path().extension()) != 0)
      sources.push_back(fs::relative(entry.path(), kRoot));
  }
  std::sort(sources.begin(), sources.end());
  return sources;
}

std::vector<fs::path> ProductSources() {
  std::vector<fs::path> sources;
  for (const std::string& top : kProduct) {
    const auto below = SourcesBelow(top, {".h", ".cc", ".c"});
    sources.insert(sources.end(), below.begin(), below.end());
  }
  return sources;
}

// Files of this project that `source` includes; those that the build makes have no folder but
// model/contract's and model/parameters'.
std::vector<std::string> IncludesOf(const fs::path& source) {
  static const std::regex kInclude("#include [\"<]([^\">]+)[\">]");
  const std::string text = TextOf(kRoot / source);
  std::vector<std::string> includes;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), kInclude);
       it != std::sregex_iterator(); ++it) {
    const std::string name = (*it)[1];
    if (name.rfind("contract/", 0) == 0 || name.rfind("parameters/", 0) == 0) {
      includes.push_back("model/" + name);
    } else if (fs::exists(kRoot / name)) {
      includes.push_back(name);
    }
  }
  return includes;
}

// A cycle of `graph` as "a -> b -> a", "" if there is none.
std::string CycleOf(const Arrows& graph) {
  std::map<std::string, int> state;  // 1: on the way, 2: done
  std::vector<std::string> way;
  std::string cycle;
  const std::function<void(const std::string&)> visit = [&](const std::string& node) {
    if (!cycle.empty() || state[node] == 2) return;
    way.push_back(node);
    if (state[node] == 1) {
      for (auto it = std::find(way.begin(), way.end(), node); it != way.end(); ++it)
        cycle += (cycle.empty() ? "" : " -> ") + *it;
      return;
    }
    state[node] = 1;
    const auto it = graph.find(node);
    if (it != graph.end()) {
      for (const std::string& next : it->second) visit(next);
    }
    state[node] = 2;
    way.pop_back();
  };
  for (const auto& [node, next] : graph) visit(node);
  return cycle;
}

TEST(Layout, AFolderIncludesOnlyTheFoldersThatTheBuildGivesIt) {
  const Arrows allowed = AllowedArrows();
  ASSERT_GT(allowed.size(), 40u) << "folders.txt was not read";
  for (const fs::path& source : ProductSources()) {
    const std::string folder = source.parent_path();
    for (const std::string& include : IncludesOf(source)) {
      const std::string target = fs::path(include).parent_path();
      if (target == folder) continue;
      const auto it = allowed.find(folder);
      // Programs of the build (the generator, the firmware's tools) are not libraries.
      const std::string owner = it == allowed.end() ? folder.substr(0, folder.rfind('/')) : folder;
      const bool may =
          owner == target || (allowed.count(owner) != 0 && allowed.at(owner).count(target) != 0);
      EXPECT_TRUE(may) << source << " includes " << include << ", and the TO line of " << owner
                       << " does not name " << target;
    }
  }
}

TEST(Layout, EveryAllowedArrowIsUsed) {
  Arrows used;
  for (const fs::path& source : ProductSources()) {
    for (const std::string& include : IncludesOf(source))
      used[source.parent_path()].insert(fs::path(include).parent_path());
  }
  for (const auto& [folder, targets] : AllowedArrows()) {
    for (const std::string& target : targets) {
      EXPECT_EQ(used[folder].count(target), 1u)
          << folder << " may include " << target << " and does not; take it out of its TO line";
    }
  }
}

TEST(Layout, NeitherFoldersNorHeadersIncludeEachOtherInCircles) {
  EXPECT_EQ(CycleOf(AllowedArrows()), "");
  Arrows files;
  for (const fs::path& source : ProductSources()) {
    for (const std::string& include : IncludesOf(source)) files[source].insert(include);
  }
  EXPECT_EQ(CycleOf(files), "");
}

TEST(Layout, NoFolderHoldsMoreUnitsThanAReaderTakesInAtOnce) {
  std::map<std::string, std::set<std::string>> units;
  for (const std::string& top : kProduct) {
    for (const fs::path& source : SourcesBelow(top, {".h", ".cc", ".c", ".sv"}))
      units[source.parent_path()].insert(source.stem());
  }
  for (const auto& [folder, names] : units) EXPECT_LE(names.size(), kMostUnits) << folder;
}

TEST(Layout, LongFilesSayWhy) {
  std::vector<std::string> tops = kProduct;
  tops.emplace_back("tests");
  for (const std::string& top : tops) {
    for (const fs::path& source : SourcesBelow(top, {".h", ".cc", ".c", ".sv", ".sh"})) {
      const std::string text = TextOf(kRoot / source);
      const auto lines = std::count(text.begin(), text.end(), '\n');
      EXPECT_TRUE(lines <= kMostLines || text.find("in one file because") != std::string::npos)
          << source << " has " << lines
          << " lines; split it, or say in its header why it is in one file "
          << "because ...";
    }
  }
}

TEST(Layout, AUnitTestStandsAtThePathOfWhatItTests) {
  for (const fs::path& source : SourcesBelow("tests/unit", {".cc"})) {
    const fs::path folder = fs::relative(source.parent_path(), "tests/unit");
    if (folder == "layout") continue;  // of the whole tree
    EXPECT_TRUE(fs::is_directory(kRoot / folder)) << source << " tests no folder " << folder;
  }
}

// The block of docs/architecture.md between the two marks is written by this test:
// SPYRE_UPDATE_DOCS=1.
TEST(Layout, TheDescriptionOfTheArchitectureShowsTheArrowsAsTheyAre) {
  const std::string begin = "<!-- folders: written by tests/unit/layout -->\n";
  const std::string end = "<!-- end of folders -->";
  const fs::path document = kRoot / "docs/architecture.md";
  const std::string text = TextOf(document);
  const size_t from = text.find(begin), to = text.find(end);
  ASSERT_NE(from, std::string::npos) << document << " has no " << begin;
  ASSERT_NE(to, std::string::npos);
  std::string table = "\n| folder | may include |\n|---|---|\n";
  for (const auto& [folder, targets] : AllowedArrows()) {
    table += "| `" + folder + "` |";
    for (const std::string& target : targets)
      table += (target == *targets.begin() ? " `" : ", `") + target + "`";
    table += " |\n";
  }
  const std::string expected = text.substr(0, from + begin.size()) + table + "\n" + text.substr(to);
  if (std::getenv("SPYRE_UPDATE_DOCS") != nullptr) std::ofstream(document) << expected;
  EXPECT_EQ(TextOf(document), expected) << "run again with SPYRE_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace spyre::layout_test
