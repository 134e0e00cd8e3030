// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/spyre_code.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/spyre/execution_plan.h"
#include "tests/unit/runtime/spyre/fake_kernel.h"

namespace spyre::runtime::spyre_code_test {
namespace {

using nlohmann::json;

class SpyreCodeTest : public testing::Test {
 protected:
  SpyreCodeTest() : code(test::CopyKernelJson(64, 64)) {}

  SpyreCode Read() {
    test::WriteCopyKernel(directory.path(), code);
    return ReadSpyreCode(directory.path());
  }
  // The error of reading `code`; must name the file and every one of `parts`.
  void ExpectError(const std::vector<std::string>& parts) {
    try {
      Read();
      FAIL() << "accepted: " << code.dump();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
      const std::string text = error.what();
      for (const std::string& part : parts) {
        EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
      }
    }
  }
  json& Preparation(size_t step) { return code["JobPreparationPlan"][step]["properties"]; }
  json& Exec(size_t step) { return code["JobExecPlan"][step]["properties"]; }

  test::TemporaryDirectory directory;
  json code;
};

TEST_F(SpyreCodeTest, ReadsBothPlansAndTheMetadata) {
  const SpyreCode read = Read();
  EXPECT_EQ(read.name, "copy");
  EXPECT_EQ(read.allocation_bytes, 1024u);
  ASSERT_EQ(read.init_packets.size(), 1u);
  EXPECT_EQ(read.init_packets[0].offset, 0u);
  EXPECT_EQ(read.init_packets[0].data->size(), 512u);
  ASSERT_EQ(read.exec_plan.size(), 4u);
  const auto& host = std::get<HostComputeStep>(read.exec_plan[0]);
  ASSERT_EQ(host.correction.records.size(), 2u);
  EXPECT_EQ(host.correction.records[1].index, 1);
  EXPECT_EQ(host.correction.size_bytes, 128u);
  EXPECT_EQ(std::get<TransferStep>(read.exec_plan[1]).offset, test::kCorrectionInputOffset);
  EXPECT_EQ(std::get<DeviceComputeStep>(read.exec_plan[3]).name, "copy");
  ASSERT_EQ(read.arguments.size(), 2u);
  EXPECT_TRUE(read.arguments[1].is_output);
  EXPECT_EQ(read.arguments[0].dims, (std::vector<std::string>{"rows", "cols"}));
  EXPECT_EQ(read.arguments[0].layout.DeviceBytes(), 64 * 128);
}

TEST_F(SpyreCodeTest, NumbersMayBeHexadecimal) {
  Exec(3)["job_bin_ptr"] = "0x1C00000000";
  EXPECT_EQ(std::get<DeviceComputeStep>(Read().exec_plan[3]).offset, 0u);
}

TEST_F(SpyreCodeTest, HcmMayBeInline) {
  Exec(0)["hcm"] = {{"version", 1}, {"records", {{{"argument", 1}}}}};
  const SpyreCode read = Read();
  const auto& records = std::get<HostComputeStep>(read.exec_plan[0]).correction.records;
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].kind, CorrectionSource::Kind::kArgument);
  EXPECT_EQ(records[0].index, 1);
}

TEST_F(SpyreCodeTest, RecordsMayBeValuesOfDimensions) {
  Exec(0)["hcm"] = {{"version", 1}, {"records", {{{"argument", 1}}, {{"dimension", 0}}}}};
  code["Metadata"]["dimensions"] = {{{"name", "rows"}, {"max", 64}, {"granularity", 4}}};
  const SpyreCode read = Read();
  ASSERT_EQ(read.dimensions.size(), 1u);
  EXPECT_EQ(read.dimensions[0].name, "rows");
  EXPECT_EQ(read.dimensions[0].max, 64);
  EXPECT_EQ(read.dimensions[0].granularity, 4);
  const auto& records = std::get<HostComputeStep>(read.exec_plan[0]).correction.records;
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].kind, CorrectionSource::Kind::kDimension);
  EXPECT_EQ(records[1].index, 0);
  code["Metadata"]["dimensions"][0]["max"] = 3;
  ExpectError({"Metadata.dimensions[0].max", "from 4", "found 3"});
}

