// SPDX-License-Identifier: Apache-2.0
// SuperDSC files: every sample and every real capture is read, their start addresses follow from
// the strides, and what is wrong is refused by file and place.
#include "runtime/compiler/sdsc/super_dsc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/json_text.h"
#include "tests/paths.h"

namespace spyre::compiler::super_dsc_test {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::filesystem::path kData = SPYRE_SOURCE_DIR "/tests/data";

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

SuperDsc Read(const std::string& path) {
  return ParseSuperDsc(ReadText(kData / path), std::filesystem::path(path).filename());
}

// Where a core's part of a tensor begins, from where the tensor begins.
int64_t StartOffset(const SuperDsc& dsc, const SdscTensor& tensor, size_t core) {
  const std::vector<int64_t> strides = DimStrides(dsc, tensor);
  int64_t offset = 0;
  for (size_t d = 0; d < dsc.dims.size(); ++d) {
    int64_t index = dsc.slice[core][d] * dsc.dims[d].per_core;
    if (static_cast<int>(d) == tensor.stick_dims[0]) index /= tensor.stick_sizes[0];
    offset += index * strides[d];
  }
  return offset;
}

TEST(SuperDsc, StartAddressesOfAllSamplesFollowFromStridesAndSlices) {
  int files = 0;
  int checked = 0;
  for (const char* root : {"bundles", "real_bundles"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kData / root)) {
      const std::string name = entry.path().filename();
      if (name.rfind("sdsc_", 0) != 0) continue;
      ++files;
      const SuperDsc dsc = ParseSuperDsc(ReadText(entry.path()), name);
      for (const SdscTensor& tensor : dsc.tensors) {
        if (tensor.in_lx || tensor.symbolic) continue;
        const int64_t base = tensor.start[0] - StartOffset(dsc, tensor, 0);
        for (size_t c = 0; c < dsc.cores.size(); ++c) {
          ASSERT_EQ(tensor.start[c], base + StartOffset(dsc, tensor, c))
              << entry.path() << " " << tensor.name << " core " << c;
          ++checked;
        }
      }
    }
  }
  EXPECT_EQ(files, 61);
  EXPECT_GT(checked, 1500);
}

TEST(SuperDsc, RealMatmulIsReadWithItsOwnLabels) {
  const SuperDsc dsc = Read("real_bundles/mlp_512x4096x12800_heuristic/sdsc_0_batchmatmul.json");
  EXPECT_EQ(dsc.op, "batchmatmul");
  EXPECT_EQ(dsc.unit, "pt");
  EXPECT_EQ(dsc.cores.size(), 32u);
  std::vector<std::string> names;
  for (const SdscDim& dim : dsc.dims) names.push_back(dim.name);
  EXPECT_THAT(names, ElementsAre("x", "out", "in"));
  EXPECT_EQ(dsc.dims[0].slices, 32);
  EXPECT_EQ(dsc.dims[0].per_core, 16);
  EXPECT_THAT(dsc.inputs, ElementsAre(0, 1));
  EXPECT_THAT(dsc.outputs, ElementsAre(2));
  // The figures of manifest.json.
  EXPECT_EQ(dsc.tensors[0].start[1], 131072);
  EXPECT_EQ(dsc.tensors[0].start[31], 4063232);
  EXPECT_EQ(dsc.tensors[1].start[31], 17179869184);
  EXPECT_EQ(dsc.tensors[2].start[1], 34360147968);
  EXPECT_EQ(dsc.tensors[2].start[31], 34372435968);
}

