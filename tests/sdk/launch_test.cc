// SPDX-License-Identifier: Apache-2.0
// Launches of bundles that dxp_standalone has compiled, with the steps that torch-spyre makes of
// spyrecode.json.
#include <gmock/gmock.h>
#include <signal.h>
#include <spyrecode-host-functions/processSpyreCodeArtifacts.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <flex/flex.hpp>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/paths.h"
#include "tests/sdk/card.h"
#include "tests/sdk/kernels.h"
#include "tests/sdk/shell.h"

namespace spyre::sdk_test::launch_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Leaves these operations of a bundle and no others.
std::function<void(const fs::path&)> Only(const std::set<std::string>& files) {
  return [files](const fs::path& directory) {
    std::ifstream in(directory / "bundle.mlir");
    std::string text;
    for (std::string line; std::getline(in, line);) {
      const bool executes = line.find("sdsc_execute") != std::string::npos;
      const bool kept = std::any_of(files.begin(), files.end(), [&](const std::string& file) {
        return line.find('"' + file + '"') != std::string::npos;
      });
      if (!executes || kept) text += line + "\n";
    }
    in.close();
    std::ofstream(directory / "bundle.mlir") << text;
  };
}

TEST(SdkLaunch, ABundleThatWasCompiledAloneAddsItsArguments) {
  const auto context = Open();
  Add add(*context);
  flex::RuntimeStream& stream = *context->getDefaultStream();
  EXPECT_EQ(add.Run(stream, 1.5, 2), deeptools::FloatToFp16Bin(3.5));
  EXPECT_EQ(add.Run(stream, -1, 0.25), deeptools::FloatToFp16Bin(-0.75));
  EXPECT_EQ(add.Run(*context->createStream(flex::RuntimeStreamPriority::HIGH), 8, 9),
            deeptools::FloatToFp16Bin(17));
}

TEST(SdkLaunch, TheVirtualAndThePhysicalFunctionAddAlike) {
  setenv("FLEX_DEVICE", "PF", 1);
  const auto context = Open();
  Add add(*context);
  EXPECT_EQ(add.Run(*context->getDefaultStream(), 1.5, 2), deeptools::FloatToFp16Bin(3.5));
}

TEST(SdkLaunch, AFaultOfTheCardIsTheCallersExceptionAndTheCardGoesOn) {
  const auto context = Open();
  Add add(*context);
  flex::RuntimeStream& stream = *context->getDefaultStream();
  std::vector<int64_t> addresses = add.Addresses();
  addresses[1] = int64_t{6} << flex::SEGMENT_SIZE_BITS | (int64_t{15} << 30);  // nobody's
  add.kernel().Launch(stream, addresses, "add_of_nothing");
  const std::string error = ErrorOf([&] { stream.synchronize(); });
  EXPECT_THAT(error, HasSubstr("add_of_nothing"));
  EXPECT_THAT(error, HasSubstr("fault address 0x1bc0000000"));
  EXPECT_THAT(error, HasSubstr("its arguments: 0 has 16384 bytes at"));
  EXPECT_THAT(error, HasSubstr("1 at 0x1bc0000000 is no memory that the program has"));
  EXPECT_FALSE(stream.needsShutdown());
  EXPECT_FALSE(context->hasStreamError());
  EXPECT_EQ(add.Run(stream, 1, 1), deeptools::FloatToFp16Bin(2));
}

