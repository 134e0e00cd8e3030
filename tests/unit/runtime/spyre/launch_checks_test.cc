// SPDX-License-Identifier: Apache-2.0
// What a launch is refused for, plans of several operations, and the older interface.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/spyre/launch_kernel.h"
#include "runtime/spyre/program.h"
#include "runtime/spyre/tensor_copy.h"
#include "tests/unit/error_of.h"
#include "tests/unit/runtime/spyre/fake_kernel.h"

namespace spyre::runtime::launch_checks_test {
namespace {

using test::ErrorOf;
using test::FakeCard;

// A context on the PF or a VF, with the copy kernel for [4, 64] loaded.
class LaunchChecks : public testing::TestWithParam<driver::FunctionId> {
 protected:
  LaunchChecks() {
    if (GetParam() != 0) {
      driver::Device physical(card, 0);
      driver::PhysicalFunction(physical).EnableVirtualFunctions(2);
    }
    kernel.InstallOn(card);
    test::WriteCopyKernel(directory.path(), test::CopyKernelJson(4, 64));
    context = std::make_unique<flex::RuntimeContext>(card, GetParam());
    plan = std::make_unique<ExecutionPlan>(directory.path());
    stream = std::make_unique<SpyreStream>(SpyreStream::Default(*context));
    LoadPlan(*stream, *plan);
    stream->Synchronize();
  }
  SpyreTensor Filled(const std::vector<int64_t>& shape, uint64_t pattern) {
    const SpyreTensor tensor = AllocateTensor(*context, shape);
    stream->flex_stream().Fill(tensor.device_handle, tensor.size_bytes, pattern);
    return tensor;
  }
  uint8_t FirstByte(const SpyreTensor& tensor) {
    std::vector<uint8_t> bytes(tensor.size_bytes);
    stream->flex_stream().CopyFromDevice(bytes.data(), tensor.device_handle, bytes.size());
    stream->Synchronize();
    return bytes[0];
  }
  // The call is refused with a text that has `part`, and nothing is enqueued.
  void ExpectRefused(const std::function<void()>& call, const std::string& part) {
    const uint64_t queued = context->Counts().queued;
    const std::string error = ErrorOf(ErrorKind::kBadInput, call);
    EXPECT_NE(error.find(part), std::string::npos) << error;
    EXPECT_EQ(context->Counts().queued, queued) << error;
  }

