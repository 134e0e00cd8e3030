// SPDX-License-Identifier: Apache-2.0
// Calibration points of a table: what is a point, and what is said of a wrong line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cosim/calibrate/calibrate_points.h"
#include "tests/unit/error_of.h"

namespace spyre::cosim::points_csv_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<CalibrationPoint> Parse(const std::string& text) {
  return ParseCalibration(text, "my.CSV");
}
std::string MessageOf(const std::string& text) {
  return test::BadInputOf([&] { Parse(text); });
}

TEST(PointsCsv, ALineIsAPointAndColumnsStandInAnyOrder) {
  const auto points = Parse(
      "\xEF\xBB\xBFmeasured_us,op,cores,rows,cols,m,k,n,split_m,split_n,split_k\r\n"
      "# of the first card\r\n"
      "12.5, neg ,4,64,128\r\n"
      ",,,,,,,,,,\r\n"
      "7e1,\"matmul\",32,,,64,256,512,2,4,2\r\n");
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].Describe(), "neg 64x128");
  EXPECT_EQ(points[0].cores, 4u);
  EXPECT_EQ(points[0].reference_us, 12.5);
  EXPECT_EQ(points[0].Where(), "my.CSV:3");
  EXPECT_EQ(points[1].Describe(), "matmul 64x256x512 split 2x4x2");
  EXPECT_EQ(points[1].Family(), "matmul-k");
  EXPECT_EQ(points[1].reference_us, 70);
  EXPECT_EQ(points[1].index, 1u) << "its place among the points: every third is held out";
  EXPECT_EQ(points[1].Where(), "my.CSV:5");
}

TEST(PointsCsv, AWrongLineIsNamedAndWhatWouldBeRight) {
  const std::string header = "op,rows,cols,cores,measured_us\n";
  EXPECT_THAT(MessageOf(header + "neg,64,128,4,1\nneg,64,x,4,1\n"),
              AllOf(HasSubstr("my.CSV:3.cols"), HasSubstr("an integer"), HasSubstr("\"x\"")));
  EXPECT_THAT(MessageOf(header + "neg,64,,4,1\n"),
              AllOf(HasSubstr("my.CSV:2"), HasSubstr("'cols' is missing")));
  EXPECT_THAT(MessageOf(header + "neg,64,128,4,-1\n"),
              AllOf(HasSubstr("my.CSV:2.measured_us"), HasSubstr("above 0"), HasSubstr("-1")));
  EXPECT_THAT(MessageOf(header + "neg,64,128,4,1,9\n"),
              AllOf(HasSubstr("my.CSV:2: 6 cells"), HasSubstr("5 columns")));
  EXPECT_THAT(MessageOf(header + "\"neg,64,128,4,1\n"),
              AllOf(HasSubstr("my.CSV:2"), HasSubstr("has no end")));
  EXPECT_THAT(MessageOf(header + "nge,64,128,4,1\n"),
              AllOf(HasSubstr("my.CSV:2.op"), HasSubstr("did you mean 'neg'?")));
  EXPECT_THAT(MessageOf("op,rows,columns,measured_us\nneg,64,128,1\n"),
              AllOf(HasSubstr("my.CSV:2"), HasSubstr("unknown key 'columns'"), HasSubstr("cols")));
}

TEST(PointsCsv, AHeaderThatNamesNoOperationIsRefusedWithOneThatDoes) {
  for (const char* text : {"op;rows;cols;measured_us\nneg;64;64;1\n", "neg,64,64,1\n"}) {
    EXPECT_THAT(MessageOf(text), AllOf(HasSubstr("my.CSV:1"), HasSubstr("separated by commas"),
                                       HasSubstr("op,rows,cols,m,k,n")));
  }
  EXPECT_THAT(MessageOf("op,rows,rows\nneg,1,1\n"),
              HasSubstr("two columns have the name \"rows\""));
  for (const char* text : {"", "\n\n", "op,rows,cols,measured_us\n"})
    EXPECT_THAT(MessageOf(text), HasSubstr("at least one point is expected")) << text;
}

TEST(PointsCsv, OneTimeAPoint) {
  EXPECT_THAT(MessageOf("op,rows,cols,measured_us,predicted_us\nneg,64,64,1,2\n"),
              HasSubstr("not both"));
  EXPECT_THAT(MessageOf("op,m,k,n,split_m,split_n,split_k,cores,measured_us\n"
                        "matmul,64,256,512,2,4,8,32,1\n"),
              HasSubstr("split_m 2 times split_n 4 times split_k 8 needs 64 cores; cores is 32"));
}

}  // namespace
}  // namespace spyre::cosim::points_csv_test
