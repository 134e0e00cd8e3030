// SPDX-License-Identifier: Apache-2.0
// .npy files: what is written is read back, and hostile files are refused with a message.
#include "cosim/tensors/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/error.h"
#include "tests/unit/huge_file.h"

namespace spyre::cosim::npy_test {
namespace {

using ::testing::HasSubstr;

std::string TempPath(const std::string& name) { return ::testing::TempDir() + "npy_test_" + name; }

std::vector<uint8_t> File(const std::string& dictionary, size_t data_bytes, int version = 1) {
  std::string text("\x93NUMPY", 6);
  text += static_cast<char>(version);
  text += '\0';
  const size_t size = dictionary.size();
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) text += static_cast<char>(size >> (8 * i));
  text += dictionary + std::string(data_bytes, '\x01');
  return {text.begin(), text.end()};
}

std::string MessageOf(const std::vector<uint8_t>& file) {
  try {
    ParseNpy(file, "x.npy");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadInput);
    return error.what();
  }
  return "no error";
}

TEST(Npy, ReadsBackWhatItWrote) {
  const std::vector<uint16_t> data = {0x3C00, 0xC000, 0x7BFF, 0, 1, 2};
  const std::string path = TempPath("round_trip.npy");
  WriteNpy(path, "f2", {2, 3}, data.data());
  const NpyArray array = ReadNpy(path);
  EXPECT_EQ(array.dtype, "f2");
  EXPECT_EQ(array.shape, (std::vector<int64_t>{2, 3}));
  ASSERT_EQ(array.data.size(), 12u);
  EXPECT_EQ(std::memcmp(array.data.data(), data.data(), 12), 0);
}

TEST(Npy, WritesDataAtAMultipleOf64BytesAsNumPyDoes) {
  const std::string path = TempPath("aligned.npy");
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, {1}, {7}, {1, 2, 3, 4, 5}}) {
    int64_t elements = 1;
    for (const int64_t size : shape) elements *= size;
    const std::vector<float> data(static_cast<size_t>(elements), 1.5f);
    WriteNpy(path, "f4", shape, data.data());
    EXPECT_EQ((std::filesystem::file_size(path) - 4 * data.size()) % 64, 0u);
    EXPECT_EQ(ReadNpy(path).shape, shape) << ShapeText(shape);
  }
}

TEST(Npy, ReadsVersion2AndEveryDictionaryOrder) {
  const NpyArray array =
      ParseNpy(File("{\"shape\": (4,), 'fortran_order': False, 'descr': '<i4'}\n", 16, 2), "x.npy");
  EXPECT_EQ(array.dtype, "i4");
  EXPECT_EQ(array.elements(), 4);
}

TEST(Npy, RefusesFortranOrderAndSaysWhatToDo) {
  EXPECT_THAT(
      MessageOf(File("{'descr': '<f2', 'fortran_order': True, 'shape': (2, 2), }", 8)),
      HasSubstr(
          "x.npy: the array is in Fortran order; C order is needed: save numpy.ascontiguous"));
}

TEST(Npy, RefusesTypesThatAreNotPlainLittleEndianNumbers) {
  const std::string rest = "', 'fortran_order': False, 'shape': (2,), }";
  EXPECT_THAT(MessageOf(File("{'descr': '>f2" + rest, 4)), HasSubstr("big endian"));
  EXPECT_THAT(MessageOf(File("{'descr': '|O8" + rest, 16)), HasSubstr("'|O8' is not supported"));
  EXPECT_THAT(MessageOf(File("{'descr': [('x', '<f2')], 'shape': (2,), }", 4)),
              HasSubstr("structured arrays"));
}

TEST(Npy, RefusesSizesThatDoNotAgreeBeforeTakingMemory) {
  const auto with_shape = [](const std::string& shape) {
    return File("{'descr': '<f2', 'fortran_order': False, 'shape': " + shape + ", }", 8);
  };
  EXPECT_THAT(MessageOf(with_shape("(5,)")), HasSubstr("needs 10 bytes of data, the file has 8"));
  EXPECT_THAT(MessageOf(with_shape("(3,)")), HasSubstr("needs 6 bytes"));
  EXPECT_THAT(MessageOf(with_shape("(4294967296, 4294967296)")), HasSubstr("larger than any file"));
  EXPECT_THAT(MessageOf(with_shape("(922337203685477580, 100)")), HasSubstr("larger"));
  EXPECT_THAT(MessageOf(with_shape("(99999999999999999999,)")), HasSubstr("dimension too large"));
  EXPECT_THAT(MessageOf(with_shape("(-1,)")), HasSubstr("whole number"));
  EXPECT_THAT(MessageOf(with_shape("(4")), HasSubstr("expected"));
  EXPECT_THAT(MessageOf(with_shape("(0, 922337203685477580)")),
              HasSubstr("needs 0 bytes of data, the file has 8"));
}

