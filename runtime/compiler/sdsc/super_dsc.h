// SPDX-License-Identifier: Apache-2.0
// SuperDSC: one operation as the public front end hands it to the backend: its dimensions, how they
// are divided over cores, and where every tensor is for every core. One JSON file each. Plain data.
//
// Sizes in elements, addresses in bytes. Source: public SDSC bundle specification (docs/facts.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/contract/formats.h"

namespace spyre::compiler {

struct SdscDim {
  std::string name;      // "mb", "out", "in", "x", ...
  int64_t size = 1;      // over all cores (N_)
  int64_t per_core = 1;  // size / slices
  int slices = 1;
};

// Elements start .. start + count - 1 of a dimension that hold no data.
struct SdscMask {
  int dim = 0;
  int64_t start = 0;
  int64_t count = 0;
};

// A dimension of a tensor that an operation reads in windows: element i of the operation's
// dimension, at position k of its window, is element i * stride + k * dilation of the tensor's.
struct SdscWindow {
  int dim = 0;         // of the result
  int window_dim = 0;  // positions within the window
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t extent = 1;  // elements of the tensor
};

struct SdscTensor {
  std::string name;  // "Tensor0"
  std::string type;  // "INPUT", "KERNEL", "OUTPUT", "KERNEL_IDX"
  DataFormat format = DataFormat::kSen169Fp16;
  int word_bytes = 2;
  bool in_lx = false;
  // layoutDimOrder_: positions in SuperDsc::dims, innermost first. The stick dimension's place in
  // it is the place of its stick count.
  std::vector<int> dim_order;
  // One per dim_order entry (in the file: per entry of the label's layoutDimOrder_, which may be
  // another order): 1 walked, -1 broadcast or reduced (extent 1, not walked), -2 the same
  // for the stick dimension: only element 0 of each stick is meaningful; 0: an element of the
  // operation's index tensor chooses among blocks of what the other dimensions hold.
  std::vector<int> scale;
  // Of its primaryDsInfo_ entry: one dimension, or two. Then the second is the one that other
  // tensors have in their sticks, and the elements of the first take turns within it (WeightRows).
  std::vector<int> stick_dims;
  std::vector<int64_t> stick_sizes;  // elements, as stick_dims
  std::map<int, int64_t> back_gap;   // dim -> elements behind the extent
  std::vector<SdscWindow> windows;   // at most one for each dimension of dim_order
  // Whether `start` holds symbol ids (negative) rather than addresses.
  bool symbolic = false;
  std::vector<int64_t> start;  // as SuperDsc::cores; LX tensors: offset in the core's LX
  // Of a tensor in LX that the cores have divided in another way than the operation (shuffle): how
  // many slices each dimension has, and which one each core holds; empty: as the operation does.
  std::vector<int> slices;              // by dims
  std::vector<std::vector<int>> slice;  // [index in cores][dim]
};

struct SdscConstant {
  std::string name;  // "eps", "samv-maskvalue", ...
  DataFormat format = DataFormat::kSen169Fp16;
  uint32_t bits = 0;
};

struct SuperDsc {
  std::string name;                             // "0_add"
  std::string op;                               // OpFunc name
  std::string unit;                             // "pt" or "sfp"
  DataFormat format = DataFormat::kSen169Fp16;  // that it computes in
  std::vector<SdscDim> dims;                    // in order of N_
  std::vector<int> cores;                       // ids used, ascending
  std::vector<std::vector<int>> slice;          // [index in cores][dim]
  std::vector<SdscTensor> tensors;
  std::vector<int> inputs;   // positions in tensors; a reduction's output is not among them
  std::vector<int> outputs;  // usually one
  int index = -1;            // position in tensors of the index tensor; -1: there is none
  std::vector<SdscMask> masks;
  std::vector<SdscConstant> constants;

  int FindDim(const std::string& dim_name) const;  // -1: none
  // Elements of a dimension on each core, as the tensor is divided.
  int64_t PerCore(const SdscTensor& tensor, size_t dim) const {
    return tensor.slices.empty() ? dims[dim].per_core : dims[dim].size / tensor.slices[dim];
  }
};

// Whether other elements of the dimension are other elements of the tensor.
bool Walks(const SdscTensor& tensor, int dim);

// Elements of the tensor along a dimension: those of the operation, or as far as its windows may
// reach.
int64_t ExtentOf(const SuperDsc& dsc, const SdscTensor& tensor, int dim);

// Byte strides of a tensor on one core (docs/facts.md 5): stick by stick, innermost dimension of
// dim_order first; in device memory the extent of a dimension is its size, in LX its per-core size,
// both with the back gap. One per dims entry: bytes from element to element, or, for the stick
// dimension, from stick to stick; 0 where the tensor does not walk the dimension. A dimension that
// is read in windows has the stride of the windows, its window dimension that within one.
std::vector<int64_t> DimStrides(const SuperDsc& dsc, const SdscTensor& tensor);
// Whether an index tensor chooses where some of its dimensions lie, and the bytes from one choice
// to the next: of all that the other dimensions hold, over all cores.
bool IsIndexed(const SdscTensor& tensor);
int64_t IndexedBlockBytes(const SuperDsc& dsc, const SdscTensor& tensor);
// Positions of the index tensor that choose.
int64_t IndexCount(const SuperDsc& dsc);
// Whether it converts between formats whose sticks hold different numbers of one dimension, the
// same one. It takes and makes whole sticks of the narrow format.
bool ChangesWidth(const SuperDsc& dsc);
// Steps of one core along a dimension: sticks, where it is in them, else elements. The wide side of
// a conversion has two for each stick of the narrow one, as far as there is room behind its
// elements.
int64_t StepsPerCore(const SuperDsc& dsc, const SdscTensor& tensor, size_t dim);
// Bytes from the first byte to behind the last that one core touches (LX), or all cores (memory).
int64_t FootprintBytes(const SuperDsc& dsc, const SdscTensor& tensor);
// The span of one core, as the public rule counts it: its steps along the outermost dimension in
// which it makes more than one, times everything inside.
int64_t CoreSpanBytes(const SuperDsc& dsc, const SdscTensor& tensor);

// Throws BadInput naming file, JSON path, value and what would be right: malformed JSON with line
// and column, missing keys, wrong types, sizes below 1 or slices that do not divide, names that do
// not resolve, more than 8 tensors, cores outside 0..31. A SuperDsc that was read is consistent.
SuperDsc ParseSuperDsc(const std::string& text, const std::string& file);

enum class BundleDialect : uint8_t {
  kSymbolicConstants,  // every start address is a symbol with a constant value; loops kept
  kBakedAddresses,     // addresses in the SDSC files; loops unrolled
  kSymbolicArguments,  // newest: the function's parameters are the bases of the tensors
};

// "constants", "baked", "arguments".
const std::vector<std::string>& BundleDialectNames();

// The JSON of the public emitter, key for key; the dialects differ in a few keys. The layout of a
// label in primaryDsInfo_ is that of its first tensor, and scale_ is in the order of that layout.
std::string ToSdscJson(const SuperDsc& dsc, BundleDialect dialect);

}  // namespace spyre::compiler
