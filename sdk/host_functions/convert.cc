// SPDX-License-Identifier: Apache-2.0
#include <spyrecode-host-functions/sendataconvert/sen_data_convert.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json_text.h"
#include "model/contract/host_conversion.h"
#include "sdk/host_functions/formats.h"

std::string EnumsConversion::dataFormatsToString(DataFormats format) {
  return std::string(spyre::FormatName(spyre::sdk::FormatOf(format)));
}

void data_conversion_info::exportJson(std::ostream& out) const {
  nlohmann::ordered_json boxes = nlohmann::ordered_json::array();
  for (const data_conversion_stride_info& box : dcsi_) {
    boxes.push_back({{"size", box.size_},
                     {"stride_src", box.stride_src_},
                     {"stride_dst", box.stride_dst_},
                     {"offset_src", box.offset_src_},
                     {"offset_dst", box.offset_dst_}});
  }
  const nlohmann::ordered_json json = {
      {"dsName", dci_dsName_},
      {"isHostToSen", isHostToSen_},
      {"dataformat_src", EnumsConversion::dataFormatsToString(dataformat_src_)},
      {"dataformat_dst", EnumsConversion::dataFormatsToString(dataformat_dst_)},
      {"dcsi", std::move(boxes)},
      {"input_shape", input_shape_},
      {"output_shape", output_shape_}};
  out << spyre::DumpJson(json);
}

namespace spyre::sdk {

DataFormat FormatOf(DataFormats format) {
  const int value = static_cast<int>(format);
  if (value < 0 || value > static_cast<int>(DataFormat::kSen18fFp24))
    throw BadInput("{} is not a data format", value);
  return static_cast<DataFormat>(value);
}

DataConversion ConversionOf(const data_conversion_info& info) {
  DataConversion conversion;
  conversion.to_device = info.isHostToSen_;
  conversion.source_format = FormatOf(info.dataformat_src_);
  conversion.destination_format = FormatOf(info.dataformat_dst_);
  for (const data_conversion_stride_info& box : info.dcsi_) {
    conversion.boxes.push_back(
        {box.size_, box.stride_src_, box.stride_dst_, box.offset_src_, box.offset_dst_});
  }
  return conversion;
}

}  // namespace spyre::sdk

namespace deeptools {

uint32_t FloatToFp16Bin(float value) { return spyre::DlfFromFloat(value); }

void ConvertData(const data_conversion_info& conversion, const void* source, void* destination) {
  spyre::RunHostConversion(spyre::sdk::ConversionOf(conversion), source, destination);
}

bool IsConversionSupported(DataFormats source, DataFormats destination) {
  return spyre::FindHostConversion(spyre::sdk::FormatOf(source),
                                   spyre::sdk::FormatOf(destination)) != nullptr;
}

}  // namespace deeptools