TEST(Npy, RefusesBrokenHeaders) {
  EXPECT_THAT(MessageOf({}), HasSubstr("not a .npy file"));
  EXPECT_THAT(MessageOf(std::vector<uint8_t>(100, 'a')), HasSubstr("not a .npy file"));
  EXPECT_THAT(MessageOf(File("{}", 0, 3)), HasSubstr("version 3.0 is not supported"));
  EXPECT_THAT(MessageOf(File("{}", 0)), HasSubstr("are needed"));
  EXPECT_THAT(MessageOf(File("{'descr': '<f2', 'descr': '<f2', }", 0)), HasSubstr("repeated key"));
  std::vector<uint8_t> long_header = File("{'descr': '<f2'", 0);
  long_header[8] = 0xFF;
  EXPECT_THAT(MessageOf(long_header), HasSubstr("claims 255 bytes, the file has 15"));
}

TEST(Npy, SurvivesEveryTruncationAndRandomDamage) {
  const std::vector<uint8_t> good =
      File("{'descr': '<f2', 'fortran_order': False, 'shape': (2, 2), }\n", 8);
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(MessageOf({good.begin(), good.begin() + static_cast<ptrdiff_t>(size)}), "no error")
        << "cut to " << size << " bytes";
  }
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> bad = good;
    for (int i = 0; i < 3; ++i) bad[random() % bad.size()] = static_cast<uint8_t>(random());
    MessageOf(bad);  // an array or an Error, nothing else
  }
}

TEST(Npy, NamesFileTensorGotAndExpectedWhenAnInputDoesNotFit) {
  const std::vector<uint16_t> data(8);
  const std::string path = TempPath("fit.npy");
  WriteNpy(path, "f2", {2, 4}, data.data());
  const auto message = [&](const std::string& dtype, const std::vector<int64_t>& shape) {
    try {
      ReadNpy(path, "input a", dtype, shape);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message("f2", {2, 4}), "no error");
  EXPECT_EQ(message("f4", {2, 4}),
            path + ": input a must be float32, the file has float16: save x.astype(numpy.float32)");
  EXPECT_EQ(message("f2", {8}),
            path + ": input a must have 1 dimensions [8], the file has 2 [2, 4]");
  EXPECT_EQ(message("f2", {4, 2}), path + ": input a must have shape [4, 2], the file has [2, 4]");
}

TEST(Npy, NamesAMissingFileAndADirectory) {
  for (const std::string& path : {std::string("/nonexistent/a.npy"), ::testing::TempDir()}) {
    try {
      ReadNpy(path);
      FAIL() << path << " was read";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(path));
    }
  }
}

TEST(Npy, ReadsNoDataThatItsHeadDoesNotExplain) {
  const std::string small = TempPath("small.npy");
  const std::vector<uint16_t> data(8);
  WriteNpy(small, "f2", {2, 4}, data.data());
  std::ifstream in(small, std::ios::binary);
  const std::string start((std::istreambuf_iterator<char>(in)), {});
  // 3221225408 elements and 128 bytes of head are 6 GiB.
  std::string right = start;
  right.replace(right.find("(2, 4), }           "), 20, "(1, 3221225408), }  ");
  const std::string refusals[][2] = {
      {"", "not a .npy file"},
      {start, "needs 16 bytes of data, the file has 6442450816"},
      {right, "input a must have shape [2, 4], the file has [1, 3221225408]"}};
  for (const auto& [bytes, refusal] : refusals) {
    const HugeFile file("huge.npy", bytes.substr(0, 128));
    try {
      ReadNpy(file.path(), "input a", "f2", {2, 4});
      FAIL() << refusal;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(file.path()));
      EXPECT_THAT(error.what(), HasSubstr(refusal));
    }
    EXPECT_LT(file.PeakGrowthBytes(), 100u << 20) << refusal;
  }
}

}  // namespace
}  // namespace spyre::cosim::npy_test
