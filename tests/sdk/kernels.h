// SPDX-License-Identifier: Apache-2.0
// Bundles that dxp_standalone compiles, and their launches with the steps that torch-spyre makes of
// spyrecode.json.
#pragma once

#include <gtest/gtest.h>
#include <spyrecode-host-functions/processSpyreCodeArtifacts.h>
#include <unistd.h>

#include <filesystem>
#include <flex/flex.hpp>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/paths.h"
#include "tests/sdk/card.h"
#include "tests/sdk/shell.h"

namespace spyre::sdk_test {

inline Output Dxp(const std::string& arguments) {
  return Shell(std::string(SPYRE_DXP_STANDALONE) + " " + arguments);
}

// A copy of a committed bundle, compiled; edit: what is changed in it before.
class Compiled {
 public:
  explicit Compiled(const std::string& bundle,
                    const std::function<void(const std::filesystem::path&)>& edit = {})
      : directory_(std::filesystem::temp_directory_path() /
                   ("spyre_sdk_launch_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(directory_);
    std::filesystem::copy(std::filesystem::path(SPYRE_SOURCE_DIR) / "tests/data" / bundle,
                          directory_);
    if (edit) edit(directory_);
    const Output output = Dxp("-d " + directory_.string());
    EXPECT_EQ(output.status, 0) << output.text;
    std::ifstream file(directory_ / "spyreCodeDir/spyrecode.json");
    code_ = nlohmann::json::parse(file);
  }
  ~Compiled() { std::filesystem::remove_all(directory_); }
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
  std::filesystem::path directory_;
  nlohmann::json code_;
};

inline uint64_t Number(const nlohmann::json& properties, const char* key) {
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
inline constexpr size_t kAddBytes = 64 * 128 * 2;

class Add {
 public:
  explicit Add(flex::RuntimeContext& context)
      : context_(context),
        kernel_(context, Compiled("bundles/symbolic_args/add_64x128_rows4/flat")) {
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

}  // namespace spyre::sdk_test