// The result of an add gets half of the memory that it needs; behind it lies another tensor.
void ExpectWritesInside(const char* function) {
  setenv("FLEX_DEVICE", function, 1);
  const auto context = Open();
  Add add(*context);
  flex::RuntimeStream& stream = *context->getDefaultStream();
  const flex::CompositeAddress half = Memory(*context, kAddBytes / 2);
  const flex::CompositeAddress neighbour = Memory(*context, kAddBytes / 2);
  Fill(stream, neighbour, 7, DataFormats::SEN169_FP16);
  std::vector<int64_t> addresses = add.Addresses();
  addresses[2] = static_cast<int64_t>(context->getAllocator()->compositeAddressToDmva(half));
  EXPECT_THAT(ErrorOf([&] { add.kernel().Launch(stream, addresses, "add_too_far"); }),
              HasSubstr("kernel add_too_far is not launched: it writes argument 2 as far as byte "
                        "16384, which has 8192 bytes"));
  std::vector<uint16_t> kept(kAddBytes / 4);
  CopyFrom(stream, kept.data(), neighbour);
  stream.synchronize();
  EXPECT_THAT(kept, ::testing::Each(deeptools::FloatToFp16Bin(7)));
  EXPECT_EQ(add.Run(stream, 8, 9), deeptools::FloatToFp16Bin(17));
}

TEST(SdkLaunch, AKernelThatWouldWriteBehindItsArgumentIsNotLaunched) { ExpectWritesInside("VF"); }

TEST(SdkLaunch, AKernelOfThePhysicalFunctionIsNotLaunchedEither) { ExpectWritesInside("PF"); }

// A softmax in two bundles, as torch-spyre writes them where something else comes in between: the
// maximum of each row stays in LX, at its start. Every number is the same, and so is every result.
TEST(SdkLaunch, ABundleFindsInLxWhatTheBundleBeforeHasLeftThere) {
  const auto context = Open();
  flex::RuntimeStream& stream = *context->getDefaultStream();
  constexpr size_t kBytes = 32 * 256 * 2;
  const flex::CompositeAddress input = Memory(*context, kBytes), output = Memory(*context, kBytes);
  const auto address = [&](const flex::CompositeAddress& memory) {
    return static_cast<int64_t>(context->getAllocator()->compositeAddressToDmva(memory));
  };
  const char* const softmax = "bundles/symbolic_args/softmax_lx_32x256/flat";
  Kernel maximum(*context, Compiled(softmax, Only({"sdsc_0.json"})));
  Kernel rest(
      *context,
      Compiled(softmax, Only({"sdsc_1.json", "sdsc_2.json", "sdsc_3.json", "sdsc_4.json"})));
  Fill(stream, input, 30000, DataFormats::SEN169_FP16);  // its exponential is no number
  maximum.Launch(stream, {address(input), address(output)});
  rest.Launch(stream, {address(input), address(output)});
  std::vector<uint16_t> result(kBytes / 2);
  CopyFrom(stream, result.data(), output);
  stream.synchronize();
  EXPECT_THAT(result, ::testing::Each(deeptools::FloatToFp16Bin(1.0F / 256)));
}

// A flip: an index for each of five blocks of [3, 2, 256]. The bundle does not say that there are
// five.
TEST(SdkLaunch, AnIndexChoosesAmongAllBlocksThatItsTensorHas) {
  const auto context = Open();
  flex::RuntimeStream& stream = *context->getDefaultStream();
  constexpr size_t kBlocks = 5, kBlockBytes = 3 * 2 * 256 * 2;
  const flex::CompositeAddress index = Memory(*context, 128);
  const flex::CompositeAddress table = Memory(*context, kBlocks * kBlockBytes);
  const flex::CompositeAddress result = Memory(*context, kBlocks * kBlockBytes);
  std::vector<uint32_t> indices(32);
  std::vector<uint16_t> numbers(kBlocks * kBlockBytes / 2), flipped(numbers.size());
  for (size_t i = 0; i < kBlocks; ++i) {
    indices[i] = static_cast<uint32_t>(kBlocks - 1 - i);
    std::fill_n(numbers.begin() + static_cast<int64_t>(i * kBlockBytes / 2), kBlockBytes / 2,
                deeptools::FloatToFp16Bin(static_cast<float>(i)));
  }
  CopyTo(stream, indices.data(), index);
  CopyTo(stream, numbers.data(), table);
  std::vector<int64_t> addresses;
  for (const flex::CompositeAddress* memory : {&index, &table, &result})
    addresses.push_back(
        static_cast<int64_t>(context->getAllocator()->compositeAddressToDmva(*memory)));
  Kernel(*context, Compiled("captured_bundles/flip_of_blocks")).Launch(stream, addresses);
  CopyFrom(stream, flipped.data(), result);
  stream.synchronize();
  // In the result eight sticks of each block come in turn.
  for (size_t stick = 0; stick < flipped.size() / 64; ++stick)
    EXPECT_EQ(flipped[stick * 64],
              deeptools::FloatToFp16Bin(static_cast<float>(kBlocks - 1 - stick / 8 % kBlocks)))
        << stick;
}

