// SPDX-License-Identifier: Apache-2.0
// Collectives of programs that drive a card each, under `spyre-cosim exec --cards N`: the ranks are
// tests of this executable that only run so.
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <spyre_comms.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/paths.h"
#include "tests/sdk/card.h"
#include "tests/sdk/shell.h"

namespace spyre::sdk_test::comms_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using spyre_comms::SpyreReductionOpType;
using spyre_comms::Tensor;
using spyre_comms::TensorDataTypeEnum;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr DataFormats kFormat = DataFormats::SEN169_FP16;

// The device of a rank is that of its number on the host, as torch-spyre has it.
std::shared_ptr<flex::RuntimeContext> OpenOwn() {
  std::shared_ptr<flex::RuntimeContext> context;
  const char* const rank = std::getenv("LOCAL_RANK");
  flex::initializeRuntime(&context, rank == nullptr ? 0 : std::atoi(rank));
  return context;
}

class SdkCommsRank : public ::testing::Test {
 protected:
  SdkCommsRank() : context_(OpenOwn()), stream_(*context_->getDefaultStream()) {
    spyre_comms::initialize_library(context_, &stream_);
    spyre_comms::initialize_library(context_, &stream_);  // once is enough
    world_ = spyre_comms::get_world_context();
    rank_ = world_->getRank();
    ranks_ = static_cast<int>(world_->getSize());
  }
  ~SdkCommsRank() override {
    world_.reset();
    spyre_comms::finalize_library();
    EXPECT_EQ(spyre_comms::get_world_context(), nullptr);
  }

  // Memory full of a number.
  flex::CompositeAddress Full(double value, size_t bytes = 8192) {
    flex::CompositeAddress memory = Memory(*context_, bytes);
    Fill(stream_, memory, value, kFormat);
    return memory;
  }
  static Tensor Of(const flex::CompositeAddress& memory,
                   TensorDataTypeEnum type = TensorDataTypeEnum::float16) {
    Tensor tensor(spyre_comms::TensorInfo(
        type, spyre_comms::TensorShape({static_cast<int64_t>(memory.total_size() / 2)})));
    tensor.SetSpyreDeviceAddressBorrowed(&memory);
    return tensor;
  }
  std::vector<char> Bytes(const flex::CompositeAddress& memory) {
    std::vector<char> bytes(memory.total_size());
    CopyFrom(stream_, bytes.data(), memory);
    stream_.synchronize();
    return bytes;
  }
  void ExpectFull(const flex::CompositeAddress& memory, double value) {
    EXPECT_EQ(Bytes(memory), Bytes(Full(value, memory.total_size()))) << "rank " << rank_;
  }
  static void Finish(const spyre_comms::Work& work) {
    work->start();
    work->wait();
    EXPECT_TRUE(work->query());
  }

  std::shared_ptr<flex::RuntimeContext> context_;
  flex::RuntimeStream& stream_;
  std::shared_ptr<spyre_comms::Context> world_;
  int rank_ = 0, ranks_ = 1;
};

TEST_F(SdkCommsRank, DISABLED_CallsAll) {
  const double mine = rank_ + 1, all = ranks_ * (ranks_ + 1) / 2;
  for (const size_t bytes : {size_t{128}, size_t{8192}, size_t{1} << 20}) {
    const flex::CompositeAddress sum = Full(mine, bytes);
    Finish(world_->allreduce(Of(sum), SpyreReductionOpType::SUM));
    ExpectFull(sum, all);
    const flex::CompositeAddress given = Full(mine, bytes);
    Finish(world_->broadcast(Of(given, TensorDataTypeEnum::float32), 1));
    ExpectFull(given, 2);
    const flex::CompositeAddress part = Full(mine, bytes);
    Finish(world_->reduce(Of(part), SpyreReductionOpType::SUM, 1));
    if (rank_ == 1) ExpectFull(part, all);
    const flex::CompositeAddress input = Full(mine, bytes);
    std::vector<flex::CompositeAddress> outputs;
    std::vector<Tensor> tensors;
    for (int i = 0; i < ranks_; ++i) outputs.push_back(Full(-1, bytes));
    for (const flex::CompositeAddress& output : outputs) tensors.push_back(Of(output));
    Finish(world_->allgather(tensors, Of(input)));
    for (int i = 0; i < ranks_; ++i) {
      ExpectFull(outputs[i], i + 1);
      Fill(stream_, outputs[i], -1, kFormat);
    }
    Finish(world_->gather(rank_ == 0 ? tensors : std::vector<Tensor>(), Of(input), 0));
    for (int i = 0; i < ranks_; ++i) ExpectFull(outputs[i], rank_ == 0 ? i + 1 : -1);
  }
  Finish(world_->barrier());
}

