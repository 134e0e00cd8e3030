// SPDX-License-Identifier: Apache-2.0
// A small command line with everything that a declaration can say.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/command_line/command_line.h"

namespace spyre::command_line {

struct SampleCommandLine {
  enum class Color { kAuto, kNever };
  enum class Format { kText, kJson };

  Color color = Color::kAuto;
  std::string config, out, output;
  std::vector<std::string> sets, shapes, files;
  bool quiet = false;
  uint32_t jobs = 2;
  uint64_t limit = 100;
  std::optional<uint64_t> port;
  double rate = 0;
  Format format = Format::kText;
  std::string ran;
  Command root{"prog", "Does things"};

  SampleCommandLine() {
    root.Version("prog 1.2\n").Footer("Exit status: 0 done.");
    root.Add("--color", color, "when there is colour",
             {{"auto", Color::kAuto}, {"never", Color::kNever}})
        .Placeholder("WHEN")
        .ShowDefault();
    Command& run = root.AddCommand("run", "Run a file: it's done [fast]");
    run.Add("CONFIG", config, "the file to run").Required().Completes(Words::kFiles);
    run.Add("--set", sets, "override a key").Placeholder("KEY=VALUE").Suggests({"a.b=", "a.c="});
    run.Add("--shape", shapes, "shapes").SplitAt(',').Group("Of a bundle");
    Option& quiet_option = run.Add("-q,--quiet", quiet, "say nothing");
    run.Add("--out", out, "where results go").Placeholder("DIR").Completes(Words::kDirectories);
    run.Add("--jobs", jobs, "at a time", 1, 8).ShowDefault();
    run.Add("--limit", limit, "records").Excludes(quiet_option);
    run.Add("--port", port, "to listen on", 0, 65535);
    run.Add("--rate", rate, "share of the peak", 0, 1);
    run.Action([this] { return Did("run", 0); });
    root.Heading("Files");
    Command& look = root.AddCommand("look", "Look into files");
    Command& all = look.AddCommand("all", "Look into all of them");
    all.Add("FILE", files, "what to look into").Required().Completes(Words::kFiles);
    all.Add("--format", format, "how", {{"text", Format::kText}, {"json", Format::kJson}});
    all.Add("-o,--output", output, "written here");
    all.Action([this] { return Did("look all", 7); });
  }

 private:
  int Did(const char* what, int status) {
    ran = what;
    return status;
  }
};

}  // namespace spyre::command_line
