// SPDX-License-Identifier: Apache-2.0
// Number formats by the names that the software of the card uses. Stands alone; C++17.
#pragma once

#include <map>
#include <stdexcept>
#include <string>

// A defect of the program that includes this: throws std::runtime_error with the text.
#define DT_ERROR(message) throw std::runtime_error(message)

enum class DataFormats : int {
  SEN169_FP16 = 0,
  IEEE_FP32 = 1,
  INVALID = 2,
  SEN143_FP8 = 3,
  SEN152_FP8 = 4,
  SEN153_FP9 = 5,
  SENINT2 = 6,
  SENINT4 = 7,
  SENINT8 = 8,
  SENINT16 = 9,
  SENINT24 = 10,
  IEEE_INT64 = 11,
  IEEE_INT32 = 12,
  SENUINT32 = 13,
  SENUINT2 = 14,
  IEEE_FP16 = 15,
  BOOL = 16,
  BFLOAT16 = 17,
  SEN18F_FP24 = 18,
};

// Elements in a stick of 128 bytes. Formats whose packing is not public are not in it.
inline std::map<DataFormats, float> dataFormatToStickSize = {
    {DataFormats::SEN169_FP16, 64}, {DataFormats::IEEE_FP32, 32}, {DataFormats::SEN143_FP8, 128},
    {DataFormats::SEN152_FP8, 128}, {DataFormats::SENINT2, 512},  {DataFormats::SENINT4, 256},
    {DataFormats::SENINT8, 128},    {DataFormats::SENINT16, 64},  {DataFormats::IEEE_INT64, 16},
    {DataFormats::IEEE_INT32, 32},  {DataFormats::SENUINT32, 32}, {DataFormats::SENUINT2, 512},
    {DataFormats::IEEE_FP16, 64},   {DataFormats::BOOL, 64},      {DataFormats::BFLOAT16, 64},
};

class EnumsConversion {
 public:
  static std::string dataFormatsToString(DataFormats format);  // "SEN169_FP16"; "INVALID"
};
