// SPDX-License-Identifier: Apache-2.0
// The SDK's headers as a program of C++20 includes them; tests/unit/sdk compiles the same as C++17.
#include <gmock/gmock.h>
#include <spyrecode-host-functions/fast_process_hcm.h>
#include <spyrecode-host-functions/processSpyreCodeArtifacts.h>
#include <spyrecode-host-functions/sendataconvert/sen_data_convert.h>
#include <spyrecode-host-functions/sendataconvert/sen_host_ops.h>
#include <spyrecode-host-functions/spyrecode.h>
#include <util/sendefs/sendefs.h>

#include <flex/flex.hpp>
#include <sstream>
#include <type_traits>

namespace spyre::sdk_test::headers_test {
namespace {

using ::testing::HasSubstr;

static_assert(__cplusplus >= 202002L);
static_assert(!std::is_copy_constructible_v<flex::CompositeAddress>);
static_assert(std::is_nothrow_move_constructible_v<flex::CompositeAddress>);
static_assert(flex::PROG_OFFSET_BASE == 120259084288);
static_assert(flex::dmvaToSegmentId(flex::PROG_OFFSET_BASE + 128) == flex::PROG_SEGMENT);
static_assert(sizeof(flex::aiupti::AIUpti_ActivityCB::name) == 128);

TEST(SdkHeaders, EveryFormatHasItsNameAndAStickIs128Bytes) {
  EXPECT_EQ(EnumsConversion::dataFormatsToString(DataFormats::SEN169_FP16), "SEN169_FP16");
  EXPECT_EQ(EnumsConversion::dataFormatsToString(DataFormats::INVALID), "INVALID");
  EXPECT_EQ(EnumsConversion::dataFormatsToString(DataFormats::SEN18F_FP24), "SEN18F_FP24");
  EXPECT_EQ(dataFormatToStickSize[DataFormats::SEN169_FP16], 64);
  EXPECT_EQ(dataFormatToStickSize[DataFormats::IEEE_FP32], 32);
  EXPECT_EQ(dataFormatToStickSize[DataFormats::SEN143_FP8], 128);
  EXPECT_EQ(dataFormatToStickSize[DataFormats::SENINT4], 256);
}

TEST(SdkHeaders, ADefectOfAProgramIsAnException) {
  EXPECT_THROW(DT_ERROR("wrong"), std::runtime_error);
}

TEST(SdkHeaders, AConversionCanBeLogged) {
  data_conversion_info info;
  info.dci_dsName_ = "tensor";
  info.dataformat_src_ = DataFormats::IEEE_FP16;
  info.dataformat_dst_ = DataFormats::SEN169_FP16;
  info.dcsi_.push_back({{64, 2}, {1, 64}, {1, 64}, 0, 0});
  std::ostringstream out;
  info.exportJson(out);
  EXPECT_THAT(out.str(), HasSubstr("\"dataformat_src\":\"IEEE_FP16\""));
  EXPECT_THAT(out.str(), HasSubstr("\"size\":[64,2]"));
}

TEST(SdkHeaders, AddressesPrintTheirPieces) {
  std::ostringstream out;
  out << flex::CompositeAddress(flex::Chunk({2, 256}, 128, 0));
  EXPECT_EQ(out.str(), "CompositeAddress[domain 0, region 2, offset 256, 128 bytes]");
}

TEST(SdkHeaders, ConstantsBecomeCodes) {
  EXPECT_EQ(deeptools::FloatToFp16Bin(1.0F), 0x3E00u);
  EXPECT_EQ(deeptools::FloatToFp16Bin(-2.0F), 0xC000u);
  EXPECT_EQ(deeptools::FloatToFp16Bin(-std::numeric_limits<float>::infinity()), 0xFFFFu);
  EXPECT_EQ(deeptools::BinaryConvert<uint32_t>(1.0F), 0x3F800000u);
}

}  // namespace
}  // namespace spyre::sdk_test::headers_test