TEST_F(SpyreCodeTest, SumsMayBeCarriedFromLaunchToLaunch) {
  json& metadata = code["Metadata"];
  const json sums = {{"dim", "cols"}, {"home", "lx"},      {"slices", 1}, {"slice", 64},
                     {"unit", 64},    {"workspace", 4096}, {"mark", 7}};
  metadata["reduction_dims"] = {"cols"};
  metadata["accumulation"] = sums;
  Exec(0)["hcm"] = {{"version", 1}, {"records", {{{"argument", 1}}, {{"accumulation", 0}}}}};
  const SpyreCode read = Read();
  ASSERT_TRUE(read.accumulation.has_value());
  EXPECT_TRUE(read.accumulation->in_lx);
  EXPECT_EQ(read.accumulation->workspace_bytes, 4096u);
  const auto& records = std::get<HostComputeStep>(read.exec_plan[0]).correction.records;
  EXPECT_EQ(records[1].index, 2) << "the location behind the two arguments";
  const auto expect = [&](const char* key, const json& value, const char* text) {
    metadata["accumulation"] = sums;
    metadata["accumulation"][key] = value;
    ExpectError({std::string("Metadata.accumulation.") + key, text});
  };
  expect("home", "host", "'device' or 'lx'");
  expect("dim", "rows", "one of reduction_dims");
  expect("slice", 32, "slices that make the 64 elements");
  expect("workspace", 100, "from 128");
  expect("workspace", 200, "multiple of 128");
  expect("mark", 0, "from 1");
  metadata.erase("accumulation");
  ExpectError({"records[1].accumulation", "Metadata has none"});
}

TEST_F(SpyreCodeTest, UnnamedComputesAreCalledAfterTheKernel) {
  Exec(3).erase("name");
  EXPECT_EQ(std::get<DeviceComputeStep>(Read().exec_plan[3]).name, "copy#3");
}

TEST_F(SpyreCodeTest, PlanMustBeginWithAllocateThenTransfers) {
  std::swap(code["JobPreparationPlan"][0], code["JobPreparationPlan"][1]);
  ExpectError({"spyrecode.json", "JobPreparationPlan[0].command", "InitTransfer", "Allocate"});
}

TEST_F(SpyreCodeTest, SecondAllocateIsRefused) {
  code["JobPreparationPlan"].push_back(code["JobPreparationPlan"][0]);
  ExpectError({"JobPreparationPlan[2].command", "InitTransfer"});
}

TEST_F(SpyreCodeTest, PlanWithoutTransferIsRefused) {
  code["JobPreparationPlan"].erase(1);
  ExpectError({"JobPreparationPlan", "InitTransfer"});
}

TEST_F(SpyreCodeTest, UnknownCommandAndPropertyAreNamed) {
  code["JobExecPlan"][2]["command"] = "ComputeOnMoon";
  ExpectError({"JobExecPlan[2].command", "ComputeOnMoon", "ComputeOnDevice"});
  code = test::CopyKernelJson(64, 64);
  Exec(1)["sizze"] = "1";
  ExpectError({"JobExecPlan[1].properties", "sizze", "host_handle"});
  code = test::CopyKernelJson(64, 64);
  code["Extra"] = 1;
  ExpectError({"Extra", "Metadata"});
}

TEST_F(SpyreCodeTest, NumbersThatAreNotNumbersInStringsAreRefused) {
  for (const json& bad : {json(512), json("-1"), json("12x"), json(""), json("0x"), json(nullptr),
                          json("99999999999999999999")}) {
    code = test::CopyKernelJson(64, 64);
    Preparation(0)["size"] = bad;
    ExpectError({"JobPreparationPlan[0].properties.size", bad.dump()});
  }
}

TEST_F(SpyreCodeTest, PointersMustBeAlignedInSegmentSevenAndInTheAllocation) {
  Exec(3)["job_bin_ptr"] = test::SegmentPointer(64);
  ExpectError({"JobExecPlan[3].properties.job_bin_ptr", "multiple of 128"});
  Exec(3)["job_bin_ptr"] = "4096";
  ExpectError({"JobExecPlan[3].properties.job_bin_ptr", "segment 7", "4096"});
  Exec(3)["job_bin_ptr"] = test::SegmentPointer(1024);
  ExpectError({"JobExecPlan[3].properties.job_bin_ptr", "allocation of 1024"});
  Exec(3)["job_bin_ptr"] = test::SegmentPointer(0);
  Preparation(1)["dev_ptr"] = test::SegmentPointer(640);
  ExpectError({"JobPreparationPlan[1].properties.dev_ptr", "512 bytes"});
}

