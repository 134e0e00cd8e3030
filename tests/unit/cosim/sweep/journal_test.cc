// SPDX-License-Identifier: Apache-2.0
#include "cosim/sweep/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/files.h"
#include "tests/unit/error_of.h"

namespace spyre::cosim::journal_test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

const JournalHeader kHeader{"0123", 9, "build"};

class JournalTest : public ::testing::Test {
 protected:
  std::string Text() const { return ReadFile(path_, "journal"); }
  void Put(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }

  ScratchDirectory scratch_{"journal_test"};
  const std::string path_ = scratch_.path() + "/journal.jsonl";
};

TEST_F(JournalTest, RowsComeBackInTheirOrder) {
  EXPECT_TRUE(ReadJournal(path_, kHeader).empty());
  {
    Journal journal(path_, kHeader);
    journal.Append({{"point", 4}});
    journal.Append({{"point", 2}});
  }
  Journal(path_, kHeader).Append({{"point", 7}});
  const std::vector<Json> rows = ReadJournal(path_, kHeader);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["point"], 4);
  EXPECT_EQ(rows[1]["point"], 2);
  EXPECT_EQ(rows[2]["point"], 7);
}

TEST_F(JournalTest, ATornLastLineIsCutOff) {
  Journal(path_, kHeader).Append({{"point", 4}});
  const std::string whole = Text();
  Put("{\"point\": 5, \"sta");
  EXPECT_EQ(ReadJournal(path_, kHeader).size(), 1u);
  { Journal journal(path_, kHeader); }
  EXPECT_EQ(Text(), whole);
}

TEST_F(JournalTest, ATornHeaderIsWrittenAgain) {
  Put("{\"journal\": 1, \"swe");
  Journal(path_, kHeader).Append({{"point", 1}});
  EXPECT_EQ(ReadJournal(path_, kHeader).size(), 1u);
}

TEST_F(JournalTest, ADamagedLineBeforeTheLastIsNamed) {
  Journal(path_, kHeader).Append({{"point", 4}});
  Put("nonsense\n{\"point\": 5}\n");
  EXPECT_THAT(test::BadInputOf([&] { ReadJournal(path_, kHeader); }), HasSubstr("line 3"));
}

TEST_F(JournalTest, AnotherSweepsJournalIsRefused) {
  { Journal journal(path_, kHeader); }
  EXPECT_THAT(test::BadInputOf([&] {
                Journal journal(path_, {"4567", 9, "build"});
              }),
              HasSubstr("another sweep"));
  EXPECT_THAT(test::BadInputOf([&] {
                Journal journal(path_, {"0123", 9, "newer"});
              }),
              HasSubstr("another build of the program (build, this is newer)"));
  const std::string other = scratch_.path() + "/other";
  std::ofstream(other) << "{}\n";
  EXPECT_THAT(test::BadInputOf([&] { Journal journal(other, kHeader); }),
              HasSubstr("not the journal of a sweep"));
}

TEST_F(JournalTest, OnlyOneWriterAtATime) {
  const Journal journal(path_, kHeader);
  EXPECT_THAT(test::BadInputOf([&] { Journal second(path_, kHeader); }),
              HasSubstr("another process is running this sweep"));
}

}  // namespace
}  // namespace spyre::cosim::journal_test
