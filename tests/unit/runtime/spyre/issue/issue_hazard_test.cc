// SPDX-License-Identifier: Apache-2.0
// Task graphs with explicit dependencies and the hazard tracker: an edge that the application has
// forgotten is the pair that the tracker reports.
#include <gmock/gmock.h>

#include "runtime/spyre/issue/issue.h"
#include "tests/unit/driver/fake_card.h"
#include "tests/unit/error_of.h"

namespace spyre::runtime::issue_hazard_test {
namespace {

using flex::HazardKind;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kBytes = 128;

struct Case {
  Release release;
  HazardKind kind;
};

// A task `first` and a task `second` on one buffer, which make a hazard if nothing orders them.
class ForgottenEdge : public testing::TestWithParam<Case> {
 protected:
  ForgottenEdge() { card.pipelined = true; }
  void Open(const char* hazards) {
    flex::RuntimeOptions options;
    options.hazards = hazards;
    context.emplace(card, 0, options);
    buffer = context->Allocate(kBytes);
    GraphIssueOptions graph;
    graph.release = GetParam().release;
    graph.graph.deps = DependenciesOf("explicit");
    issuer = Issue::TaskGraph(*context, graph);
  }
  ~ForgottenEdge() override { issuer.reset(); }

  TaskId Submit(const char* name, bool writes, std::vector<TaskId> after = {}) {
    const Unit unit = writes ? Unit::kDmaIn : Unit::kDmaOut;
    return issuer->Submit({name,
                           unit,
                           {},
                           [this, name, writes](SpyreStream& stream) {
                             flex::OperationInfo info;
                             info.name = name;
                             flex::FlexStream& on = stream.flex_stream();
                             if (writes) return on.Fill(buffer, kBytes, 7, info);
                             on.CopyFromDevice(host.data(), buffer, kBytes, info);
                           },
                           std::move(after)});
  }
  static bool FirstWrites() { return GetParam().kind != HazardKind::kWriteAfterRead; }
  static bool SecondWrites() { return GetParam().kind != HazardKind::kReadAfterWrite; }

  test::FakeCard card;
  std::array<uint64_t, kBytes / 8> host{};
  std::optional<flex::RuntimeContext> context;
  flex::DeviceHandle buffer;
  std::unique_ptr<Issuer> issuer;
};

TEST_P(ForgottenEdge, IsReportedAsThePair) {
  Open("warning");
  Submit("first", FirstWrites());
  Submit("second", SecondWrites());
  issuer->Synchronize();
  const flex::HazardReport report = context->Hazards();
  ASSERT_EQ(report.hazards.size(), 1u);
  EXPECT_EQ(report.hazards[0].kind, GetParam().kind);
  EXPECT_EQ(report.hazards[0].earlier.name, "first");
  EXPECT_EQ(report.hazards[0].later.name, "second");
  EXPECT_EQ(report.hazards[0].handle, buffer);
  EXPECT_EQ(report.hazards[0].shared_bytes, kBytes);
}

TEST_P(ForgottenEdge, FailsTheSecondTaskInModeError) {
  Open("error");
  Submit("first", FirstWrites());
  Submit("second", SecondWrites());
  EXPECT_THAT(test::BadInputOf([&] { issuer->Synchronize(); }),
              AllOf(HasSubstr("task 'second'"), HasSubstr(flex::Name(GetParam().kind)),
                    HasSubstr("first]")));
  EXPECT_EQ(issuer->Counts().completed, 1u);
  EXPECT_EQ(issuer->Counts().failed, 1u);
}

TEST_P(ForgottenEdge, IsNoHazardOnceItIsGiven) {
  Open("error");
  const TaskId first = Submit("first", FirstWrites());
  Submit("second", SecondWrites(), {first});
  issuer->Synchronize();
  EXPECT_EQ(context->Hazards().found, 0u);
  EXPECT_EQ(context->Hazards().checked, 2u);
  EXPECT_EQ(issuer->Counts().completed, 2u);
}

TEST_P(ForgottenEdge, IsNoHazardIfTheEdgesOfAThirdTaskStandForIt) {
  Open("error");
  const TaskId first = Submit("first", FirstWrites());
  const TaskId between =
      issuer->Submit({"between", Unit::kCores, {}, [](SpyreStream&) {}, {first}});
  Submit("second", SecondWrites(), {between});
  issuer->Synchronize();
  EXPECT_EQ(context->Hazards().found, 0u);
  EXPECT_EQ(issuer->Counts().completed, 3u);
}

INSTANTIATE_TEST_SUITE_P(Issue, ForgottenEdge,
                         testing::Values(Case{Release::kEvents, HazardKind::kReadAfterWrite},
                                         Case{Release::kEvents, HazardKind::kWriteAfterRead},
                                         Case{Release::kEvents, HazardKind::kWriteAfterWrite},
                                         Case{Release::kHost, HazardKind::kReadAfterWrite},
                                         Case{Release::kHost, HazardKind::kWriteAfterRead},
                                         Case{Release::kHost, HazardKind::kWriteAfterWrite}),
                         [](const auto& test) {
                           return std::string(Name(test.param.release)) + "_" +
                                  flex::Name(test.param.kind);
                         });

}  // namespace
}  // namespace spyre::runtime::issue_hazard_test