// As torch-spyre masks the padding of a softmax: here 56 of 256 columns, which then do not count.
TEST(SdkLaunch, MaskedExponentialsAreZero) {
  const auto context = Open();
  flex::RuntimeStream& stream = *context->getDefaultStream();
  constexpr size_t kRows = 32, kStick = 64, kBytes = kRows * 256 * 2;
  const flex::CompositeAddress input = Memory(*context, kBytes), output = Memory(*context, kBytes);
  const auto address = [&](const flex::CompositeAddress& memory) {
    return static_cast<int64_t>(context->getAllocator()->compositeAddressToDmva(memory));
  };
  const Compiled masked(
      "bundles/symbolic_args/softmax_lx_32x256/flat", [](const fs::path& directory) {
        const fs::path path = directory / "sdsc_2.json";
        nlohmann::json json = nlohmann::json::parse(std::ifstream(path));
        json.at("2_exp").at("dscs_").at(0).at("exp")["coordinateMasking_"] = {{"out", {{200, 56}}}};
        std::ofstream(path) << json;
      });
  Kernel softmax(*context, masked);
  Fill(stream, input, 3, DataFormats::SEN169_FP16);
  softmax.Launch(stream, {address(input), address(output)});
  std::vector<uint16_t> result(kBytes / 2);
  CopyFrom(stream, result.data(), output);
  stream.synchronize();
  for (size_t i = 0; i < result.size(); ++i) {
    const size_t column = i / (kRows * kStick) * kStick + i % kStick;
    EXPECT_EQ(result[i], column < 200 ? deeptools::FloatToFp16Bin(1.0F / 200) : 0) << i;
  }
}

TEST(SdkLaunch, AHostComputationWithNothingToComputeIsRefused) {
  Hcm hcm;
  hcm.importJsonStr(R"({"vdci": {}, "senConstants": []})");
  std::vector<char> buffer(128);
  EXPECT_THAT(ErrorOf([&] { deeptools::processComputeOnHostCommand(hcm, buffer.data(), nullptr); }),
              HasSubstr("Expect one DCI"));
  deeptools::FastHcmPatchPlan plan;
  EXPECT_FALSE(deeptools::buildFastHcmPatchPlan(plan, hcm));
}

TEST(SdkLaunch, HcmThatIsWrongIsRefusedWithItsField) {
  const std::map<std::string, std::string> wrong = {
      {R"({"vdci": "invalid"})", "vdci field"},
      {R"("text")", "an object is expected"},
      {R"({})", "vdci field is missing"},
      {R"({"vdci": {"inputSym": 3}})", "inputSym field"},
      {R"({"vdci": {"inputSym": ["a"], "writtenBytes": [1, 2]}})", "writtenBytes field"},
      {R"({"vdci": {"inputSym": ["a"], "writtenBytes": [-1]}})", "1 numbers of bytes"},
      {R"({"vdci": {"inputSym": ["a"]}, "records": [{"argument": 1}]})", "one of 1 arguments"}};
  for (const auto& [text, message] : wrong) {
    Hcm hcm;
    EXPECT_THAT(ErrorOf([&] { hcm.importJsonStr(text); }), HasSubstr(message)) << text;
  }
}

