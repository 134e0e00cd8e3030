// SPDX-License-Identifier: Apache-2.0
// Files are there whole or not at all, and nothing is written over what is read.
#include "base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/json_reader.h"
#include "tests/unit/error_of.h"
#include "tests/unit/huge_file.h"

namespace spyre::files_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string Scratch(const std::string& name) {
  const std::string directory = fmt::format("out/tmp/files_test_{}", getpid());
  fs::create_directories(directory);
  fs::remove(directory + "/" + name);
  return directory + "/" + name;
}

TEST(OutputFile, IsThereOnlyWhenItIsWhole) {
  const std::string path = Scratch("whole");
  WriteFile(path, "old", "text");
  {
    OutputFile interrupted(path, "text");
    interrupted.stream() << "half of the n";
  }
  EXPECT_EQ(ReadFile(path, "text", 100), "old");
  EXPECT_FALSE(fs::exists(path + ".part"));
  OutputFile file(path, "text");
  file.stream() << "new";
  EXPECT_EQ(ReadFile(path, "text", 100), "old") << "until it is committed";
  file.Commit();
  EXPECT_EQ(ReadFile(path, "text", 100), "new");
}

TEST(OutputFile, WritesThroughALink) {
  const std::string path = Scratch("target"), link = Scratch("link");
  WriteFile(path, "old", "text");
  fs::create_symlink(fs::path(path).filename(), link);
  WriteFile(link, "new", "text");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(ReadFile(path, "text", 100), "new");
}

TEST(OutputFile, AFullDiskIsAnError) {
  try {
    WriteFile("/dev/full", "text", "report");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/dev/full: cannot write the report"));
  }
}

// A file that this process has not written.
std::string Given(const std::string& name, const std::string& text) {
  const std::string path = Scratch(name);
  std::ofstream(path) << text;
  return path;
}

TEST(InputGuard, WhatWasReadIsNotOverwrittenByAnyName) {
  const std::string path = Given("source", "source");
  EXPECT_EQ(ReadFile(path, "text"), "source");
  const std::string hard = Scratch("hard"), soft = Scratch("soft");
  fs::create_hard_link(path, hard);
  fs::create_symlink("source", soft);
  const std::string other = (fs::path(path).parent_path() / "." / "source").string();
  for (const std::string& name : {path, other, hard, soft}) {
    EXPECT_THAT(test::BadInputOf([&] { WriteFile(name, "new", "text"); }),
                HasSubstr("would be overwritten"))
        << name;
    EXPECT_THAT(test::BadInputOf([&] { GrowingFile(name, "lines").stream() << "new"; }),
                HasSubstr("would be overwritten"))
        << name;
  }
  EXPECT_EQ(ReadFile(path, "text"), "source");
  EXPECT_NO_THROW(WriteFile(Scratch("another"), "new", "text"));
}

TEST(InputGuard, WhatIsBeingWrittenIsNotReadAndStays) {
  const std::string path = Given("both", "kept");
  {
    const GrowingFile lines(path, "lines");
    EXPECT_THAT(test::BadInputOf([&] { ReadFile(path, "text"); }),
                HasSubstr("would be overwritten"));
  }
  std::string text;
  std::ifstream(path) >> text;
  EXPECT_EQ(text, "kept");
}

// File systems give the number of a file that is gone to the next one.
TEST(InputGuard, AFileWithTheNumberOfOneThatWasWrittenIsAnInput) {
  const std::string gone = Scratch("gone"), other = Scratch("other");
  WriteFile(gone, "own", "text");
  fs::rename(gone, other);  // as far as numbers go, a new file
  EXPECT_EQ(ReadFile(other, "text"), "own");
  EXPECT_THAT(test::BadInputOf([&] { WriteFile(other, "new", "text"); }),
              HasSubstr("would be overwritten"));
}

TEST(InputGuard, WhatAProcessHasWrittenItMayReadAndWriteAgain) {
  const std::string path = Scratch("own");
  for (const char* text : {"first", "second", "third"}) {
    WriteFile(path, text, "text");
    EXPECT_EQ(ReadFile(path, "text"), text);
  }
  const std::string job = Given("job", "first");
  EXPECT_EQ(ReadFile(job, "text"), "first");
  NoteOwn(job);
  EXPECT_NO_THROW(WriteFile(job, "second", "text"));
}

// The file system gives the number of a file that is gone to the next one.
TEST(InputGuard, AFileThatTakesTheNumberOfAnotherIsNotThatOne) {
  for (int i = 0; i < 50; ++i) {
    const std::string path = Given("gone", "text");
    ReadFile(path, "text");
    fs::remove(path);
    const std::string next = Given("next", "old");
    EXPECT_NO_THROW(WriteFile(next, "new", "text"));
    fs::remove(next);
  }
}

TEST(GrowingFile, IsInPlaceFromTheFirstByteOn) {
  const std::string path = Given("lines", "something that was there before");
  GrowingFile file(path, "lines");
  std::ostringstream before, after;
  before << std::ifstream(path).rdbuf();
  EXPECT_EQ(before.str(), "something that was there before");
  file.stream() << "one\n" << std::flush << "two\n" << std::flush;
  after << std::ifstream(path).rdbuf();
  EXPECT_EQ(after.str(), "one\ntwo\n");
}

TEST(CheckJsonText, RefusesDepthAndHiddenText) {
  EXPECT_NO_THROW(
      CheckJsonText(R"({"a": "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["})", "x"));
  EXPECT_THROW(CheckJsonText(std::string(100000, '['), "x"), Error);
  EXPECT_THROW(CheckJsonText(std::string_view("{}\0{\"b\": 1}", 10), "x"), Error);
}

TEST(ReadFile, RefusesWhatIsLargerThanItsLimitBeforeItTakesMemory) {
  const HugeFile file("text.toml");
  try {
    ReadFile(file.path(), "configuration");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(
        error.what(),
        file.path() + ": 6442450944 bytes are too many for a configuration; at most 16777216");
  }
  EXPECT_LT(file.PeakGrowthBytes(), 100u << 20);
}

TEST(LineReader, GivesLinesOfAnyLengthUpToItsLimit) {
  const std::string block((64 << 10) - 1, 'b'), whole(64 << 10, 'w'), large(200'000, 'l');
  std::istringstream in("a\n\n" + block + "\n" + whole + "\n" + large + "\r\nlast");
  LineReader lines(in, "x.txt", 200'001);
  std::string line;
  for (const std::string& expected :
       {std::string("a"), std::string(), block, whole, large + "\r", std::string("last")}) {
    ASSERT_TRUE(lines.Next(line));
    EXPECT_EQ(line, expected) << "line " << lines.number();
  }
  EXPECT_EQ(lines.number(), 6u);
  EXPECT_FALSE(lines.Next(line));
  std::istringstream none, ended("a\n");
  EXPECT_FALSE(LineReader(none, "x").Next(line));
  LineReader one(ended, "x");
  EXPECT_TRUE(one.Next(line));
  EXPECT_FALSE(one.Next(line));
}

TEST(LineReader, RefusesALineWithoutEndBeforeItTakesMemory) {
  const HugeFile file("lines", "first\n");
  std::ifstream in(file.path());
  LineReader lines(in, file.path());
  std::string line;
  EXPECT_TRUE(lines.Next(line));
  try {
    lines.Next(line);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), file.path() + ": line 2 is longer than 16777216 bytes");
  }
  EXPECT_LT(file.PeakGrowthBytes(), 200u << 20);
}

}  // namespace
}  // namespace spyre::files_test
