// SPDX-License-Identifier: Apache-2.0
// SpyreStream: the single entry point for device work (the runtime RFC). It takes Operations,
// assembles the correction input of each launch, works out tiles, and turns everything into
// FlexStream calls.
//
// Made by the application on a RuntimeContext, which must outlive it. SpyreStream(context) has a
// FlexStream of its own; copies share it, and the last of them destroys it: what is enqueued still
// runs, and Synchronize of the context throws its error. Made over a given FlexStream it owns
// nothing. Threads: any; one launch is enqueued as a whole. All methods return at
// once, except Synchronize.
//
// Errors: Error(kBadInput) when the arguments do not fit the Operation (nothing is enqueued), or a
// handle is out of bounds; Error(kDeviceFault) when the stream is in error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/flex/runtime_context.h"
#include "runtime/spyre/correction.h"
#include "runtime/spyre/operation.h"
#include "runtime/spyre/spyre_tensor.h"
#include "runtime/spyre/tiling.h"

namespace spyre::runtime {

class TileLauncher;
class TileOverlap;

class SpyreStream {
 public:
  // A new stream of the context, or BadInput when all are in use. The default stream is
  // SpyreStream(context, context.DefaultStream()).
  explicit SpyreStream(flex::RuntimeContext& context, bool high_priority = false);
  SpyreStream(flex::RuntimeContext& context, flex::FlexStream& stream);
  static SpyreStream Default(flex::RuntimeContext& context);

  // Enqueues the Operation once: its preprocessing steps in order, then its compute. Arguments by
  // handle are tensors of exactly the compiled shape and layout; by tensor, shapes are checked
  // against the compiled ones and strides are the tensor's own. A data-movement Operation takes
  // none. `dimensions`: one value for each dimension that the compute leaves to the launch.
  // BadInput, and nothing is enqueued, if an argument is not wholly in live memory of this context,
  // or no step of the Operation tells the program where it is.
  void Launch(const Operation& operation) { Launch(operation, std::vector<DeviceHandle>{}); }
  void Launch(const Operation& operation, const std::vector<DeviceHandle>& device_handles,
              const std::vector<int64_t>& dimensions = {});
  void Launch(const Operation& operation, const std::vector<SpyreTensor>& tensors,
              const std::vector<int64_t>& dimensions = {});

  // Enqueues the Operation once for each tile of tensors larger than the compiled shape; tiling.h
  // has the preconditions and the order. Handles carry no shape, so the second form is given the
  // shapes; their layouts are those the compiler would give contiguous tensors of these shapes.
  // `kernels`: what options.remainder needs beside the Operation.
  void LaunchTiled(const Operation& operation, const std::vector<SpyreTensor>& tensors,
                   const LaunchOptions& options = {}, const TileKernels& kernels = {});
  void LaunchTiled(const Operation& operation, const std::vector<DeviceHandle>& device_handles,
                   const std::vector<std::vector<int64_t>>& shapes,
                   const LaunchOptions& options = {}, const TileKernels& kernels = {});

  // Throws what Launch would, and enqueues nothing.
  void CheckLaunch(const Operation& operation, const std::vector<SpyreTensor>& tensors,
                   const std::vector<int64_t>& dimensions = {}) const;
  // What LaunchTiled enqueues. `overlap`: null if there is none, or it is made here.
  void LaunchTiles(TileLauncher& tiles, const LaunchOptions& options,
                   TileOverlap* overlap = nullptr);

  // The Operation once, on arguments that the caller has checked: one tile of a launch. `info`
  // gives label, tag, what is kept alive, and whether it is joined to what was enqueued last.
  void LaunchAt(const Operation& operation, const std::vector<TensorLocation>& arguments,
                const flex::OperationInfo& info);

  // The two halves of LaunchAt, also on different streams: the preprocessing steps, and the
  // compute. The caller orders all uses of the program (OperationInfo::ordered). PrepareAt gives
  // `info.then` to the first step.
  void PrepareAt(const Operation& operation, const std::vector<TensorLocation>& arguments,
                 flex::OperationInfo info);
  void ComputeAt(const Operation& operation, const std::vector<TensorLocation>& arguments,
                 flex::OperationInfo info);

  void Synchronize() { stream_->Synchronize(); }

  flex::RuntimeContext& context() const { return *context_; }
  flex::FlexStream& flex_stream() const { return *stream_; }

 private:
  struct Arguments {
    std::vector<TensorLocation> tensors;
    std::vector<int64_t> dimensions;
  };
  Arguments ArgumentsOf(const Operation& operation, const std::vector<SpyreTensor>& tensors,
                        const std::vector<int64_t>& dimensions) const;
  // BadInput for what the card would refuse, or do to foreign memory.
  void Validate(const Operation& operation, const Arguments& arguments) const;
  void ValidateSteps(const Operation& operation) const;
  void Enqueue(const Operation& operation, const Arguments& arguments,
               const flex::OperationInfo& about);
  // What the hazard tracker, if there is one, is to know of a launch: its tensors and programs.
  void Declare(const Operation& operation, const Arguments& arguments,
               flex::OperationInfo* info) const;
  std::vector<flex::Access> AccessesOf(const Operation& operation,
                                       const Arguments& arguments) const;
  void EnqueueSteps(const Operation& operation, const Arguments& arguments,
                    const flex::OperationInfo& about);
  void EnqueueStep(const PreProcessCompute& step, const Arguments& arguments,
                   flex::OperationInfo info);

  flex::RuntimeContext* context_;
  flex::FlexStream* stream_;
  std::shared_ptr<const void> owned_;  // destroys the stream; null: it is somebody else's
};

}  // namespace spyre::runtime
