// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/correction.h"

#include <cstring>

#include "base/error.h"
#include "base/joined.h"

namespace spyre::runtime {
namespace {

constexpr uint16_t kKindPhysical = 0;
constexpr uint16_t kKindRegion = 1;
constexpr uint16_t kKindNumber = 2;

template <class Values>
const typename Values::value_type& At(const Values& values, int index, size_t record,
                                      const char* what) {
  if (index < 0 || index >= static_cast<int>(values.size())) {
    throw BadInput("correction record {} describes {} {}, but {} were given", record, what, index,
                   values.size());
  }
  return values[index];
}

}  // namespace

std::array<uint64_t, kCorrectionStrides> CorrectionStrides(const StickLayout& layout) {
  if (layout.host_size.size() > kCorrectionStrides) {
    throw BadInput("tensor [{}] has rank {}; program correction describes up to {} dimensions",
                   Joined(layout.host_size, ", "), layout.host_size.size(), kCorrectionStrides);
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

CorrectionRecord MakeCorrectionRecord(int64_t dimension) {
  CorrectionRecord record{};
  record.kind = kKindNumber;
  record.offset = static_cast<uint64_t>(dimension);
  return record;
}

std::vector<uint8_t> AssembleCorrectionInput(const CorrectionMetadata& metadata,
                                             const std::vector<TensorLocation>& arguments,
                                             const std::vector<int64_t>& dimensions) {
  std::vector<uint8_t> buffer(metadata.size_bytes, 0);
  for (size_t i = 0; i < metadata.records.size(); ++i) {
    const CorrectionSource& source = metadata.records[i];
    if ((i + 1) * sizeof(CorrectionRecord) > buffer.size()) {
      throw BadInput("correction input of {} bytes has no room for record {} of {} bytes each",
                     buffer.size(), i, sizeof(CorrectionRecord));
    }
    const CorrectionRecord record =
        source.kind == CorrectionSource::Kind::kDimension
            ? MakeCorrectionRecord(At(dimensions, source.index, i, "dimension"))
            : MakeCorrectionRecord(At(arguments, source.index, i, "launch argument"));
    std::memcpy(buffer.data() + i * sizeof(record), &record, sizeof(record));
  }
  return buffer;
}

void CheckDimensions(const SpyreCompute& compute, const std::vector<int64_t>& values) {
  if (values.size() != compute.dimensions.size()) {
    throw BadInput("kernel '{}' takes {} dimension values, {} were given", compute.name,
                   compute.dimensions.size(), values.size());
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const DimensionInfo& dimension = compute.dimensions[i];
    if (values[i] < dimension.granularity || values[i] > dimension.max ||
        values[i] % dimension.granularity != 0) {
      throw BadInput("kernel '{}', dimension '{}': {} is not a multiple of {} from {} to {}",
                     compute.name, dimension.name, values[i], dimension.granularity,
                     dimension.granularity, dimension.max);
    }
  }
}

}  // namespace spyre::runtime
