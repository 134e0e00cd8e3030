// SPDX-License-Identifier: Apache-2.0
#include "tests/docs/page.h"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "tests/docs/figure.h"
#include "tests/paths.h"

namespace spyre::docs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFigure = "<!-- figure: ";
constexpr const char* kFigureEnd = "<!-- /figure -->";
constexpr const char* kJson = "<!-- json: ";
constexpr const char* kJsonEnd = "<!-- /json -->";
constexpr const char* kMarkdown = "<!-- markdown: ";
constexpr const char* kMarkdownEnd = "<!-- /markdown -->";
constexpr const char* kPicture = "<!-- picture: ";
constexpr const char* kRun = "<!-- run: ";
constexpr const char* kOutput = "<!-- output";
constexpr const char* kOutputEnd = "<!-- /output -->";
constexpr const char* kStatus = ": status ";
constexpr const char* kFirst = ": first ";
constexpr const char* kClose = " -->";

void Script(const fs::path& path, const std::string& command) {
  std::ofstream(path) << "#!/bin/sh\n" << command << "\n";
  fs::permissions(path, fs::perms::owner_all);
}

// Seconds of the host differ from run to run, and no page should state them.
std::string WithoutWallTime(const std::string& text) {
  constexpr const char* kWallTime = "wall time";
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line); result += line + "\n") {
    const size_t at = line.find(kWallTime);
    if (at != std::string::npos) line = line.substr(0, at) + kWallTime + ": ...";
  }
  return result;
}

// The number behind a word of a marker, or what holds without it.
int Option(const std::string& marker, const std::string& word, int otherwise) {
  const size_t at = marker.find(word);
  return at == std::string::npos ? otherwise : std::stoi(marker.substr(at + word.size()));
}

std::string FirstLines(const std::string& text, int count) {
  size_t end = 0;
  for (int line = 0; line < count && end != std::string::npos; ++line) {
    end = text.find('\n', end);
    if (end != std::string::npos) ++end;
  }
  return end < text.size() ? text.substr(0, end) + "...\n" : text;
}

// Writes a page from its beginning to its end.
class Writer {
 public:
  Writer(const std::string& text, const fs::path& directory) : text_(text), directory_(directory) {}

  WrittenPage Write() {
    for (;;) {
      const size_t figure = text_.find(kFigure, at_);
      const size_t run = text_.find(kRun, at_);
      const size_t output = text_.find(kOutput, at_);
      const size_t json = text_.find(kJson, at_);
      const size_t markdown = text_.find(kMarkdown, at_);
      const size_t picture = text_.find(kPicture, at_);
      const size_t next = std::min({figure, run, output, json, markdown, picture});
      if (next == std::string::npos) return {result_ + text_.substr(at_), pictures_};
      if (next == figure) {
        WriteFigure();
      } else if (next == json) {
        WriteJson();
      } else if (next == markdown) {
        WriteMarkdown();
      } else if (next == picture) {
        WritePicture();
      } else if (next == run) {
        Execute(Marker(kRun), 0);
      } else {
        WriteOutput();
      }
    }
  }

 private:
  // Copies up to the end of the next marker that starts so, and gives what is between its ends.
  std::string Marker(const std::string& start) {
    const size_t begin = text_.find(start, at_) + start.size();
    const size_t end = text_.find(kClose, begin);
    if (end == std::string::npos) throw std::runtime_error("a marker has no end: " + start);
    CopyTo(end + std::string(kClose).size());
    return text_.substr(begin, end - begin);
  }
  void CopyTo(size_t end) {
    result_ += text_.substr(at_, end - at_);
    at_ = end;
  }
  size_t EndOf(const char* end) const {
    const size_t found = text_.find(end, at_);
    if (found == std::string::npos)
      throw std::runtime_error(std::string(end) +
                               " is missing after: " + text_.substr(at_ > 80 ? at_ - 80 : 0, 80));
    return found;
  }

  void WriteFigure() {
    const std::string request = Marker(kFigure);
    result_ += Figure(request, directory_);
    at_ = EndOf(kFigureEnd);
    CopyTo(at_ + std::string(kFigureEnd).size());
  }

  void WriteJson() {
    const std::string name = Marker(kJson);
    result_ += "\n```json\n" + JsonText(name, directory_) + "```\n";
    at_ = EndOf(kJsonEnd);
    CopyTo(at_ + std::string(kJsonEnd).size());
  }

