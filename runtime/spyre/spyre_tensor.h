// SPDX-License-Identifier: Apache-2.0
// SpyreTensor: a tensor that lives in device memory, in stick layout (the runtime RFC).
//
// Made by AllocateTensor; copies share the memory, which is freed with the last copy. Any thread
// may hold one; the RuntimeContext must outlive it. Sizes of `shape` in elements, strides in bytes.
// Errors: Error(kBadInput) for shapes or formats without a layout, or when memory is exhausted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/contract/formats.h"
#include "model/contract/stick_layout.h"
#include "runtime/flex/runtime_context.h"

namespace spyre::runtime {

using flex::DeviceHandle;

// Owns one allocation; frees it when destroyed, unless the context is gone by then.
class DeviceStorage {
 public:
  // `first_region`: as SpyreAllocator::Allocate.
  DeviceStorage(flex::RuntimeContext& context, uint64_t size_bytes, flex::MemoryKind kind,
                uint32_t first_region = 0);
  ~DeviceStorage();
  DeviceStorage(const DeviceStorage&) = delete;
  DeviceStorage& operator=(const DeviceStorage&) = delete;

  const DeviceHandle& handle() const { return handle_; }
  uint64_t size_bytes() const { return size_bytes_; }

 private:
  flex::RuntimeContext::Lifeline context_;
  DeviceHandle handle_;
  uint64_t size_bytes_;
};

// A part of a tensor's device image that lies in one piece.
struct TensorChunk {
  DeviceHandle handle;      // its first byte
  uint64_t offset = 0;      // of that byte in the image
  uint64_t size_bytes = 0;  // but for the last, all are alike
};

struct SpyreTensor {
  std::vector<int64_t> shape;   // logical dimensions, for example [4096, 1024]
  std::vector<int64_t> stride;  // bytes between consecutive elements; along the stick dimension,
                                // inside a stick (from stick to stick: layout.DeviceByteStride)
  DataFormat data_type = DataFormat::kSen169Fp16;  // of the elements on the device
  DeviceHandle device_handle;                      // first byte
  uint64_t size_bytes = 0;                         // of the device image, padding included
  StickLayout layout;
  std::shared_ptr<const void> storage;  // owns the memory; empty: it is somebody else's
  std::vector<TensorChunk> chunks;      // in order, if it is interleaved; empty: one piece
};

// New memory for a tensor with this layout, or with the default layout.
SpyreTensor AllocateTensor(flex::RuntimeContext& context, const StickLayout& layout);
SpyreTensor AllocateTensor(flex::RuntimeContext& context, const std::vector<int64_t>& shape,
                           DataFormat device_format = DataFormat::kSen169Fp16);
// A tensor in several pieces: `chunks` parts along ChunkedDimension, each an allocation of its own,
// on a VF in a region of its own while there are so many. All have as many elements, a multiple of
// `granularity` (of whole sticks along the stick dimension), but for the last, which may be
// smaller. BadInput if there are not so many parts.
SpyreTensor AllocateTensorInterleaved(flex::RuntimeContext& context, const StickLayout& layout,
                                      int chunks, int64_t granularity = 1);
// The host dimension that an interleaved tensor of this layout is divided along: that of the
// outermost dimension of the device image that has more than one element; -1: there is none.
int ChunkedDimension(const StickLayout& layout);
// Elements of a chunk of an interleaved tensor along it.
int64_t ChunkElements(const SpyreTensor& tensor);
// Where the byte `offset` of the device image is.
DeviceHandle LocationOf(const SpyreTensor& tensor, int64_t offset);
// The chunks, also of a tensor in one piece.
std::vector<TensorChunk> PiecesOf(const SpyreTensor& tensor);
// BadInput, naming `what`, unless every piece lies in a live allocation of the context.
void CheckTensorMemory(const flex::RuntimeContext& context, const std::string& what,
                       const SpyreTensor& tensor);
// A tensor over memory that the caller has allocated.
SpyreTensor TensorAt(const DeviceHandle& handle, const StickLayout& layout);

// The strides in bytes that a layout gives; what SpyreTensor::stride must be.
std::vector<int64_t> ByteStrides(const StickLayout& layout);
// "tensor [4096, 1024] SEN169_FP16 at region 0 + 0x0", for messages.
std::string ToString(const SpyreTensor& tensor);

}  // namespace spyre::runtime
