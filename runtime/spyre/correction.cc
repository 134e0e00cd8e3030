#include "runtime/spyre/correction.h"

#include <fmt/ranges.h>

#include <cstring>

#include "model/contract/error.h"

namespace spyre::runtime {
namespace {

constexpr uint16_t kKindPhysical = 0;
constexpr uint16_t kKindRegion = 1;

}  // namespace

std::array<uint64_t, kCorrectionStrides> CorrectionStrides(const StickLayout& layout) {
  if (layout.host_size.size() > kCorrectionStrides) {
    throw BadInput("tensor [{}] has rank {}; program correction describes up to {} dimensions",
                   fmt::join(layout.host_size, ", "), layout.host_size.size(), kCorrectionStrides);
  }
  std::array<uint64_t, kCorrectionStrides> strides{};
  for (size_t d = 0; d < layout.host_size.size(); ++d) {
    strides[d] = static_cast<uint64_t>(layout.DeviceByteStride(static_cast<int>(d)));
  }
  return strides;
}

CorrectionRecord MakeCorrectionRecord(const TensorLocation& location) {
  CorrectionRecord record{};
  if (const auto* vf = std::get_if<flex::VFDeviceHandle>(&location.handle)) {
    record.kind = kKindRegion;
    record.region = static_cast<uint16_t>(vf->region_id);
  } else {
    record.kind = kKindPhysical;
  }
  record.offset = flex::RawOffset(location.handle);
  for (int d = 0; d < kCorrectionStrides; ++d) record.stride[d] = location.stride[d];
  return record;
}

std::vector<uint8_t> AssembleCorrectionInput(const CorrectionMetadata& metadata,
                                             const std::vector<TensorLocation>& arguments) {
  std::vector<uint8_t> buffer(metadata.size_bytes, 0);
  for (size_t i = 0; i < metadata.argument_of_record.size(); ++i) {
    const int argument = metadata.argument_of_record[i];
    if (argument < 0 || argument >= static_cast<int>(arguments.size())) {
      throw BadInput("correction record {} describes launch argument {}, but {} were given", i,
                     argument, arguments.size());
    }
    if ((i + 1) * sizeof(CorrectionRecord) > buffer.size()) {
      throw BadInput("correction input of {} bytes has no room for record {} of {} bytes each",
                     buffer.size(), i, sizeof(CorrectionRecord));
    }
    const CorrectionRecord record = MakeCorrectionRecord(arguments[argument]);
    std::memcpy(buffer.data() + i * sizeof(record), &record, sizeof(record));
  }
  return buffer;
}

}  // namespace spyre::runtime