  void WriteMarkdown() {
    const std::string command = Marker(kMarkdown);
    result_ += "\n" + Execute(command, 0);
    at_ = EndOf(kMarkdownEnd);
    CopyTo(at_ + std::string(kMarkdownEnd).size());
  }

  void WritePicture() {
    const std::string marker = Marker(kPicture);
    const size_t colon = marker.find(": ");
    if (colon == std::string::npos) throw std::runtime_error("a picture has no command: " + marker);
    pictures_[marker.substr(0, colon)] = Execute(marker.substr(colon + 2), 0);
  }

  std::string Execute(const std::string& command, int status) {
    const CommandResult result = RunCommand(directory_, command, status != 0);
    if (result.status != status)
      throw std::runtime_error("exit status " + std::to_string(result.status) + " of: " + command);
    return WithoutWallTime(result.output);
  }

  void WriteOutput() {
    const std::string options = Marker(kOutput);
    const int status = Option(options, kStatus, 0);
    const int first = Option(options, kFirst, std::numeric_limits<int>::max());
    const size_t end = EndOf(kOutputEnd);
    std::istringstream lines(text_.substr(at_, end - at_));
    std::vector<std::string> commands;
    std::string fence = "```";
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("```", 0) == 0 && commands.empty()) fence = line;
      const bool goes_on = !commands.empty() && commands.back().back() == '\\';
      if (goes_on) {
        commands.back() += "\n" + line;
      } else if (line.rfind("$ ", 0) == 0) {
        commands.push_back(line.substr(2));
      }
    }
    result_ += "\n" + fence + "\n";
    for (const std::string& command : commands) {
      const bool last = &command == &commands.back();
      result_ += "$ " + command + "\n" + FirstLines(Execute(command, last ? status : 0), first);
    }
    result_ += "```\n";
    at_ = end;
    CopyTo(at_ + std::string(kOutputEnd).size());
  }

  const std::string& text_;
  const fs::path& directory_;
  std::string result_;
  std::map<std::string, std::string> pictures_;
  size_t at_ = 0;
};

}  // namespace

std::string ReadFile(const fs::path& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> Pages() {
  std::vector<std::string> pages = {"README.md"};
  for (const auto& entry : fs::directory_iterator(SPYRE_SOURCE_DIR "/docs"))
    if (entry.path().extension() == ".md")
      pages.push_back("docs/" + entry.path().filename().string());
  std::sort(pages.begin(), pages.end());
  return pages;
}

std::vector<std::string> PagesWithMarkers() {
  std::vector<std::string> pages;
  for (const std::string& page : Pages()) {
    const std::string text = ReadFile(fs::path(SPYRE_SOURCE_DIR) / page);
    for (const char* marker : {kFigure, kJson, kMarkdown, kPicture, kRun, kOutput}) {
      if (text.find(marker) == std::string::npos) continue;
      pages.push_back(page);
      break;
    }
  }
  return pages;
}

void MakeCheckout(const fs::path& directory) {
  fs::remove_all(directory);
  fs::create_directories(directory / "build/release");
  fs::create_directories(directory / "bin");
  fs::create_directories(directory / "out");
  for (const char* name : {"configs", "tests", "README.md"})
    fs::create_symlink(fs::path(SPYRE_SOURCE_DIR) / name, directory / name);
  for (const char* name : {"bin/spyre-cosim", "build/release/spyre-cosim"})
    fs::create_symlink(SPYRE_BUILD_DIR "/spyre-cosim", directory / name);
  fs::create_symlink(SPYRE_BUILD_DIR "/spyre-bringup", directory / "bin/spyre-bringup");
  // The script of the sources would install packages and build; what it runs then is this.
  Script(directory / "run.sh",
         "case \"${1:---}\" in\n"
         "  --*) exec spyre-cosim run configs/tiled_matmul.toml \"$@\" ;;\n"
         "  *) exec spyre-cosim run \"$@\" ;;\n"
         "esac");
}

CommandResult RunCommand(const fs::path& directory, const std::string& command, bool with_errors) {
  const std::string line = "cd '" + directory.string() +
                           "' && export PATH=\"$PWD/bin:$PATH\" && { " + command + "\n} " +
                           (with_errors ? "2>&1" : "2>/dev/null");
  FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("the shell does not start");
  CommandResult result;
  std::array<char, 4096> buffer;
  for (size_t count; (count = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    result.output.append(buffer.data(), count);
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

WrittenPage Written(const std::string& text, const fs::path& directory) {
  return Writer(text, directory).Write();
}

}  // namespace spyre::docs
