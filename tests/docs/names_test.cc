// SPDX-License-Identifier: Apache-2.0
// What README.md and docs/ point at is there: pages and their headings, files, commands with their
// options, and keys of a configuration.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/docs/page.h"
#include "tests/paths.h"

namespace spyre::docs::names_test {
namespace {

namespace fs = std::filesystem;

const fs::path kSources = SPYRE_SOURCE_DIR;
constexpr const char* kCommands = " COMMAND\n";  // of the usage of one that has them

struct Line {
  std::string text;
  bool code = false;  // inside a fenced block
};

std::vector<Line> LinesOf(const std::string& page) {
  std::istringstream text(ReadFile(kSources / page));
  std::vector<Line> lines;
  bool code = false;
  for (std::string line; std::getline(text, line);) {
    const bool fence = line.rfind("```", 0) == 0;
    if (!fence) lines.push_back({line, code});
    code = code != fence;
  }
  return lines;
}

// The first group of each match.
std::vector<std::string> Matches(const std::string& text, const std::string& pattern) {
  static std::map<std::string, std::regex> compiled;  // which takes longer than most lines
  const auto regex = compiled.try_emplace(pattern, pattern).first;
  std::vector<std::string> matches;
  for (std::sregex_iterator at(text.begin(), text.end(), regex->second), end; at != end; ++at)
    matches.push_back((*at)[1].str());
  return matches;
}

// What stands between backticks in a line of prose.
std::vector<std::string> CodeSpans(const Line& line) {
  return line.code ? std::vector<std::string>{} : Matches(line.text, "`([^`]+)`");
}

// The names that headings get on the hosting site, from which a link can be made.
std::set<std::string> AnchorsOf(const std::string& page) {
  std::set<std::string> anchors;
  for (const Line& line : LinesOf(page)) {
    const size_t hashes = line.text.find_first_not_of('#');
    if (line.code || hashes == 0 || hashes == std::string::npos || line.text[hashes] != ' ')
      continue;
    std::string anchor;
    for (const char letter : line.text.substr(hashes + 1)) {
      if (letter == ' ') anchor += '-';
      if (std::isalnum(letter) != 0 || letter == '-' || letter == '_')
        anchor += static_cast<char>(std::tolower(letter));
    }
    while (!anchors.insert(anchor).second) anchor += "-1";
  }
  return anchors;
}

TEST(Docs, EveryLinkLeadsToAFileAndAHeading) {
  for (const std::string& page : Pages()) {
    for (const Line& line : LinesOf(page)) {
      if (line.code) continue;
      for (const std::string& link : Matches(line.text, "\\]\\(([^)]+)\\)")) {
        if (link.find("://") != std::string::npos) continue;
        const size_t hash = link.find('#');
        const std::string file = link.substr(0, hash);
        const fs::path target =
            (file.empty() ? fs::path(page) : fs::path(page).parent_path() / file)
                .lexically_normal();
        EXPECT_TRUE(fs::exists(kSources / target)) << page << ": " << link;
        if (hash == std::string::npos || target.extension() != ".md") continue;
        EXPECT_EQ(AnchorsOf(target.string()).count(link.substr(hash + 1)), 1u)
            << page << ": " << link << ": there is no such heading";
      }
    }
  }
}

TEST(Docs, TheContentsNameEveryPage) {
  const std::string contents = ReadFile(kSources / "docs/README.md");
  for (const std::string& page : Pages()) {
    const std::string name = fs::path(page).filename().string();
    if (name == "README.md") continue;
    EXPECT_NE(contents.find("(" + name), std::string::npos) << page << " is not in docs/README.md";
  }
}

// Words that people have written: blocks of code, what the program prints, and markers are not
// counted.
int WordsOf(const std::string& page) {
  static const std::regex kMarker("<!--.*?-->");
  int count = 0;
  bool is_printed = false;
  for (const Line& line : LinesOf(page)) {
    if (line.text.rfind("<!-- markdown: ", 0) == 0) is_printed = true;
    if (line.text.rfind("<!-- /markdown", 0) == 0) is_printed = false;
    if (line.code || is_printed) continue;
    std::istringstream words(std::regex_replace(line.text, kMarker, ""));
    for (std::string word; words >> word;) ++count;
  }
  return count;
}

TEST(Docs, APageThatIsReadFromTopToBottomHasAtMost2500Words) {
  // Tables to look something up in, most of them written by tests.
  const std::set<std::string> references = {
      "docs/accuracy.md",      "docs/architecture.md", "docs/configuration-space.md",
      "docs/configuration.md", "docs/documents.md",    "docs/open-questions.md",
      "docs/operations.md",    "docs/registers.md",    "docs/program-format.md"};
  for (const std::string& page : Pages()) {
    if (references.count(page) != 0) continue;
    EXPECT_LE(WordsOf(page), 2500) << page << ": split it by what a reader wants to do";
  }
}

// A path in the sources, also without its ending for a header and its source, with * and <...> for
// any text, or with a line or a member behind it.
bool IsInTheSources(const std::string& path) {
  if (path.find_first_of("*<{") != std::string::npos) return true;
  return fs::exists(kSources / path) || fs::exists(kSources / (path + ".h")) ||
         fs::exists(kSources / (path + ".cc"));
}

TEST(Docs, EveryPathIsThatOfAFile) {
  for (const std::string& page : Pages()) {
    for (const Line& line : LinesOf(page)) {
      for (const std::string& path : Matches(line.text, "(?:^|[^\\w/])(configs/[\\w./-]*\\w)"))
        EXPECT_TRUE(fs::exists(kSources / path)) << page << ": " << path;
      for (const std::string& span : CodeSpans(line)) {
        static const std::regex kPath(
            "(base|cosim|driver|firmware|model|runtime|tests|traces|docs|cmake)/[^ :]+");
        if (std::regex_match(span, kPath)) {
          EXPECT_TRUE(IsInTheSources(span)) << page << ": " << span;
        }
      }
    }
  }
}

// The help of a command: "trace", "summary" for `spyre-cosim trace summary`.
const std::string& HelpOf(const std::string& command) {
  static std::map<std::string, std::string> helps;
  const auto [entry, added] = helps.try_emplace(command);
  if (added)
    entry->second =
        RunCommand(SPYRE_BUILD_DIR, "./spyre-cosim " + command + " --help", false).output;
  return entry->second;
}

bool IsSubcommand(const std::string& of, const std::string& word) {
  const std::string& help = HelpOf(of);
  const size_t list = help.find(kCommands);
  return list != std::string::npos && help.find("\n  " + word + " ", list) != std::string::npos;
}

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

bool IsWord(const std::string& text) {
  return !text.empty() && std::islower(text[0]) != 0 &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos;
}

// What is wrong with one command line, from the word after the program's name on.
std::string Complaint(std::vector<std::string> words, std::string command) {
  size_t next = 0;
  while (next < words.size() && IsWord(words[next]) &&
         (HelpOf(command).find(kCommands) != std::string::npos)) {
    if (!IsSubcommand(command, words[next])) return "no command '" + words[next] + "'";
    command += (command.empty() ? "" : " ") + words[next++];
  }
  for (; next < words.size() && words[next] != "|" && words[next] != "#"; ++next) {
    const std::string option = words[next].substr(0, words[next].find_first_of("=.,;:)]"));
    if (option.rfind("--", 0) != 0 || option.size() < 3) continue;
    if (HelpOf(command).find(option) == std::string::npos)
      return "'" + command + "' has no option " + option;
  }
  return "";
}

TEST(Docs, EveryCommandAndOptionExists) {
  ASSERT_NE(HelpOf("").find(kCommands), std::string::npos);
  for (const std::string& page : Pages()) {
    for (const Line& line : LinesOf(page)) {
      std::vector<std::string> texts = CodeSpans(line);
      if (line.code) texts = {line.text};
      for (const std::string& text : texts) {
        for (const std::string& rest : Matches(text, "(?:^|[ /$])spyre-cosim ([^:|;]*)"))
          EXPECT_EQ(Complaint(Words(rest), ""), "") << page << ": " << text;
        for (const std::string& rest : Matches(text, "\\./run\\.sh ([^:|;]*)"))
          EXPECT_EQ(Complaint(Words(rest), "run"), "") << page << ": " << text;
      }
    }
  }
}

TEST(Docs, EveryOptionOfTheBringUpProgramExists) {
  const std::string help = RunCommand(SPYRE_BUILD_DIR, "./spyre-bringup --help", false).output;
  ASSERT_NE(help.find("--stop-at-broken-rung"), std::string::npos);
  for (const std::string& page : Pages()) {
    for (const Line& line : LinesOf(page)) {
      if (line.text.find("spyre-bringup ") == std::string::npos &&
          (page != "docs/bringup.md" || line.text.rfind("| `--", 0) != 0))
        continue;
      for (const std::string& option : Matches(line.text, "(--[a-z][a-z-]+)"))
        EXPECT_NE(help.find(option), std::string::npos) << page << ": " << option;
    }
  }
}

TEST(Docs, EveryKeyOfAConfigurationExists) {
  const std::vector<std::string> keys =
      Matches(RunCommand(SPYRE_BUILD_DIR, "./spyre-cosim check --reference", false).output,
              "\\| `([a-z_0-9.]+)` \\|");
  ASSERT_GT(keys.size(), 50u);
  // A table such as card.ring may be named too.
  const auto is_key = [&](const std::string& name) {
    for (const std::string& key : keys)
      if (key == name || key.rfind(name + ".", 0) == 0 || name.rfind(key + ".", 0) == 0)
        return true;
    return false;
  };
  for (const std::string& page : Pages()) {
    for (const Line& line : LinesOf(page)) {
      for (const std::string& name : Matches(line.text, "--set '?([a-z_0-9.]+)="))
        EXPECT_TRUE(is_key(name) || name == "key.path") << page << ": " << name;
      for (const std::string& span : CodeSpans(line)) {
        static const std::regex kKey(
            "((card|workload|runtime|output|trace|host)\\.(?!sctrace|h$|cc$)[a-z_0-9.]+)( = .*)?");
        std::smatch match;
        if (std::regex_match(span, match, kKey)) {
          EXPECT_TRUE(is_key(match[1])) << page << ": " << span;
        }
      }
    }
  }
}

}  // namespace
}  // namespace spyre::docs::names_test