TEST(SuperDsc, BackGapsWidenRowsAndBroadcastsAreNotWalked) {
  // mul: the second half of a row of 25600 columns, by its first tensor's gap.
  const SuperDsc mul = Read("real_bundles/swiglu_512x4096x12800/sdsc_6.json");
  const SdscTensor* gapped = nullptr;
  for (const SdscTensor& tensor : mul.tensors) {
    if (!tensor.back_gap.empty()) gapped = &tensor;
  }
  ASSERT_NE(gapped, nullptr);
  const auto row = static_cast<size_t>(mul.FindDim("mb"));
  const auto column = static_cast<size_t>(mul.FindDim("out"));
  EXPECT_EQ(DimStrides(mul, *gapped)[row], 400 * 128);
  EXPECT_EQ(DimStrides(mul, *gapped)[column], 128);
  EXPECT_EQ(FootprintBytes(mul, *gapped), (511 * 400 + 200) * 128);

  const SuperDsc add = Read("real_bundles/swiglu_512x4096x12800/sdsc_4.json");
  EXPECT_THAT(DimStrides(add, add.tensors[1]), ElementsAre(0, 0));
  EXPECT_EQ(FootprintBytes(add, add.tensors[1]), 128);
  // In LX the first row of a stick column of 16 rows is followed by the next row.
  EXPECT_THAT(DimStrides(add, add.tensors[0]), ElementsAre(128, 16 * 128));
  EXPECT_EQ(FootprintBytes(add, add.tensors[0]), 16 * 200 * 128);
}

TEST(SuperDsc, ReductionsDoNotReadTheirOutput) {
  const SuperDsc max = Read("bundles/symbolic_constants/softmax_lx_32x256/flat/sdsc_0.json");
  EXPECT_THAT(max.inputs, ElementsAre(0));
  EXPECT_THAT(max.outputs, ElementsAre(1));
  EXPECT_TRUE(max.tensors[0].symbolic);
  EXPECT_THAT(max.tensors[0].start, ElementsAre(-1, -2, -3, -4));
  EXPECT_TRUE(max.tensors[1].in_lx);
  EXPECT_THAT(max.tensors[1].scale, ElementsAre(1, -2));
  EXPECT_EQ(FootprintBytes(max, max.tensors[1]), 8 * 128);
}

constexpr char kAdd[] = "bundles/flat_baked_addresses/add_64x128_rows4/flat/sdsc_0.json";

// The sample with one change to its operation.
SuperDsc Changed(const std::function<void(Json& top, Json& body)>& change) {
  Json document = SortedJsonOf(ReadText(kData / kAdd));
  Json& top = document.front();
  change(top, top["dscs_"][0].front());
  return ParseSuperDsc(document.dump(), "sdsc_0.json");
}

