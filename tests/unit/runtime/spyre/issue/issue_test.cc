// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/issue/issue.h"

#include <gmock/gmock.h>

#include <numeric>
#include <random>

#include "base/error.h"
#include "tests/unit/error_of.h"
#include "tests/unit/runtime/spyre/issue/issue_fixture.h"

namespace spyre::runtime::issue_test {
namespace {

using flex::RuntimeContext;
using test::ErrorOf;
using ::testing::HasSubstr;

TEST_F(IssueTest, StreamsOrderWhatTheCallerOrders) {
  card.pipelined = true;
  const SpyreTensor x = NewBuffer();
  std::array<uint64_t, 16> host{};
  const auto issuer = Issue::Streams(context, {2});
  IssuedTask fill = Fill("fill", x, 7);
  fill.stream = 5;
  const TaskId filled = issuer->Submit(fill);
  IssuedTask read = ReadOut("read", x, host.data());
  read.after = {filled};
  issuer->Submit(read);
  issuer->Synchronize();
  EXPECT_EQ(host[15], 7u);
  EXPECT_EQ(issuer->Counts().tasks, 2u);
  EXPECT_EQ(issuer->Counts().waits, 1u);
  EXPECT_EQ(card.executed.front().block.stream, 5u);
}

TEST_F(IssueTest, StreamsDealTasksOutInTurnAndWaitOnceForAsMuch) {
  const auto issuer = Issue::Streams(context, {2});
  const SpyreTensor x = NewBuffer();
  std::vector<TaskId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(issuer->Submit(Fill("fill", x, 1)));  // lanes 0, 1, 0
  for (int i = 0; i < 3; ++i) {
    IssuedTask task = Fill("late", x, 2);
    task.after = {ids[0], ids[2]};
    issuer->Submit(task);  // lanes 1, 0, 1: only the first has something to wait for
  }
  issuer->Synchronize();
  EXPECT_EQ(issuer->Counts().waits, 1u);
  EXPECT_EQ(Executed(Opcode::EVENT_SIGNAL), 1);
}

TEST_F(IssueTest, StreamsRefuseAnEdgeToALaterTask) {
  const auto issuer = Issue::Streams(context);
  IssuedTask task = Fill("fill", NewBuffer(), 1);
  task.after = {0};
  EXPECT_THAT(ErrorOf(ErrorKind::kBadInput, [&] { issuer->Submit(task); }), HasSubstr("fill"));
  EXPECT_EQ(issuer->Counts().tasks, 0u);
}

class GraphIssueTest : public IssueTest, public testing::WithParamInterface<Release> {
 protected:
  GraphIssueOptions Options() const {
    GraphIssueOptions options;
    options.release = GetParam();
    options.graph.deps = DependenciesOf("hybrid_bytes");
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(Release, GraphIssueTest, testing::Values(Release::kEvents, Release::kHost),
                         [](const auto& release) { return std::string(Name(release.param)); });

TEST_P(GraphIssueTest, OrdersAllThreeHazards) {
  card.pipelined = true;
  const SpyreTensor x = NewBuffer();
  std::array<uint64_t, 16> first{}, second{};
  const auto issuer = Issue::TaskGraph(context, Options());
  issuer->Submit(Fill("write", x, 1));
  issuer->Submit(ReadOut("read", x, first.data()));
  issuer->Submit(Fill("write again", x, 2));
  issuer->Submit(ReadOut("read again", x, second.data()));
  issuer->Synchronize();
  EXPECT_EQ(first[0], 1u);
  EXPECT_EQ(second[0], 2u);
  EXPECT_EQ(issuer->Counts().edges, 4u);  // the second write is after the first and its reader
  EXPECT_EQ(issuer->Counts().completed, 4u);
}

TEST_P(GraphIssueTest, FindsOverlapByBytesWhereExactRegionsDoNot) {
  const SpyreTensor x = AllocateTensor(context, {2, 64});
  const SpyreTensor second_row =
      TensorAt(flex::Offset(x.device_handle, kBytes), DefaultLayout({64}, DataFormat::kSen169Fp16));
  for (const char* deps : {"exact", "bytes"}) {
    GraphIssueOptions options = Options();
    options.graph.deps = DependenciesOf(deps);
    const auto issuer = Issue::TaskGraph(context, options);
    IssuedTask whole = Fill("whole", x, 1);
    whole.enqueue = [=](SpyreStream& stream) {
      stream.flex_stream().Fill(x.device_handle, 2 * kBytes, 1);
    };
    issuer->Submit(whole);
    issuer->Submit(Fill("row", second_row, 2));
    issuer->Synchronize();
    EXPECT_EQ(issuer->Counts().edges, std::string(deps) == "bytes" ? 1u : 0u);
  }
}

TEST_P(GraphIssueTest, ExplicitEdgesOrderWhatTouchesNothingInCommon) {
  card.pipelined = true;
  const auto issuer = Issue::TaskGraph(context, Options());
  const SpyreTensor x = NewBuffer(), y = NewBuffer();
  std::array<uint64_t, 16> host{};
  const TaskId filled = issuer->Submit(Fill("fill", x, 3));
  IssuedTask read = ReadOut("read", x, host.data());
  read.accesses = {{y, Access::kIn}};  // not what it really reads
  read.after = {filled};
  issuer->Submit(read);
  issuer->Synchronize();
  EXPECT_EQ(host[0], 3u);
}

TEST_P(GraphIssueTest, ASmallWindowWaitsForCompletions) {
  GraphIssueOptions options = Options();
  options.graph.window.tasks = 4;
  const auto issuer = Issue::TaskGraph(context, options);
  const SpyreTensor x = NewBuffer();
  std::vector<std::array<uint64_t, 16>> host(50);
  for (uint64_t i = 0; i < host.size(); ++i) {
    issuer->Submit(Fill("write", x, i));
    issuer->Submit(ReadOut("read", x, host[i].data()));
  }
  issuer->Synchronize();
  for (uint64_t i = 0; i < host.size(); ++i) EXPECT_EQ(host[i][0], i);
  EXPECT_EQ(issuer->Counts().completed, 100u);
}

TEST_P(GraphIssueTest, AFailureStopsWhatDependsOnItAndNothingElse) {
  const SpyreTensor x = NewBuffer(), y = NewBuffer();
  std::array<uint64_t, 16> of_x{}, of_y{};
  const auto issuer = Issue::TaskGraph(context, Options());
  IssuedTask broken = Fill("broken", x, 1);
  broken.enqueue = [](SpyreStream& stream) {
    stream.flex_stream().Fill(flex::PFDeviceHandle{1 << 20}, kBytes, 1);
  };
  issuer->Submit(broken);
  issuer->Submit(ReadOut("after it", x, of_x.data()));
  issuer->Submit(Fill("other", y, 2));
  issuer->Submit(ReadOut("after the other", y, of_y.data()));
  const std::string text = ErrorOf(ErrorKind::kBadInput, [&] { issuer->Synchronize(); });
  EXPECT_THAT(text, HasSubstr("task 'broken'"));
  EXPECT_EQ(of_x[0], 0u);
  EXPECT_EQ(of_y[0], 2u);
  EXPECT_EQ(issuer->Counts().failed, 2u);
  EXPECT_EQ(ErrorOf(ErrorKind::kBadInput, [&] { issuer->Synchronize(); }), text);
}

TEST_P(GraphIssueTest, AFailureOnTheCardIsNamedByItsTask) {
  const SpyreTensor x = NewBuffer(), y = NewBuffer();
  std::array<uint64_t, 16> host{};
  card.fail[1] = Status::BUS_ERROR;
  const auto issuer = Issue::TaskGraph(context, Options());
  issuer->Submit(Fill("first", x, 1));
  issuer->Submit(ReadOut("reader", x, host.data()));
  issuer->Submit(Fill("other", y, 2));
  const std::string text = ErrorOf(ErrorKind::kDeviceFault, [&] { issuer->Synchronize(); });
  EXPECT_THAT(text, HasSubstr("task 'first'"));
  EXPECT_EQ(host[0], 0u);
  EXPECT_EQ(issuer->Counts().completed, 1u);
  EXPECT_EQ(issuer->Counts().failed, 2u);
}

TEST_P(GraphIssueTest, RandomTasksLeaveWhatSequentialOnesWould) {
  card.pipelined = true;
  std::mt19937 random(static_cast<unsigned>(GetParam()) + 1);
  constexpr size_t kBuffers = 5, kTasks = 300;
  std::vector<SpyreTensor> buffers;
  for (size_t i = 0; i < kBuffers; ++i) buffers.push_back(NewBuffer());
  std::vector<uint64_t> value(kBuffers, 0), expected;
  std::vector<std::array<uint64_t, 16>> host(kTasks);
  const auto issuer = Issue::TaskGraph(context, Options());
  for (uint64_t i = 0; i < kBuffers; ++i) issuer->Submit(Fill("zero", buffers[i], 0));
  for (uint64_t i = 0; i < kTasks; ++i) {
    const size_t buffer = random() % kBuffers;
    if (random() % 2 == 0) {
      value[buffer] = i + 1;
      issuer->Submit(Fill("write", buffers[buffer], i + 1));
    } else {
      issuer->Submit(ReadOut("read", buffers[buffer], host[expected.size()].data()));
      expected.push_back(value[buffer]);
    }
  }
  issuer->Synchronize();
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(host[i][7], expected[i]) << i;
}

TEST_P(GraphIssueTest, RefusesWhatItCannotTakeAndTakesNothing) {
  GraphIssueOptions options = Options();
  options.graph.max_args = 2;
  const auto issuer = Issue::TaskGraph(context, options);
  const SpyreTensor x = NewBuffer();
  IssuedTask task = Fill("many", x, 1);
  task.accesses = {{x, Access::kIn}, {NewBuffer(), Access::kIn}, {NewBuffer(), Access::kOut}};
  EXPECT_THAT(ErrorOf(ErrorKind::kBadInput, [&] { issuer->Submit(task); }),
              HasSubstr("touches 3 regions; a task may have 2"));
  task = Fill("late", x, 1);
  task.after = {4};
  EXPECT_THAT(ErrorOf(ErrorKind::kBadInput, [&] { issuer->Submit(task); }),
              HasSubstr("after task 4"));
  issuer->Synchronize();
  EXPECT_EQ(issuer->Counts().tasks, 0u);
}

TEST_F(IssueTest, ReadyPolicyDecidesWhoTheHostReleasesFirst) {
  GraphIssueOptions options;
  options.release = Release::kHost;
  options.streams_per_unit = 1;
  options.graph.ready = ReadyPolicy::kPriority;
  options.graph.start = StartPolicy::AfterOrchestration();
  const auto issuer = Issue::TaskGraph(context, options);
  for (const int32_t priority : {1, 3, 2}) {
    IssuedTask task = Fill("fill", NewBuffer(), static_cast<uint64_t>(priority));
    task.priority = priority;
    issuer->Submit(task);
  }
  EXPECT_EQ(Executed(Opcode::DMA_FILL), 0);
  issuer->Synchronize();
  std::vector<uint64_t> order;
  for (const auto& done : card.executed) {
    if (static_cast<Opcode>(done.block.opcode) == Opcode::DMA_FILL) {
      order.push_back(done.block.value);
    }
  }
  EXPECT_THAT(order, testing::ElementsAre(3, 2, 1));
}

TEST_F(IssueTest, ChoicesThatExcludeEachOtherAreRefused) {
  const auto refused = [&](const auto& change) {
    GraphIssueOptions options;
    change(options);
    return ErrorOf(ErrorKind::kBadInput, [&] { Issue::TaskGraph(context, options); });
  };
  EXPECT_THAT(refused([](auto& o) { o.graph.ready = ReadyPolicy::kPriority; }),
              HasSubstr("release `host`"));
  EXPECT_THAT(refused([](auto& o) { o.graph.window.overflow = WindowOverflow::kBenchmark; }),
              HasSubstr("benchmark"));
  EXPECT_THAT(refused([](auto& o) { o.streams = 33; }), HasSubstr("1 to 32"));
  EXPECT_THAT(ErrorOf(ErrorKind::kBadInput, [] { ReleaseFromName("hosts"); }),
              HasSubstr("events, host"));
}

TEST_F(IssueTest, IssuersGiveTheirStreamsBack) {
  for (int i = 0; i < 20; ++i) {
    const auto issuer = Issue::TaskGraph(context);
    issuer->Submit(Fill("fill", NewBuffer(), 1));
    issuer->Synchronize();
  }
  int streams = 0;
  for (uint32_t index = 1; index <= flex::kLastStream; ++index) {
    if (context.HasStream(index)) ++streams;
  }
  EXPECT_EQ(streams, 0);
}

}  // namespace
}  // namespace spyre::runtime::issue_test