// Both directions at once, as PyTorch's isend and irecv; tags fit, whatever their order.
TEST_F(SdkCommsRank, DISABLED_SendsAround) {
  const flex::CompositeAddress first = Full(rank_ + 1), second = Full(10 * (rank_ + 1));
  const flex::CompositeAddress got_first = Full(0), got_second = Full(0);
  const int next = (rank_ + 1) % ranks_, before = (rank_ + ranks_ - 1) % ranks_;
  const std::vector<spyre_comms::Work> works = {
      world_->send(Of(first), next, 1), world_->recv(Of(got_second), before, 2),
      world_->send(Of(second), next, 2), world_->recv(Of(got_first), before, 1)};
  for (const auto& work : works) work->start();
  works.back()->wait();
  for (const auto& work : works) work->wait();
  ExpectFull(got_first, before + 1);
  ExpectFull(got_second, 10 * (before + 1));
}

TEST_F(SdkCommsRank, DISABLED_CallsOtherThings) {
  const std::string what = std::getenv("SPYRE_TEST_MISMATCH");
  const flex::CompositeAddress memory = Full(1, what == "size" && rank_ == 1 ? 4096 : 8192);
  const bool other = rank_ == 1;
  const TensorDataTypeEnum type =
      what == "type" && other ? TensorDataTypeEnum::int8 : TensorDataTypeEnum::float16;
  const spyre_comms::Work work = what == "order" && other ? world_->barrier()
                                 : what == "missing" && other
                                     ? world_->send(Of(memory), 0, 0)
                                     : world_->broadcast(Of(memory, type), 0);
  const std::string error = ErrorOf([&] { Finish(work); });
  ASSERT_FALSE(error.empty());
  std::printf("rank %d: %s\n", rank_, error.c_str());
}

// Rank 1 ends, as it should, without the last call of the others.
TEST_F(SdkCommsRank, DISABLED_LeavesOne) {
  Finish(world_->barrier());
  if (rank_ == 1) return;
  const flex::CompositeAddress memory = Full(1);
  const std::string error =
      ErrorOf([&] { Finish(world_->allreduce(Of(memory), SpyreReductionOpType::SUM)); });
  std::printf("rank %d: %s\n", rank_, error.c_str());
}

TEST_F(SdkCommsRank, DISABLED_Dies) {
  Finish(world_->barrier());
  if (rank_ == 1) raise(SIGKILL);
  std::printf("%s\n", ErrorOf([&] { Finish(world_->barrier()); }).c_str());
}

// As in a barrier of the host: rank 0 waits in it for rank 1, which waits for its card.
TEST_F(SdkCommsRank, DISABLED_WaitsOnTheHost) {
  const std::string place = std::getenv("SPYRE_TEST_PLACE");
  if (rank_ == 0) {
    char byte = 0;
    std::ifstream(place).get(byte);
    EXPECT_EQ(byte, '1');
  } else {
    for (int i = 0; i < 3; ++i) ExpectFull(Full(i), i);
    std::ofstream(place) << "1";
  }
  Finish(world_->barrier());
}

// While it lives, the machine has more to do than it has processors: for this process and those
// that it starts, it is a machine of one.
class BusyMachine {
 public:
  BusyMachine() {
    sched_getaffinity(0, sizeof(allowed_), &allowed_);
    size_t processor = 0;
    while (!CPU_ISSET(processor, &allowed_)) ++processor;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof(one), &one);
    for (int i = 0; i < 3; ++i) {
      threads_.emplace_back([this] {
        while (!over_) {
        }
      });
    }
  }
  ~BusyMachine() {
    over_ = true;
    for (std::thread& thread : threads_) thread.join();
    sched_setaffinity(0, sizeof(allowed_), &allowed_);
  }
  BusyMachine(const BusyMachine&) = delete;
  BusyMachine& operator=(const BusyMachine&) = delete;

 private:
  cpu_set_t allowed_{};
  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

// `--gtest_filter=NAME` of this executable as so many ranks.
class SdkComms : public ::testing::Test {
 protected:
  ~SdkComms() override { fs::remove_all(directory_); }

