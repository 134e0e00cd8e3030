// SPDX-License-Identifier: Apache-2.0
#include "cosim/replay/recording.h"

#include <contract/registers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "base/error.h"
#include "base/files.h"
#include "tests/unit/huge_file.h"
#include "tests/unit/random_cases.h"

namespace spyre::cosim::recording_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

RecordHead Head(RecordKind kind, uint64_t address = 0, uint64_t value = 0, uint64_t time_ps = 0) {
  RecordHead head;
  head.kind = kind;
  head.address = address;
  head.value = value;
  head.time_ps = time_ps;
  return head;
}

class RecordingTest : public ::testing::Test {
 protected:
  // Writes a file with `add` and gives its bytes.
  template <typename Add>
  std::string File(Add add, uint64_t end_ps = 100) const {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    const std::string path = ::testing::TempDir() + info->name() + ".rec";
    RecordingWriter writer(path, "mode = \"pf\"\n");
    add(writer);
    writer.Finish(end_ps);
    std::string bytes = ReadFile(path, "recording", 1 << 30);
    std::filesystem::remove(path);
    return bytes;
  }
  std::string Small() const {
    return File([](RecordingWriter& writer) {
      writer.Add(Head(RecordKind::kMap, 0x1000, 8192));
      writer.Add(Head(RecordKind::kHostData, 0x1100), "what the host wrote");
      writer.Add(Head(RecordKind::kWrite, regs::SQ_TAIL, 1, 50));
      writer.Add(Head(RecordKind::kResponse, 0x1080, 0, 50), std::string(128, 'r'));
      writer.Add(Head(RecordKind::kOutput, 0x1200, 5, 50), "bytes");
      writer.Add(Head(RecordKind::kUnmap, 0x1000, 0, 60));
    });
  }
  static std::string FailureOf(const std::string& bytes) {
    try {
      ParseRecording(bytes, "x.rec");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
      return error.what();
    }
    return "no error";
  }
  // The message about one record.
  std::string Refused(const RecordHead& head, const std::string& data = "") const {
    return FailureOf(File([&](RecordingWriter& writer) {
      writer.Add(Head(RecordKind::kMap, 0x1000, 8192));
      writer.Add(head, data);
    }));
  }
};

TEST_F(RecordingTest, WhatIsWrittenIsRead) {
  const Recording recording = ParseRecording(Small(), "x.rec");
  EXPECT_EQ(recording.config, "mode = \"pf\"\n");
  ASSERT_EQ(recording.records.size(), 7u);
  EXPECT_EQ(recording.records[1].data, "what the host wrote");
  EXPECT_EQ(recording.records[2].kind, RecordKind::kWrite);
  EXPECT_EQ(recording.records[2].address, regs::SQ_TAIL);
  EXPECT_EQ(recording.records[2].time_ps, 50u);
  EXPECT_EQ(recording.records[6].kind, RecordKind::kEnd);
}

TEST_F(RecordingTest, ManyChunksAreOneRecording) {
  const std::string bytes = File([](RecordingWriter& writer) {
    writer.Add(Head(RecordKind::kMap, 0x1000, 1 << 20));
    for (int i = 0; i < 5; ++i)
      writer.Add(Head(RecordKind::kHostData, 0x1000), std::string(1 << 20, static_cast<char>(i)));
  });
  EXPECT_EQ(ParseRecording(bytes, "x.rec").records.size(), 7u);
}

TEST_F(RecordingTest, AFileThatEndsAnywhereElseIsIncomplete) {
  const std::string bytes = Small();
  for (size_t size = 8; size < bytes.size(); ++size)
    EXPECT_THAT(FailureOf(bytes.substr(0, size)), HasSubstr("incomplete")) << size;
}

TEST_F(RecordingTest, EveryBitThatFlipsIsNoticed) {
  const std::string bytes = Small();
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    EXPECT_THAT(FailureOf(damaged), HasSubstr("x.rec: offset ")) << "bit " << bit;
  }
}

TEST_F(RecordingTest, MessagesNameTheOffset) {
  EXPECT_EQ(FailureOf(Small() + "more"), "x.rec: offset 436: data after the end of the recording");
  EXPECT_THAT(FailureOf("[workload]\n"), HasSubstr("offset 0: no recording"));
}

