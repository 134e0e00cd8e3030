// SPDX-License-Identifier: Apache-2.0
// Activities as a profiler gets them: of every call and of all work of the card one record each, in
// order, with the card's durations.
#include <gmock/gmock.h>
#include <libaiupti/aiupti_activity.h>
#include <libaiupti/aiupti_runtime_cbid.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "tests/sdk/kernels.h"

namespace spyre::sdk_test::aiupti_test {
namespace {

using ::testing::ElementsAre;

// The client's side: buffers of one size, and the records that came in them.
struct Client {
  static inline size_t buffer_bytes = 4096;
  static inline std::deque<std::vector<uint64_t>> buffers;
  static inline std::vector<std::vector<uint8_t>> complete;

  static void Request(uint8_t** buffer, size_t* size, size_t* max_records) {
    buffers.emplace_back(buffer_bytes / sizeof(uint64_t));
    *buffer = reinterpret_cast<uint8_t*>(buffers.back().data());
    *size = buffer_bytes;
    *max_records = 0;
  }
  static void Complete(uint8_t* buffer, size_t size, size_t valid) {
    EXPECT_EQ(size, buffer_bytes);
    EXPECT_LE(valid, size);
    complete.emplace_back(buffer, buffer + valid);
  }

  template <typename Record>
  static std::vector<Record> Records(AIUpti_ActivityKind kind) {
    std::vector<Record> records;
    for (std::vector<uint8_t>& buffer : complete) {
      AIUpti_Activity* record = nullptr;
      while (aiuptiActivityGetNextRecord(buffer.data(), buffer.size(), &record) == AIUPTI_SUCCESS) {
        if (record->kind != kind) continue;
        Record copy;
        std::memcpy(&copy, record, sizeof copy);
        records.push_back(copy);
      }
    }
    return records;
  }
};

constexpr AIUpti_ActivityKind kKinds[] = {AIUPTI_ACTIVITY_KIND_MEMCPY, AIUPTI_ACTIVITY_KIND_MEMSET,
                                          AIUPTI_ACTIVITY_KIND_MEMORY, AIUPTI_ACTIVITY_KIND_CMPT,
                                          AIUPTI_ACTIVITY_KIND_RUNTIME};

class Aiupti : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(aiuptiActivityRegisterCallbacks(Client::Request, Client::Complete), AIUPTI_SUCCESS);
  }
  static void EnableAll() {
    for (const AIUpti_ActivityKind kind : kKinds)
      ASSERT_EQ(aiuptiActivityEnable(kind), AIUPTI_SUCCESS);
  }
  static void DisableAll() {
    for (const AIUpti_ActivityKind kind : kKinds)
      ASSERT_EQ(aiuptiActivityDisable(kind), AIUPTI_SUCCESS);
  }
};