  Output Run(int ranks, const std::string& test, const std::string& options = "") {
    const std::string program = fs::read_symlink("/proc/self/exe").string();
    const std::string all =
        "export WORLD_SIZE=" + std::to_string(ranks) +
        " LOCAL_WORLD_SIZE=" + std::to_string(ranks) + "; for RANK in $(seq 0 " +
        std::to_string(ranks - 1) + "); do export RANK LOCAL_RANK=$RANK; " + program +
        " --gtest_also_run_disabled_tests --gtest_filter=SdkCommsRank.DISABLED_" + test +
        " & ranks=\"$ranks $!\"; done; status=0; for rank in $ranks; do wait $rank || status=1; "
        "done;"
        " exit $status";
    return Shell("timeout 120 " + std::string(SPYRE_COSIM_PROGRAM) + " exec --out " + Path("out") +
                 " --cards " + std::to_string(ranks) + " " + options + " -- sh -c '" + all +
                 "' 2>&1");
  }
  std::string Path(const std::string& name) const { return (directory_ / name).string(); }
  // The same on a machine that may be idle, and on one that is busy.
  void ExpectTheSameTraceOnABusyMachine(int ranks, const std::string& test) {
    const Output alone = Run(ranks, test);
    ASSERT_EQ(alone.status, 0) << alone.text;
    const std::string digest = Report().at("trace").at("digest");
    const BusyMachine busy;
    const Output beside = Run(ranks, test);
    ASSERT_EQ(beside.status, 0) << beside.text;
    EXPECT_EQ(Report().at("trace").at("digest"), digest);
  }
  json Report() const {
    std::ifstream file(Path("out/report.json"));
    return json::parse(file, nullptr, false);
  }

 private:
  const fs::path directory_ =
      fs::temp_directory_path() / ("spyre_comms_" + std::to_string(getpid()));
};

constexpr const char* kNoTrace = "--set trace.enabled=false";

TEST_F(SdkComms, EveryCollectiveIsRightOnTwoAndFourCards) {
  for (const int ranks : {2, 4}) {
    const Output run = Run(ranks, "CallsAll", kNoTrace);
    EXPECT_EQ(run.status, 0) << run.text;
  }
}

TEST_F(SdkComms, EveryAlgorithmGivesTheSame) {
  for (const std::string algorithm : {"ring", "tree", "direct"}) {
    setenv("SPYRE_COMMS_ALGORITHM", algorithm.c_str(), 1);
    const Output run = Run(3, "CallsAll", kNoTrace);
    EXPECT_EQ(run.status, 0) << algorithm << run.text;
  }
  unsetenv("SPYRE_COMMS_ALGORITHM");
}

TEST_F(SdkComms, MessagesCrossInBothDirections) {
  const Output run = Run(3, "SendsAround");
  EXPECT_EQ(run.status, 0) << run.text;
}

TEST_F(SdkComms, TheSameRunLeavesTheSameTraceHoweverBusyTheMachineIs) {
  ExpectTheSameTraceOnABusyMachine(3, "SendsAround");
}

TEST_F(SdkComms, TheSameCollectivesLeaveTheSameTraceHoweverBusyTheMachineIs) {
  ExpectTheSameTraceOnABusyMachine(3, "CallsAll");
}

TEST_F(SdkComms, ARankThatWaitsOnTheHostForAnotherOneDoesNotStopTime) {
  fs::create_directories(Path(""));
  ASSERT_EQ(mkfifo(Path("place").c_str(), 0600), 0);
  setenv("SPYRE_TEST_PLACE", Path("place").c_str(), 1);
  ExpectTheSameTraceOnABusyMachine(2, "WaitsOnTheHost");
}

TEST_F(SdkComms, WhoCallsSomethingElseIsNamedWithTheOther) {
  for (const std::string what : {"size", "type", "order", "missing"}) {
    setenv("SPYRE_TEST_MISMATCH", what.c_str(), 1);
    const Output run = Run(2, "CallsOtherThings");
    EXPECT_THAT(run.text,
                AllOf(ContainsRegex("rank 0: .*rank 1"), ContainsRegex("rank 1: .*rank 0")))
        << what;
  }
  unsetenv("SPYRE_TEST_MISMATCH");
}

TEST_F(SdkComms, WhoEndsBeforeACallOfAllIsNamedByTheOthers) {
  const Output run = Run(3, "LeavesOne");
  EXPECT_EQ(run.status, 0) << run.text;
  EXPECT_THAT(run.text, AllOf(ContainsRegex("rank 0: rank 0 waits for rank 1 in all_reduce"),
                              ContainsRegex("rank 2: rank 2 waits for rank . in all_reduce")));
}

TEST_F(SdkComms, ARankThatDiesEndsTheRunWithItsName) {
  const Output run = Run(2, "Dies");
  EXPECT_NE(run.status, 0);
  EXPECT_THAT(run.text, ContainsRegex("rank 1 \\(process [0-9]+\\) died; the run is ended"));
}

}  // namespace
}  // namespace spyre::sdk_test::comms_test
