// SPDX-License-Identifier: Apache-2.0
// Tensors as spyre_comms.hpp takes them: type, shape and a place in device memory. Plain data, any
// thread; nothing is owned.
#pragma once

#include <cstdint>
#include <flex/flex.hpp>
#include <string>
#include <utility>
#include <vector>

namespace spyre_comms {

// Types of elements, of the host and of the card (sen_*). What only moves may have any; sums are
// of float16 and sen_fp16, which are one type on the card.
enum class TensorDataTypeEnum : uint8_t {
  dt_undef,
  boolean,
  string,
  float8,
  float16,
  float32,
  float64,
  float128,
  float256,
  decimal32,
  decimal64,
  decimal128,
  bfloat16,
  int1,
  int2,
  int4,
  int8,
  int16,
  int32,
  int64,
  uint1,
  uint2,
  uint4,
  uint8,
  uint16,
  uint32,
  uint64,
  qint1,
  qint2,
  qint4,
  qint8,
  qint16,
  qint32,
  qint64,
  quint1,
  quint2,
  quint4,
  quint8,
  quint16,
  quint32,
  quint64,
  complex64,
  complex128,
  sen_fp8,
  sen_fp16,
  sen_int1,
  sen_int2,
  sen_int4,
  sen_int8,
  sen_int16,
  sen_int24,
  sen_int32,
  sen_uint1,
  sen_uint2,
  sen_uint4,
  sen_uint8,
  sen_uint16,
  sen_uint24,
  sen_uint32,
};
const std::string& Name(TensorDataTypeEnum type);  // "float16"

class TensorShape {
 public:
  TensorShape() = default;
  explicit TensorShape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}
  const std::vector<int64_t>& dims() const { return dims_; }

 private:
  std::vector<int64_t> dims_;
};

class TensorInfo {
 public:
  TensorInfo() = default;
  TensorInfo(TensorDataTypeEnum type, TensorShape shape) : type_(type), shape_(std::move(shape)) {}
  TensorDataTypeEnum type() const { return type_; }
  const TensorShape& shape() const { return shape_; }

 private:
  TensorDataTypeEnum type_ = TensorDataTypeEnum::dt_undef;
  TensorShape shape_;
};

class Tensor {
 public:
  Tensor() = default;
  // host: not used; the data are in device memory.
  explicit Tensor(TensorInfo info, void* /*host*/ = nullptr) : info_(std::move(info)) {}

  // The caller's, which stays so; it is looked at by the call that takes the tensor, and the memory
  // must be there until the work is complete. Its size is that of the data on the card.
  void SetSpyreDeviceAddressBorrowed(const flex::CompositeAddress* address) { address_ = address; }
  const flex::CompositeAddress* device_address() const { return address_; }
  const TensorInfo& info() const { return info_; }

 private:
  TensorInfo info_;
  const flex::CompositeAddress* address_ = nullptr;
};

}  // namespace spyre_comms