TEST_F(SpyreCodeTest, AllocationMustFitASegment) {
  Preparation(0)["size"] = "17179869185";
  ExpectError({"JobPreparationPlan[0].properties.size", "17179869184"});
  Preparation(0)["size"] = "0";
  ExpectError({"JobPreparationPlan[0].properties.size"});
}

TEST_F(SpyreCodeTest, FileMustBeThereHaveTheSizeAndStayInside) {
  Preparation(1)["size"] = "384";
  ExpectError({"JobPreparationPlan[1].properties.size", "512 bytes", "init_binary.bin"});
  code = test::CopyKernelJson(64, 64);
  Preparation(1)["init_bin_file"] = "missing.bin";
  ExpectError({"missing.bin", "cannot read the SpyreCode file"});
  Preparation(1)["init_bin_file"] = "../init_binary.bin";
  ExpectError({"init_bin_file", "same directory"});
}

TEST_F(SpyreCodeTest, TransfersNameAHostHandleOfTheSameSize) {
  Exec(1)["host_handle"] = "other";
  ExpectError({"JobExecPlan[1].properties.host_handle", "other", "ohandle"});
  Exec(1)["host_handle"] = "correction_input";
  Exec(1)["size"] = "256";
  ExpectError({"JobExecPlan[1].properties.size", "128 bytes"});
  Exec(1)["size"] = "128";
  Exec(1)["dirn"] = "sideways";
  ExpectError({"JobExecPlan[1].properties.dirn", "sideways"});
}

TEST_F(SpyreCodeTest, CorrectionRecordsMustNameArgumentsAndFitTheBuffer) {
  Exec(0)["hcm"] = {{"version", 1}, {"records", {{{"argument", 2}}}}};
  ExpectError({"hcm.records[0].argument", "from 0 to 1", "found 2"});
  Exec(0)["hcm"] = {{"version", 2}, {"records", json::array()}};
  ExpectError({"version", "found 2"});
  Exec(0)["hcm"] = {{"version", 1}, {"records", {{{"argument", 0}, {"dimension", 0}}}}};
  ExpectError({"hcm.records[0]", "either 'argument', 'dimension'"});
  Exec(0)["hcm"] = {{"version", 1}, {"records", {{{"dimension", 0}}}}};
  ExpectError({"hcm.records[0].dimension", "Metadata.dimensions lists none"});
  Exec(0)["hcm"] = "hcm.json";
  Exec(0)["size"] = "256";
  ExpectError({"JobExecPlan[0].properties.size", "128 bytes", "2 records"});
}

TEST_F(SpyreCodeTest, MetadataMustBeConsistent) {
  json& argument = code["Metadata"]["arguments"][0];
  argument["dims"] = {"rows"};
  ExpectError({"Metadata.arguments[0].dims", "2 dimensions"});
  argument["dims"] = {"rows", "cols"};
  argument["shape"] = {64, 0};
  ExpectError({"Metadata.arguments[0].shape[1]", "found 0"});
  argument["shape"] = {64, 64};
  argument["format"] = "FLOAT99";
  ExpectError({"Metadata.arguments[0].format", "FLOAT99"});
  argument["format"] = "SEN169_FP16";
  argument["host_dim"] = {1, 5, 1};
  ExpectError({"Metadata.arguments[0].host_dim[1]", "found 5"});
  argument["host_dim"] = {1, 1, 1};
  ExpectError({"Metadata.arguments[0].host_dim", "dimension 0"});
  argument["host_dim"] = {1, 0, 1};
  argument["device_size"] = {1099511627776, 1099511627776, 64};
  ExpectError({"Metadata.arguments[0].device_size", "fits the device"});
  argument["device_size"] = {1, 64, 32};
  ExpectError({"Metadata.arguments[0].device_size", "64"});
  code = test::CopyKernelJson(64, 64);
  code["Metadata"]["reduction_dims"] = {"k"};
  ExpectError({"Metadata.reduction_dims[0]", "k"});
}