TEST_F(Aiupti, EveryCallAndAllWorkHasARecord) {
  const auto context = Open();
  Add add(*context);
  flex::RuntimeStream& stream = *context->getDefaultStream();
  stream.synchronize();
  EnableAll();
  { const flex::CompositeAddress memory = Memory(*context, 1000); }
  EXPECT_EQ(add.Run(stream, 1.5, 2), deeptools::FloatToFp16Bin(3.5));
  ASSERT_EQ(aiuptiFlushAllActivities(), AIUPTI_SUCCESS);

  const auto fills = Client::Records<AIUpti_ActivityMemset>(AIUPTI_ACTIVITY_KIND_MEMSET);
  ASSERT_EQ(fills.size(), 2u);
  for (const AIUpti_ActivityMemset& fill : fills) EXPECT_EQ(fill.bytes, kAddBytes);
  const auto copies = Client::Records<AIUpti_ActivityMemcpy>(AIUPTI_ACTIVITY_KIND_MEMCPY);
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].copy_kind, AIUPTI_ACTIVITY_MEMCPY_KIND_HTOD) << "the correction's input";
  EXPECT_EQ(copies[1].copy_kind, AIUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
  EXPECT_EQ(copies[1].bytes, kAddBytes);
  const auto programs = Client::Records<AIUpti_ActivityCompute>(AIUPTI_ACTIVITY_KIND_CMPT);
  ASSERT_EQ(programs.size(), 2u) << "the correction and the kernel";
  for (const AIUpti_ActivityCompute& program : programs) {
    EXPECT_STREQ(program.name, "kernel");
    EXPECT_LE(program.queued, program.submitted);
    EXPECT_LE(program.submitted, program.start);
    EXPECT_LT(program.start, program.end);
  }
  EXPECT_LE(programs[0].end, programs[1].start);
  EXPECT_LE(fills[1].end, copies[0].start) << "a stream is in order";
  EXPECT_LE(programs[1].end, copies[1].start);

  const auto memory = Client::Records<AIUpti_ActivityMemory>(AIUPTI_ACTIVITY_KIND_MEMORY);
  ASSERT_EQ(memory.size(), 2u);
  EXPECT_EQ(memory[0].memory_operation_type, AIUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
  EXPECT_EQ(memory[1].memory_operation_type, AIUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
  EXPECT_EQ(memory[0].bytes, 1024u);
  EXPECT_EQ(memory[0].address, memory[1].address);

  // A kernel starts when the call that launched it has returned.
  const auto calls = Client::Records<AIUpti_ActivityAPI>(AIUPTI_ACTIVITY_KIND_RUNTIME);
  std::vector<uint32_t> kinds;
  for (const AIUpti_ActivityAPI& call : calls) {
    kinds.push_back(call.cbid);
    if (call.correlation_id != programs[1].correlation_id) continue;
    EXPECT_EQ(call.cbid, AIUPTI_RUNTIME_TRACE_CBID_LAUNCH_CB_CMPT);
    EXPECT_EQ(call.data, 3u) << "the copy of the correction's input, the correction, the kernel";
    EXPECT_GE(programs[0].start, call.end);
  }
  EXPECT_THAT(
      kinds,
      ElementsAre(AIUPTI_RUNTIME_TRACE_CBID_MALLOC, AIUPTI_RUNTIME_TRACE_CBID_LAUNCH_CB,
                  AIUPTI_RUNTIME_TRACE_CBID_LAUNCH_CB, AIUPTI_RUNTIME_TRACE_CBID_ISSUE_CALLBACK,
                  AIUPTI_RUNTIME_TRACE_CBID_LAUNCH_CB_DMI, AIUPTI_RUNTIME_TRACE_CBID_LAUNCH_CB_CMPT,
                  AIUPTI_RUNTIME_TRACE_CBID_LAUNCH_CB_CMPT, AIUPTI_RUNTIME_TRACE_CBID_LAUNCH_CB_DMO,
                  AIUPTI_RUNTIME_TRACE_CBID_SCHEDULE_WAIT));
}

// A program for exec_test.cc, which is profiled if PROFILED is set; then it prints how long its
// kernel took.
TEST_F(Aiupti, DISABLED_AnAddThatMayBeProfiled) {
  const auto context = Open();
  Add add(*context);
  if (std::getenv("PROFILED") != nullptr) EnableAll();
  add.Run(*context->getDefaultStream(), 1.5, 2);
  ASSERT_EQ(aiuptiFlushAllActivities(), AIUPTI_SUCCESS);
  const auto programs = Client::Records<AIUpti_ActivityCompute>(AIUPTI_ACTIVITY_KIND_CMPT);
  if (!programs.empty())
    std::printf("kernel: %llu ns\n",
                static_cast<unsigned long long>(programs.back().end - programs.back().start));
}

TEST_F(Aiupti, KindsThatAreNotEnabledHaveNoRecords) {
  const auto context = Open();
  Add add(*context);
  ASSERT_EQ(aiuptiActivityEnable(AIUPTI_ACTIVITY_KIND_CMPT), AIUPTI_SUCCESS);
  add.Run(*context->getDefaultStream(), 1, 2);
  ASSERT_EQ(aiuptiFlushAllActivities(), AIUPTI_SUCCESS);
  EXPECT_EQ(Client::Records<AIUpti_ActivityCompute>(AIUPTI_ACTIVITY_KIND_CMPT).size(), 2u);
  EXPECT_TRUE(Client::Records<AIUpti_ActivityMemcpy>(AIUPTI_ACTIVITY_KIND_MEMCPY).empty());
  EXPECT_TRUE(Client::Records<AIUpti_ActivityAPI>(AIUPTI_ACTIVITY_KIND_RUNTIME).empty());
  // Nothing is kept when nobody listens.
  DisableAll();
  Client::complete.clear();
  add.Run(*context->getDefaultStream(), 1, 2);
  EnableAll();
  ASSERT_EQ(aiuptiFlushAllActivities(), AIUPTI_SUCCESS);
  EXPECT_TRUE(Client::complete.empty()) << "no buffer is asked for without a record";
}

TEST_F(Aiupti, AFlushWaitsForTheCardAndLeavesErrorsToTheProgram) {
  const auto context = Open();
  Add add(*context);
  flex::RuntimeStream& stream = *context->getDefaultStream();
  EnableAll();
  add.kernel().Launch(stream, add.Addresses(), "waited_for");
  ASSERT_EQ(aiuptiFlushAllActivities(), AIUPTI_SUCCESS);
  const auto programs = Client::Records<AIUpti_ActivityCompute>(AIUPTI_ACTIVITY_KIND_CMPT);
  ASSERT_EQ(programs.size(), 2u);
  EXPECT_STREQ(programs[1].name, "waited_for");
  std::vector<int64_t> addresses = add.Addresses();
  addresses[1] = int64_t{6} << flex::SEGMENT_SIZE_BITS | (int64_t{15} << 30);  // nobody's
  add.kernel().Launch(stream, addresses, "add_of_nothing");
  EXPECT_EQ(aiuptiFlushAllActivities(), AIUPTI_SUCCESS);
  EXPECT_THAT(ErrorOf([&] { stream.synchronize(); }), ::testing::HasSubstr("add_of_nothing"));
}

TEST_F(Aiupti, SmallBuffersAreAskedForOneByOneAndWhatFitsNoneIsCounted) {
  const auto context = Open();
  Add add(*context);
  Client::buffer_bytes = 256;  // one record of a program
  EnableAll();
  add.Run(*context->getDefaultStream(), 1, 2);
  ASSERT_EQ(aiuptiFlushAllActivities(), AIUPTI_SUCCESS);
  EXPECT_EQ(Client::Records<AIUpti_ActivityCompute>(AIUPTI_ACTIVITY_KIND_CMPT).size(), 2u);
  size_t dropped = 1;
  ASSERT_EQ(aiuptiActivityGetNumDroppedRecords(&dropped), AIUPTI_SUCCESS);
  EXPECT_EQ(dropped, 0u);
  Client::complete.clear();
  Client::buffer_bytes = 64;  // a copy's record and no program's
  add.Run(*context->getDefaultStream(), 1, 2);
  ASSERT_EQ(aiuptiFlushAllActivities(), AIUPTI_SUCCESS);
  EXPECT_TRUE(Client::Records<AIUpti_ActivityCompute>(AIUPTI_ACTIVITY_KIND_CMPT).empty());
  EXPECT_EQ(Client::Records<AIUpti_ActivityMemcpy>(AIUPTI_ACTIVITY_KIND_MEMCPY).size(), 2u);
  ASSERT_EQ(aiuptiActivityGetNumDroppedRecords(&dropped), AIUPTI_SUCCESS);
  EXPECT_EQ(dropped, 2u);
}

TEST_F(Aiupti, WrongCallsAreRefused) {
  EXPECT_EQ(aiuptiActivityRegisterCallbacks(nullptr, Client::Complete), AIUPTI_ERROR_PARAMETER);
  EXPECT_EQ(aiuptiActivityEnable(static_cast<AIUpti_ActivityKind>(77)), AIUPTI_ERROR_PARAMETER);
  EXPECT_EQ(aiuptiActivityDisable(AIUPTI_ACTIVITY_KIND_INVALID), AIUPTI_ERROR_PARAMETER);
  EXPECT_EQ(aiuptiActivityGetNumDroppedRecords(nullptr), AIUPTI_ERROR_PARAMETER);
  AIUpti_Activity* record = nullptr;
  EXPECT_EQ(aiuptiActivityGetNextRecord(nullptr, 0, &record), AIUPTI_ERROR_PARAMETER);
  std::vector<uint8_t> buffer(64);
  EXPECT_EQ(aiuptiActivityGetNextRecord(buffer.data(), 0, &record), AIUPTI_END_OF_RECORDS);
  EXPECT_EQ(aiuptiActivityGetNextRecord(buffer.data(), 64, &record), AIUPTI_SUCCESS);
  EXPECT_EQ(aiuptiActivityGetNextRecord(buffer.data(), 64, &record), AIUPTI_ERROR) << "kind 0";
}

}  // namespace
}  // namespace spyre::sdk_test::aiupti_test