std::string Refusal(const std::function<SuperDsc()>& read) {
  try {
    read();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  ADD_FAILURE() << "not refused";
  return "";
}
std::string RefusalOf(const std::function<void(Json& top, Json& body)>& change) {
  return Refusal([&] { return Changed(change); });
}

TEST(SuperDsc, ConstantsAndMasksAreRead) {
  const SuperDsc dsc = Changed([](Json&, Json& body) {
    const Json fold = {{"dim_prop_func", Json::array()}, {"data_", {{"[0, 0, 0]", {14848}}}}};
    body["constantInfo_"] = {
        {"10", {{"name_", "eps"}, {"dataFormat_", "IEEE_FP32"}, {"data_", fold}}},
        {"2", {{"name_", "samv-maskvalue"}, {"dataFormat_", "SEN169_FP16"}, {"data_", fold}}}};
    body["coordinateMasking_"] = {{"out", {{100, 28}}}};
    body["someKeyOfTomorrow_"] = 1;
  });
  ASSERT_EQ(dsc.constants.size(), 2u);
  EXPECT_EQ(dsc.constants[0].name, "samv-maskvalue");
  EXPECT_EQ(dsc.constants[0].bits, 14848u);
  EXPECT_EQ(dsc.constants[1].format, DataFormat::kIeeeFp32);
  ASSERT_EQ(dsc.masks.size(), 1u);
  EXPECT_EQ(dsc.masks[0].dim, dsc.FindDim("out"));
  EXPECT_EQ(dsc.masks[0].start, 100);
  EXPECT_EQ(dsc.masks[0].count, 28);
  EXPECT_TRUE(
      Changed([](Json&, Json& body) { body["constantInfo_"] = Json::object(); }).constants.empty());
}

TEST(SuperDsc, OneStartForAllCoresAndGapsOfEachCoreAreRead) {
  const SuperDsc dsc = Changed([](Json&, Json& body) {
    Json& node = body["scheduleTree_"][1];
    node["startAddressCoreCorelet_"]["dim_prop_func"][0] = {{"Const", Json::object()}};
    node["startAddressCoreCorelet_"]["data_"] = {{"[0, 0, 0]", 4096}};
    node["backGapCore_"] = {{"mb", {{"0", "8"}, {"1", "8"}, {"2", 8}, {"3", "8"}}}};
  });
  EXPECT_THAT(dsc.tensors[1].start, ElementsAre(4096, 4096, 4096, 4096));
  EXPECT_EQ(dsc.tensors[1].back_gap.at(dsc.FindDim("mb")), 8);
}

TEST(SuperDsc, MalformedJsonIsNamedByLineAndColumn) {
  const std::string text = ReadText(kData / kAdd);
  EXPECT_THAT(Refusal([&] { return ParseSuperDsc(text.substr(0, 200), "sdsc_7.json"); }),
              ::testing::AllOf(HasSubstr("sdsc_7.json"), HasSubstr("line"), HasSubstr("column")));
  for (const char* bad : {"", "[]", "{}", "{\"a\": 1, \"b\": 2}", "{\"a\": 1}", "{\"a\": {}}",
                          "{\"a\": {\"dscs_\": []}}", "{\"a\": {\"dscs_\": [{}]}}"}) {
    EXPECT_THAT(Refusal([&] { return ParseSuperDsc(bad, "sdsc_7.json"); }),
                HasSubstr("sdsc_7.json"));
  }
}

TEST(SuperDsc, WhatCannotBeIsRefusedWithItsPlace) {
  EXPECT_THAT(
      RefusalOf([](Json&, Json& b) { b["N_"]["mb_"] = 0; }),
      ::testing::AllOf(HasSubstr("sdsc_0.json.0_add.dscs_[0].add.N_.mb_"), HasSubstr("found 0")));
  EXPECT_THAT(RefusalOf([](Json& t, Json&) { t["numWkSlicesPerDim_"]["mb"] = 3; }),
              HasSubstr("a multiple of 3 slices is expected, found 64"));
  EXPECT_THAT(RefusalOf([](Json& t, Json&) { t["numWkSlicesPerDim_"]["zz"] = 1; }),
              HasSubstr("dimension 'zz' is not in N_ (mb, out)"));
  EXPECT_THAT(RefusalOf([](Json&, Json& b) { b["dataStageParam_"]["0"]["ss_"]["mb_"] = 17; }),
              HasSubstr("an integer from 16 to 16 is expected, found 17"));
  EXPECT_THAT(RefusalOf([](Json&, Json& b) {
                b["coreIdsUsed_"] = {0, 1, 2, 32};
              }),
              HasSubstr("coreIdsUsed_[3]: an integer from 0 to 31 is expected, found 32"));
  EXPECT_THAT(RefusalOf([](Json&, Json& b) {
                b["coreIdsUsed_"] = {0, 1, 1, 2};
              }),
              HasSubstr("each once"));
  EXPECT_THAT(RefusalOf([](Json& t, Json&) { t["coreIdToWkSlice_"]["2"]["mb"] = 4; }),
              HasSubstr("coreIdToWkSlice_.2.mb: an integer from 0 to 3 is expected, found 4"));
  EXPECT_THAT(RefusalOf([](Json& t, Json&) { t["coreIdToWkSlice_"].erase("3"); }),
              HasSubstr("key '3' is missing"));
  EXPECT_THAT(RefusalOf([](Json&, Json& b) { b["labeledDs_"][0]["dsType_"] = "INPT"; }),
              HasSubstr("primaryDsInfo_: key 'INPT' is missing"));
  EXPECT_THAT(RefusalOf([](Json&, Json& b) {
                b["labeledDs_"][0]["scale_"] = {1, 0};
              }),
              HasSubstr("1, -1 or -2 is expected, found 0"));
  EXPECT_THAT(RefusalOf([](Json&, Json& b) { b["labeledDs_"][0]["dataFormat_"] = "SEN170"; }),
              HasSubstr("labeledDs_[0].dataFormat_"));
  EXPECT_THAT(RefusalOf([](Json&, Json& b) {
                for (int i = 3; i < 9; ++i) b["labeledDs_"].push_back(b["labeledDs_"][0]);
              }),
              HasSubstr("1 to 8 tensors are expected"));
  EXPECT_THAT(RefusalOf([](Json&, Json& b) { b["scheduleTree_"].erase(1); }),
              HasSubstr("one node with ldsIdx_ 1 is expected, there are 0"));
  EXPECT_THAT(RefusalOf([](Json&, Json& b) { b["computeOp_"][0]["inputLabeledDs"] = {"T-idx9"}; }),
              HasSubstr("a tensor of labeledDs_ is expected, found \"T-idx9\""));
  EXPECT_THAT(RefusalOf([](Json&, Json& b) { b["computeOp_"][0]["exUnit"] = "gpu"; }),
              HasSubstr("'pt' or 'sfp' is expected"));
  EXPECT_THAT(RefusalOf([](Json&, Json& b) {
                b["coordinateMasking_"] = {{"out", {{100, 29}}}};
              }),
              HasSubstr("[start, count] within 128 elements"));
  EXPECT_THAT(RefusalOf([](Json&, Json& b) {
                b["dataStageParam_"]["0"]["ss_"]["symbolicDimInfo_"] = {{"mb", 1}};
              }),
              HasSubstr("symbolic dimensions are not supported"));
}

TEST(SuperDsc, AddressesAreCheckedWhereTheyAreRead) {
  const auto start = [](Json& body) -> Json& {
    return body["scheduleTree_"][0]["startAddressCoreCorelet_"]["data_"]["[1, 0, 0]"];
  };
  EXPECT_THAT(RefusalOf([&](Json&, Json& b) { start(b) = "-7"; }), HasSubstr("found \"-7\""));
  EXPECT_THAT(RefusalOf([&](Json&, Json& b) { start(b) = "137438953472"; }),
              HasSubstr("an integer from 0 to 137438953471 is expected"));
  EXPECT_THAT(RefusalOf([&](Json&, Json& b) { start(b) = "12a"; }), HasSubstr("an integer"));
  EXPECT_THAT(RefusalOf([&](Json&, Json& b) { b["scheduleTree_"][0]["isStartAddrSymbolic_"] = 1; }),
              HasSubstr("an integer from -2147483648 to -1 is expected"));
  EXPECT_THAT(RefusalOf([&](Json&, Json& b) {
                b["scheduleTree_"][0]["component_"] = "lx";
                start(b) = "2097152";
              }),
              HasSubstr("an integer from 0 to 2097151 is expected"));
  EXPECT_THAT(RefusalOf([&](Json&, Json& b) {
                b["scheduleTree_"][0]["backGapCore_"] = {{"mb", {{"0", "8"}, {"1", "9"}}}};
              }),
              HasSubstr("the same gap on every core"));
  EXPECT_THAT(RefusalOf([&](Json&, Json& b) {
                b["scheduleTree_"][0]["backGapCore_"] = {{"mb", {{"-1", "1099511627776"}}}};
              }),
              HasSubstr("less than 2^46 bytes"));
}

}  // namespace
}  // namespace spyre::compiler::super_dsc_test