TEST_F(SpyreCodeTest, BrokenJsonNamesThePlace) {
  test::WriteCopyKernel(directory.path(), code);
  test::WriteFile(directory.path() / "spyrecode.json", "{\"JobExecPlan\": [,]}");
  try {
    ReadSpyreCode(directory.path());
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("column"), std::string::npos) << error.what();
  }
  EXPECT_THROW(ReadSpyreCode("/no/such/directory"), Error);
}

TEST_F(SpyreCodeTest, EveryMissingKeyIsAnErrorUnlessItIsOptional) {
  const std::vector<std::string> optional = {"/JobExecPlan/2/properties/name",
                                             "/JobExecPlan/3/properties/name", "/Metadata/name",
                                             "/Metadata/reduction_dims"};
  const json whole = code.flatten();
  for (const auto& [pointer, value] : whole.items()) {
    const json::json_pointer at(pointer);
    code = test::CopyKernelJson(64, 64);
    if (!code[at.parent_pointer()].is_object()) continue;
    code[at.parent_pointer()].erase(at.back());
    if (std::count(optional.begin(), optional.end(), pointer) != 0) {
      EXPECT_NO_THROW(Read()) << pointer;
    } else {
      ExpectError({at.back(), "missing"});
    }
  }
}

TEST_F(SpyreCodeTest, BecomesOneOperationOfThreeSteps) {
  test::WriteCopyKernel(directory.path(), code);
  ExecutionPlan plan(directory.path());
  EXPECT_FALSE(plan.loaded());
  ASSERT_EQ(plan.operations().size(), 1u) << "visible before loading";
  EXPECT_FALSE(plan.operations()[0].loaded());
  ASSERT_EQ(plan.correction_metadata().size(), 1u);
  plan.Bind(flex::PFDeviceHandle{0x10000}, nullptr);
  ASSERT_EQ(plan.operations().size(), 1u);
  const Operation& operation = plan.operations()[0];
  ASSERT_EQ(operation.preprocess().size(), 2u);
  EXPECT_TRUE(std::get<CopyToDevice>(operation.preprocess()[0]).correction.has_value());
  EXPECT_EQ(std::get<DeviceLaunch>(operation.preprocess()[1]).name, "copy correction");
  EXPECT_EQ(operation.compute()->name, "copy");
  EXPECT_EQ(operation.device_handles(), (std::vector<DeviceHandle>{flex::PFDeviceHandle{0x10100},
                                                                   flex::PFDeviceHandle{0x10000}}));
  EXPECT_THROW(plan.Bind(flex::PFDeviceHandle{0}, nullptr), Error);
}

TEST_F(SpyreCodeTest, OnlyStepsOfCoreZeroAloneArePrepared) {
  // The compute's binary is not a program, so it could not be told as a step.
  const json correction = code["JobExecPlan"][2];
  code["JobExecPlan"].push_back(correction);
  test::WriteCopyKernel(directory.path(), code);
  ExecutionPlan plan(directory.path());
  plan.Bind(flex::PFDeviceHandle{0x10000}, nullptr);
  const auto& steps = plan.operations().at(0).preprocess();
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_TRUE(std::get<DeviceLaunch>(steps[1]).prepare);
  EXPECT_FALSE(std::get<DeviceLaunch>(steps[2]).prepare);
}

TEST_F(SpyreCodeTest, TransfersBackAndSecondComputesMakeFurtherOperations) {
  code["JobExecPlan"].push_back({{"command", "DataTransfer"},
                                 {"properties",
                                  {{"dirn", "true"},
                                   {"host_handle", "result"},
                                   {"dev_ptr", test::SegmentPointer(256)},
                                   {"size", "256"}}}});
  test::WriteCopyKernel(directory.path(), code);
  ExecutionPlan plan(directory.path());
  plan.Bind(flex::PFDeviceHandle{0}, nullptr);
  ASSERT_EQ(plan.operations().size(), 2u);
  EXPECT_FALSE(plan.operations()[1].compute());
  const auto& back = std::get<CopyFromDevice>(plan.operations()[1].preprocess()[0]);
  EXPECT_EQ(back.size, 256u);
  EXPECT_EQ(back.host_address, plan.HostBuffer("result"));
  EXPECT_EQ(plan.HostBuffer("other"), nullptr);
}

}  // namespace
}  // namespace spyre::runtime::spyre_code_test