TEST(SdkLaunch, BothWaysOfCorrectionWriteTheSameRecords) {
  Hcm hcm;
  hcm.importJsonStr(
      R"({"version": 1, "vdci": {"inputSym": ["a", "b"]}, "records": [{"argument": 1}, {"argument": 0}]})");
  deeptools::FastHcmPatchPlan plan;
  ASSERT_TRUE(deeptools::buildFastHcmPatchPlan(plan, hcm));
  EXPECT_EQ(plan.output_size, 128u);
  EXPECT_EQ(plan.num_input_symbols, 2u);
  ASSERT_EQ(plan.patches.size(), 2u);
  const std::vector<int64_t> addresses = {0x1000, 0x2000};
  std::vector<char> slow(128, 1), fast(128, 2);
  deeptools::processComputeOnHostCommand(hcm, slow.data(), &addresses);
  EXPECT_TRUE(
      deeptools::processComputeOnHostCommandFast(plan, hcm, fast.data(), addresses.data(), 2));
  EXPECT_EQ(slow, fast);
  uint64_t first = 0;  // of record 0, behind its kind and region: the place of argument 1
  std::memcpy(&first, slow.data() + 8, sizeof first);
  EXPECT_EQ(first, 0x2000u);
  EXPECT_THAT(ErrorOf([&] {
                const std::vector<int64_t> one = {0};
                deeptools::processComputeOnHostCommand(hcm, slow.data(), &one);
              }),
              HasSubstr("2 input symbols, and 1 addresses"));
}

// A program for exec_test.cc: it is told to end, and has not said what it does then.
TEST(SdkEnding, DISABLED_AfterALaunchASignalComes) {
  const auto context = Open();
  Add add(*context);
  add.Run(*context->getDefaultStream(), 1.5, 2);
  raise(SIGTERM);
  for (;;) pause();
}

// A program for exec_test.cc: it ends as Python's os._exit does.
TEST(SdkEnding, DISABLED_AfterALaunchItExitsAtOnce) {
  const auto context = Open();
  Add add(*context);
  add.Run(*context->getDefaultStream(), 1.5, 2);
  const pid_t child = fork();  // it has no report to write
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  _exit(7);
}

// A program for exec_test.cc: a name that is as long as the trace keeps it.
TEST(SdkEnding, DISABLED_AKernelOf255Letters) {
  const auto context = Open();
  Add add(*context);
  add.kernel().Launch(*context->getDefaultStream(), add.Addresses(), std::string(255, 'k'));
  context->getDefaultStream()->synchronize();
}

// A program for exec_test.cc: its second argument has half of what its bundle reads.
TEST(SdkEnding, DISABLED_AnArgumentIsTooSmall) {
  const auto context = Open();
  Add add(*context);
  const flex::CompositeAddress half = Memory(*context, kAddBytes / 2);
  std::vector<int64_t> addresses = add.Addresses();
  addresses[1] = static_cast<int64_t>(context->getAllocator()->compositeAddressToDmva(half));
  add.kernel().Launch(*context->getDefaultStream(), addresses);
  context->getDefaultStream()->synchronize();
}

TEST(DxpStandalone, ARefusalIsOnStandardErrorAndInTheStatus) {
  EXPECT_EQ(Dxp("").status, 2);
  const Output missing = Dxp("-d /nowhere");
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.text, HasSubstr("dxp_standalone: /nowhere"));
  const fs::path broken = fs::temp_directory_path() / ("spyre_dxp_" + std::to_string(getpid()));
  fs::create_directories(broken);
  std::ofstream(broken / "bundle.mlir") << "module { func.func @sdsc_bundle() { oops } }";
  const Output refused = Dxp("-d " + broken.string());
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.text, HasSubstr("bundle.mlir:1"));
  EXPECT_FALSE(fs::exists(broken / "spyreCodeDir"));
  fs::remove_all(broken);
  EXPECT_EQ(Dxp("--help").status, 0);
}

}  // namespace
}  // namespace spyre::sdk_test::launch_test