TEST_F(RecordingTest, RecordsThatNoHostCouldMakeAreRefused) {
  EXPECT_THAT(Refused(Head(static_cast<RecordKind>(99))), HasSubstr("no kind of record"));
  EXPECT_THAT(Refused(Head(RecordKind::kConfigRead, 4096)), HasSubstr("below 4096"));
  EXPECT_THAT(Refused(Head(RecordKind::kRead, 2)), HasSubstr("multiple of 4"));
  EXPECT_THAT(Refused(Head(RecordKind::kRead, 4, 1ull << 32)), HasSubstr("32 bits"));
  RecordHead bar = Head(RecordKind::kWrite);
  bar.unit = 1;
  EXPECT_THAT(Refused(bar), HasSubstr("BARs are 0, 2 and 4"));
  RecordHead vector = Head(RecordKind::kWait);
  vector.unit = 8;
  EXPECT_THAT(Refused(vector), HasSubstr("vector"));
  EXPECT_THAT(Refused(Head(RecordKind::kWait, 0, 3)), HasSubstr("outcome"));
  EXPECT_THAT(Refused(Head(RecordKind::kWait, UINT64_MAX)), HasSubstr("deadline"));
  EXPECT_THAT(Refused(Head(RecordKind::kAdvance, 0, 10)), HasSubstr("longer than its time"));
  EXPECT_THAT(Refused(Head(RecordKind::kMap, 0x2000, 4096)), HasSubstr("over another"));
  EXPECT_THAT(Refused(Head(RecordKind::kMap, 0, 0x1001)), HasSubstr("over another"));
  EXPECT_THAT(Refused(Head(RecordKind::kMap, 0x9000, 0)), HasSubstr("empty mapping"));
  EXPECT_THAT(Refused(Head(RecordKind::kMap, 0x9000, 1ull << 60)), HasSubstr("64 GiB"));
  EXPECT_THAT(Refused(Head(RecordKind::kMap, UINT64_MAX - 1, 4)), HasSubstr("address space"));
  EXPECT_THAT(Refused(Head(RecordKind::kUnmap, 0x1001)), HasSubstr("not mapped"));
  EXPECT_THAT(Refused(Head(RecordKind::kHostData, 0x2FFF), "two"), HasSubstr("outside mapped"));
  EXPECT_THAT(Refused(Head(RecordKind::kResponse, 0x1000), "short"), HasSubstr("128 bytes"));
  EXPECT_THAT(Refused(Head(RecordKind::kOutput, 0x1000, 4), "five5"), HasSubstr("its size"));
  EXPECT_THAT(Refused(Head(RecordKind::kOutput, 0x1000, UINT64_MAX)), HasSubstr("outside mapped"));
  EXPECT_THAT(Refused(Head(RecordKind::kEnd, 0, 7)), HasSubstr("records are missing"));
  RecordHead function = Head(RecordKind::kRead);
  function.function = 256;
  EXPECT_THAT(Refused(function), HasSubstr("function"));
  EXPECT_THAT(Refused(Head(RecordKind::kRead, 0, 0, 101)), HasSubstr("backwards"));
}

// Records of any bytes behind good digests: read or refused, nothing else.
TEST(RecordingProperty, AnyRecordsAreReadOrRefused) {
  test::ForSeeds(100, [](std::mt19937& random) {
    const std::string path = ::testing::TempDir() + "any_records.rec";
    RecordingWriter writer(path, "");
    writer.Add(Head(RecordKind::kMap, 0x1000, 8192));
    const int count = test::Draw(random, 1, 19);
    for (int i = 0; i < count; ++i) {
      RecordHead head;
      head.kind = static_cast<RecordKind>(random() % 14);
      head.unit = test::Draw<uint8_t>(random, 0, 9);
      head.function = test::DrawOf<uint16_t>(random, {0, 0, 0, 1, 300});
      head.address =
          test::DrawBool(random) ? test::Draw<uint64_t>(random, 0, 0x3FFF) : test::DrawWord(random);
      head.value =
          test::DrawBool(random) ? test::Draw<uint64_t>(random, 0, 299) : test::DrawWord(random);
      const std::string data[] = {"", "data", std::string(128, 'r')};
      writer.Add(head, data[random() % 3]);
    }
    writer.Finish(0);
    try {
      const Recording recording = ReadRecording(path);
      EXPECT_EQ(recording.records.back().kind, RecordKind::kEnd);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput) << error.what();
    }
    std::filesystem::remove(path);
  });
}

TEST(OutputDataTest, SmallOutputsAreThemselvesLargeOnesADigestForEachPage) {
  const std::vector<uint8_t> bytes(kWholeOutputBytes + 1, 7);
  EXPECT_EQ(OutputData(bytes.data(), kWholeOutputBytes).size(), kWholeOutputBytes);
  EXPECT_EQ(OutputData(bytes.data(), kWholeOutputBytes + 1).size(), 17 * 8u);
}

TEST_F(RecordingTest, NothingIsReadThatWhatIsBeforeItDoesNotExplain) {
  const std::string good = Small();
  std::string head = good;  // the size of the configuration is at offset 16
  const uint64_t bytes = HugeFile::kBytes - 32;
  head.replace(16, 8, std::string(reinterpret_cast<const char*>(&bytes), 8));
  const std::string refusals[][2] = {{"", "no recording"},
                                     {good, "data after the end"},
                                     {head, "the configuration of 6442450912 bytes; at most"},
                                     {good.substr(0, good.size() - 8), "corrupt"}};
  for (const auto& [start, refusal] : refusals) {
    const HugeFile file("huge.rec", start);
    try {
      ReadRecording(file.path());
      FAIL() << refusal;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(file.path()));
      EXPECT_THAT(error.what(), HasSubstr(refusal));
    }
    EXPECT_LT(file.PeakGrowthBytes(), 400u << 20) << refusal;
  }
}

TEST_F(RecordingTest, ACopyOfARecordingOutlivesIt) {
  Recording copy;
  {
    const Recording recording = ParseRecording(Small(), "x.rec");
    copy = recording;
  }
  EXPECT_EQ(copy.records[1].data, "what the host wrote");
}

}  // namespace
}  // namespace spyre::cosim::recording_test