  FakeCard card;
  test::CopyKernelImitation kernel{4, 64};
  test::TemporaryDirectory directory;
  std::unique_ptr<flex::RuntimeContext> context;
  std::unique_ptr<ExecutionPlan> plan;
  std::unique_ptr<SpyreStream> stream;
};
INSTANTIATE_TEST_SUITE_P(Mode, LaunchChecks, testing::Values(0, 1),
                         [](const auto& mode) { return mode.param == 0 ? "PF" : "VF"; });

TEST_P(LaunchChecks, AComputeOfAPlanAloneBringsItsCorrection) {
  const SpyreTensor a = Filled({4, 64}, 0x11);
  const SpyreTensor b = Filled({8, 64}, 0x22);
  const SpyreTensor out = Filled({4, 64}, 0);
  const SpyreTensor large = Filled({8, 64}, 0);
  LaunchKernel(*stream, *plan, {a, out});
  const SpyreTensor other = Filled({4, 64}, 0);
  const Operation alone(*plan->operations()[0].compute());
  stream->Launch(alone, {a, other});
  EXPECT_EQ(FirstByte(other), 0x11) << "not where the launch before put it";
  stream->LaunchTiled(alone, {b, large});
  EXPECT_EQ(FirstByte(large), 0x22);
  Program program(*stream);
  program.AddInstruction(Instruction(*plan->operations()[0].compute()));
  const SpyreTensor third = Filled({4, 64}, 0);
  program.Launch({a, third});
  EXPECT_EQ(FirstByte(third), 0x11);
}

TEST_P(LaunchChecks, TensorsThatNoStepBindsAreRefused) {
  const SpyreTensor a = AllocateTensor(*context, {4, 64});
  const SpyreCompute& compute = *plan->operations()[0].compute();
  const Operation without(compute, {});
  SpyreCompute by_hand;
  by_hand.device_handle = compute.device_handle;
  by_hand.name = "by hand";
  by_hand.expected_input_shapes = compute.expected_input_shapes;
  by_hand.dimension_names = compute.dimension_names;
  by_hand.arguments = compute.arguments;
  for (const Operation& operation : {without, Operation(by_hand)}) {
    ExpectRefused([&] { stream->Launch(operation, {a, a}); }, "no step of it tells the program");
    ExpectRefused(
        [&] {
          stream->Launch(operation, {a.device_handle, a.device_handle});
        },
        "no step of it tells the program");
    ExpectRefused(
        [&] {
          stream->LaunchTiled(operation, {a, a});
        },
        "no step of it tells the program");
  }
  CopyToDevice copy;
  const std::vector<uint8_t> bytes(128);
  copy.host_address = bytes.data();
  copy.device_handle = a.device_handle;
  copy.size = 128;
  ExpectRefused([&] { stream->Launch(Operation({copy}), {a}); }, "no step of it tells the program");
}

TEST_P(LaunchChecks, HandlesAreCheckedBeforeAnythingIsEnqueued) {
  const SpyreTensor good = AllocateTensor(*context, {4, 64});
  const Operation& operation = plan->operations()[0];
  const DeviceHandle small = context->Allocate(128);
  ExpectRefused([&] { stream->Launch(operation, {good.device_handle, small}); }, "out of bounds");
  const StickLayout layout = DefaultLayout({4, 64}, DataFormat::kSen169Fp16);
  ExpectRefused(
      [&] {
        LaunchKernel(*stream, *plan, {good, TensorAt(small, layout)});
      },
      "out of bounds");
  const StickLayout large = DefaultLayout({8, 64}, DataFormat::kSen169Fp16);
  ExpectRefused(
      [&] {
        LaunchKernel(*stream, *plan, {TensorAt(small, large), TensorAt(small, large)});
      },
      "out of bounds");
  context->Free(small);
  ExpectRefused([&] { stream->Launch(operation, {good.device_handle, small}); }, "was freed");
  const DeviceHandle never = flex::IsPhysical(small)
                                 ? DeviceHandle(flex::PFDeviceHandle{1 << 20})
                                 : DeviceHandle(flex::VFDeviceHandle{0, 1 << 19});
  ExpectRefused(
      [&] {
        stream->Launch(operation, {good.device_handle, never});
      },
      "nothing is allocated");
  const DeviceHandle other_mode = flex::IsPhysical(small) ? DeviceHandle(flex::VFDeviceHandle{0, 0})
                                                          : DeviceHandle(flex::PFDeviceHandle{0});
  ExpectRefused([&] { stream->Launch(operation, {good.device_handle, other_mode}); }, "function");
}

TEST_P(LaunchChecks, HandlesAndPlansOfAnotherContextAreRefused) {
  FakeCard card2;
  if (GetParam() != 0) {
    driver::Device physical(card2, 0);
    driver::PhysicalFunction(physical).EnableVirtualFunctions(1);
  }
  flex::RuntimeContext other(card2, GetParam());
  const SpyreTensor foreign = AllocateTensor(other, {4, 64});
  const SpyreTensor mine = AllocateTensor(*context, {4, 64});
  ExpectRefused([&] { LaunchKernel(*stream, *plan, {mine, foreign}); }, "another context");
  SpyreStream theirs = SpyreStream::Default(other);
  const std::string error = ErrorOf(ErrorKind::kBadInput, [&] {
    LaunchKernel(theirs, *plan, {foreign, foreign});
  });
  EXPECT_NE(error.find("another context"), std::string::npos) << error;
  EXPECT_EQ(other.Counts().queued, 0u);
}

TEST_P(LaunchChecks, AProgramWhosePlaceIsReusedIsNotLaunched) {
  DMAEngine dma(*stream);
  const DeviceHandle place = context->Allocate(1024, flex::MemoryKind::kProgram);
  Program program(*stream, ExecutionPlan(directory.path()));
  dma.Copy(program, place);
  context->Free(place);
  context->Allocate(1024, flex::MemoryKind::kProgram);
  const SpyreTensor a = AllocateTensor(*context, {4, 64});
  ExpectRefused([&] { program.Launch({a, a}); }, "was freed");
}

TEST_P(LaunchChecks, ProgramsAreCopiedToProgramMemoryThatIsLongEnough) {
  DMAEngine dma(*stream);
  Program program(*stream, ExecutionPlan(directory.path()));
  EXPECT_EQ(program.instructions().size(), 1u) << "visible before it is on the device";
  const DeviceHandle tensor = context->Allocate(4096);
  ExpectRefused([&] { dma.Copy(program, tensor); }, "tensor memory");
  const DeviceHandle small = context->Allocate(512, flex::MemoryKind::kProgram);
  ExpectRefused([&] { dma.Copy(program, small); }, "has 512 bytes");
  const DeviceHandle large = context->Allocate(4096, flex::MemoryKind::kProgram);
  ExpectRefused([&] { dma.Copy(program, flex::Offset(large, 128)); }, "inside the allocation");
  ExpectRefused([&] { program.Launch({}); }, "not on the device");
  dma.Copy(program, large);
  const SpyreTensor a = Filled({8, 64}, 0x33);
  const SpyreTensor out = Filled({8, 64}, 0);
  LaunchKernel(program, {a, out});
  EXPECT_EQ(FirstByte(out), 0x33);
  EXPECT_EQ(kernel.launches, 2) << "two tiles";
}

TEST_P(LaunchChecks, InstructionsAreRemovedByValue) {
  const SpyreCompute& compute = *plan->operations()[0].compute();
  Program program(*stream);
  program.AddInstruction(Instruction(compute));
  program.RemoveInstruction(Instruction(compute));
  EXPECT_TRUE(program.instructions().empty());
  SpyreCompute other = compute;
  other.name = "other";
  program.AddInstruction(Instruction(compute));
  ErrorOf(ErrorKind::kBadInput, [&] { program.RemoveInstruction(Instruction(other)); });
}

// Two operations: the first copies argument 0 to argument 1, the second 1 to 2.
nlohmann::json TwoOperations() {
  nlohmann::json code = test::CopyKernelJson(4, 64);
  nlohmann::json steps = code["JobExecPlan"];
  for (size_t i = 0; i < 2; ++i) {
    nlohmann::json first = steps[0];
    first["properties"]["ohandle"] = "input " + std::to_string(i);
    first["properties"]["ishape"] = {"3"};
    first["properties"]["hcm"] = {{"version", 1},
                                  {"records", {{{"argument", i}}, {{"argument", i + 1}}}}};
    nlohmann::json second = steps[1];
    second["properties"]["host_handle"] = "input " + std::to_string(i);
    if (i == 0) code["JobExecPlan"] = nlohmann::json::array();
    for (const nlohmann::json& step : {first, second, steps[2], steps[3]}) {
      code["JobExecPlan"].push_back(step);
    }
  }
  code["Metadata"]["arguments"] = {test::ArgumentJson("a", "input", {4, 64}, {"rows", "cols"}),
                                   test::ArgumentJson("b", "output", {4, 64}, {"rows", "cols"}),
                                   test::ArgumentJson("c", "output", {4, 64}, {"rows", "cols"})};
  return code;
}

TEST_P(LaunchChecks, EachOperationOfAPlanTakesItsOwnTensors) {
  test::WriteCopyKernel(directory.path(), TwoOperations());
  ExecutionPlan two(directory.path());
  ASSERT_EQ(two.operations().size(), 2u) << "before it is loaded";
  EXPECT_EQ(two.operations()[1].compute()->arguments.at(0).name, "b");
  EXPECT_EQ(two.operations()[1].compute()->expected_input_shapes.size(), 2u);
  LoadPlan(*stream, two);
  const SpyreTensor a = Filled({4, 64}, 0x44);
  const SpyreTensor b = Filled({4, 64}, 0);
  const SpyreTensor c = Filled({4, 64}, 0);
  LaunchKernel(*stream, two, {a, b, c});
  EXPECT_EQ(FirstByte(c), 0x44);
  EXPECT_EQ(FirstByte(b), 0x44);
}

TEST_P(LaunchChecks, APlanIsCheckedAsAWholeBeforeItsFirstOperation) {
  test::WriteCopyKernel(directory.path(), TwoOperations());
  ExecutionPlan two(directory.path());
  LoadPlan(*stream, two);
  const SpyreTensor a = AllocateTensor(*context, {4, 64});
  const SpyreTensor wrong = AllocateTensor(*context, {6, 64});
  ExpectRefused([&] { LaunchKernel(*stream, two, {a, a, wrong}); }, "kernel 'copy'");
  ExpectRefused([&] { LaunchKernel(*stream, two, {a, a}); }, "2 were given");
}

TEST_P(LaunchChecks, AStreamObjectHasAStreamOfItsOwn) {
  std::vector<SpyreStream> streams;
  for (int i = 0; i < 32; ++i) streams.emplace_back(*context);
  const std::string error = ErrorOf(ErrorKind::kBadInput, [&] { SpyreStream one(*context); });
  EXPECT_NE(error.find("no normal stream is free"), std::string::npos) << error;
  const uint32_t index = streams.back().flex_stream().stream_index();
  const SpyreStream copy = streams.back();
  streams.pop_back();
  EXPECT_TRUE(context->HasStream(index)) << "a copy has it";
  EXPECT_NO_THROW(SpyreStream(*context, true)) << "others are of high priority";
  streams.clear();
  for (int i = 0; i < 100; ++i) EXPECT_NO_THROW(SpyreStream one(*context));
}

TEST_P(LaunchChecks, AnErrorStaysWithItsStreamObject) {
  uint32_t index = 0;
  {
    SpyreStream failing(*context);
    index = failing.flex_stream().stream_index();
    const SpyreTensor tensor = AllocateTensor(*context, {4, 64});
    failing.flex_stream().Callback([] { throw std::runtime_error("broken"); });
    EXPECT_THROW(failing.Synchronize(), Error);
  }
  SpyreStream next(*context);
  EXPECT_NE(next.flex_stream().stream_index(), index);
  EXPECT_NO_THROW(next.Synchronize());
}

}  // namespace
}  // namespace spyre::runtime::launch_checks_test
