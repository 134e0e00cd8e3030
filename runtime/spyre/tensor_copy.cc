// SPDX-License-Identifier: Apache-2.0
#include "runtime/spyre/tensor_copy.h"

#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"

namespace spyre::runtime {
namespace {

// NORESERVE: a timing-only run never touches it, so it costs no memory, and its tensors may be
// larger than what the host has.
std::shared_ptr<uint8_t[]> NewStaging(uint64_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<uint8_t*>(memory), [bytes](uint8_t* start) { munmap(start, bytes); }};
}

void RequireHostData(const void* host_data, const SpyreTensor& tensor) {
  if (host_data == nullptr) {
    throw BadInput("copy of {}: the host address is null", ToString(tensor));
  }
}

// One for each chunk, between it and its part of `staging`.
template <class Copy>
std::vector<PreProcessCompute> CopiesOf(const SpyreTensor& tensor,
                                        const std::shared_ptr<uint8_t[]>& staging,
                                        const std::string& label) {
  const auto owner =
      std::make_shared<std::pair<std::shared_ptr<uint8_t[]>, SpyreTensor>>(staging, tensor);
  std::vector<PreProcessCompute> copies;
  for (const TensorChunk& chunk : PiecesOf(tensor)) {
    Copy copy;
    copy.host_address = staging.get() + chunk.offset;
    copy.device_handle = chunk.handle;
    copy.size = chunk.size_bytes;
    copy.keep_alive = owner;
    copy.label = label;
    copy.bulk = true;
    copies.emplace_back(std::move(copy));
  }
  return copies;
}

}  // namespace

void CopyTensorToDevice(SpyreStream& stream, const SpyreTensor& tensor, const void* host_data,
                        DataFormat host_format, const std::string& label) {
  flex::RuntimeContext& context = stream.context();
  const DataConversion conversion = PlanConversion(tensor.layout, host_format, true);
  const std::shared_ptr<uint8_t[]> staging = NewStaging(tensor.size_bytes);
  if (!context.options().timing_only) {
    RequireHostData(host_data, tensor);
    std::memset(staging.get(), 0, tensor.size_bytes);  // padding of partly filled sticks
    RunConversion(conversion, host_data, staging.get());
  }
  context.ChargeConversion(tensor.size_bytes);
  std::vector<PreProcessCompute> copies = CopiesOf<CopyToDevice>(tensor, staging, label);
  stream.Launch(Operation(std::move(copies)));
}

SpyreTensor TensorFromHost(SpyreStream& stream, const StickLayout& layout, const void* host_data,
                           DataFormat host_format, const std::string& label) {
  SpyreTensor tensor = AllocateTensor(stream.context(), layout);
  CopyTensorToDevice(stream, tensor, host_data, host_format, label);
  return tensor;
}

void CopyTensorFromDevice(SpyreStream& stream, const SpyreTensor& tensor, void* host_data,
                          DataFormat host_format, const std::string& label) {
  flex::RuntimeContext& context = stream.context();
  DataConversion conversion = PlanConversion(tensor.layout, host_format, false);
  const std::shared_ptr<uint8_t[]> staging = NewStaging(tensor.size_bytes);
  if (!context.options().timing_only) RequireHostData(host_data, tensor);
  std::vector<PreProcessCompute> copies = CopiesOf<CopyFromDevice>(tensor, staging, label);
  // The last copy of a stream is the last to complete.
  std::get<CopyFromDevice>(copies.back()).then = [&context, conversion = std::move(conversion),
                                                  source = staging.get(), host_data,
                                                  bytes = tensor.size_bytes] {
    context.ChargeCopyOut(bytes);
    context.ChargeConversion(bytes);
    if (!context.options().timing_only) RunConversion(conversion, source, host_data);
  };
  stream.Launch(Operation(std::move(copies)));
}

}  // namespace spyre::runtime
