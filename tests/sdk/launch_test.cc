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
#include "tests/sdk/shell.h"

namespace spyre::sdk_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

Output Dxp(const std::string& arguments) {
  return Shell(std::string(SPYRE_DXP_STANDALONE) + " " + arguments);
}

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

// A copy of a committed bundle, compiled; edit: what is changed in it before.
class Compiled {
 public:
  explicit Compiled(const std::string& bundle,
                    const std::function<void(const fs::path&)>& edit = {})
      : directory_(fs::temp_directory_path() / ("spyre_sdk_launch_" + std::to_string(getpid()))) {
    fs::remove_all(directory_);
    fs::copy(fs::path(SPYRE_SOURCE_DIR) / "tests/data/bundles" / bundle, directory_);
    if (edit) edit(directory_);
    const Output output = Dxp("-d " + directory_.string());
    EXPECT_EQ(output.status, 0) << output.text;
    std::ifstream file(directory_ / "spyreCodeDir/spyrecode.json");
    code_ = nlohmann::json::parse(file);
  }
  ~Compiled() { fs::remove_all(directory_); }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  const nlohmann::json& code() const { return code_; }
  std::string Binary(const std::string& file) const {
    std::ifstream in(directory_ / "spyreCodeDir" / file, std::ios::binary);
    std::stringstream bytes;
    bytes << in.rdbuf();
    return bytes.str();
  }

 private:
  fs::path directory_;
  nlohmann::json code_;
};

uint64_t Number(const nlohmann::json& properties, const char* key) {
  return std::stoull(properties.at(key).get<std::string>());
}

// The plans of a compiled bundle on the card.
class Kernel {
 public:
  Kernel(flex::RuntimeContext& context, const Compiled& compiled)
      : context_(context), code_(compiled.code()) {
    const nlohmann::json& prepare = code_.at("JobPreparationPlan");
    memory_ =
        Memory(context, Number(prepare.at(0).at("properties"), "size"), flex::MemoryType::Program);
    for (size_t i = 1; i < prepare.size(); ++i) {
      const nlohmann::json& properties = prepare.at(i).at("properties");
      const std::string bytes = compiled.Binary(properties.at("init_bin_file"));
      CopyTo(*context.getDefaultStream(), bytes.data(), Part(properties));
    }
  }

  void Launch(flex::RuntimeStream& stream, const std::vector<int64_t>& addresses,
              const std::string& name = "kernel") {
    for (const nlohmann::json& step : code_.at("JobExecPlan")) {
      const nlohmann::json& properties = step.at("properties");
      const std::string command = step.at("command");
      if (command == "ComputeOnHost") {
        std::vector<char>& buffer = buffers_[properties.at("ohandle")];
        buffer.resize(Number(properties, "size"));
        Hcm hcm;
        hcm.importJsonStr(properties.at("hcm").dump());
        ASSERT_EQ(hcm.vdci.inputSym_.size(), addresses.size());
        Callback(stream, false, nullptr, [&](void*) {
          deeptools::processComputeOnHostCommand(hcm, buffer.data(), &addresses);
        });
      } else if (command == "DataTransfer") {
        CopyTo(stream, buffers_.at(properties.at("host_handle")).data(), Part(properties));
      } else {
        flex::ComputeParams* const params = flex::createComputeParams(
            &memory_, {}, name, Number(properties, "job_bin_ptr") - flex::PROG_OFFSET_BASE);
        const std::unique_ptr<flex::ComputeParams, void (*)(flex::ComputeParams*)> owner(
            params, flex::destroyComputeParams);
        stream.launchOperationCompute(params);
      }
    }
  }

 private:
  flex::CompositeAddress Part(const nlohmann::json& properties) const {
    const flex::Chunk& whole = memory_.chunks().front();
    const uint64_t offset = Number(properties, "dev_ptr") - flex::PROG_OFFSET_BASE;
    return flex::CompositeAddress(flex::Chunk({whole.addr.region_id, whole.addr.offset + offset},
                                              Number(properties, "size"), whole.domain_id));
  }

  flex::RuntimeContext& context_;
  const nlohmann::json code_;
  flex::CompositeAddress memory_;
  std::map<std::string, std::vector<char>> buffers_;
};

// [64, 128] in SEN169_FP16: two columns of sticks. Every element is the same, so its order is free.
constexpr size_t kAddBytes = 64 * 128 * 2;

class Add {
 public:
  explicit Add(flex::RuntimeContext& context)
      : context_(context), kernel_(context, Compiled("symbolic_args/add_64x128_rows4/flat")) {
    for (int i = 0; i < 3; ++i) tensors_.push_back(Memory(context, kAddBytes));
  }
  // Every element of the result.
  uint16_t Run(flex::RuntimeStream& stream, double a, double b) {
    Fill(stream, tensors_[0], a, DataFormats::SEN169_FP16);
    Fill(stream, tensors_[1], b, DataFormats::SEN169_FP16);
    kernel_.Launch(stream, Addresses());
    std::vector<uint16_t> result(kAddBytes / 2);
    CopyFrom(stream, result.data(), tensors_[2]);
    stream.synchronize();
    for (const uint16_t code : result) EXPECT_EQ(code, result.front());
    return result.front();
  }
  std::vector<int64_t> Addresses() {
    std::vector<int64_t> addresses;
    for (const flex::CompositeAddress& tensor : tensors_) {
      addresses.push_back(
          static_cast<int64_t>(context_.getAllocator()->compositeAddressToDmva(tensor)));
    }
    return addresses;
  }
  Kernel& kernel() { return kernel_; }

 private:
  flex::RuntimeContext& context_;
  Kernel kernel_;
  std::vector<flex::CompositeAddress> tensors_;
};

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
  const char* const softmax = "symbolic_args/softmax_lx_32x256/flat";
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

// As torch-spyre masks the padding of a softmax: here 56 of 256 columns, which then do not count.
TEST(SdkLaunch, MaskedExponentialsAreZero) {
  const auto context = Open();
  flex::RuntimeStream& stream = *context->getDefaultStream();
  constexpr size_t kRows = 32, kStick = 64, kBytes = kRows * 256 * 2;
  const flex::CompositeAddress input = Memory(*context, kBytes), output = Memory(*context, kBytes);
  const auto address = [&](const flex::CompositeAddress& memory) {
    return static_cast<int64_t>(context->getAllocator()->compositeAddressToDmva(memory));
  };
  const Compiled masked("symbolic_args/softmax_lx_32x256/flat", [](const fs::path& directory) {
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
}  // namespace spyre::sdk_test
