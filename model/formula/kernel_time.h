// SPDX-License-Identifier: Apache-2.0
// The closed form of a kernel's time on the card: card.fidelity = "fast". Each term stands for a
// mechanism; nothing is simulated, and no SystemC object is made. Where the terms and their numbers
// come from, and how far they are from measured times: docs/accuracy.md.
//
// Pure functions, any thread; a kernel takes about a microsecond. Times in ns, rates in bytes/ns.
#pragma once

#include <cstdint>

#include "model/formula/kernel_work.h"
#include "parameters/card_parameters.h"

namespace spyre::model {

// What a kernel's time is mostly made of.
enum class FormulaBound : uint8_t {
  kStart,          // the start and end of a kernel
  kArray,          // the PT arrays, and loading their weights
  kVectorLoop,     // the loops of vector instructions
  kMemory,         // device memory
  kStridedMemory,  // device memory, whose banks collide
  kHalfRing,       // the one side of the ring that the cores are on
  kStream,         // requests in flight of a core or of a multicast group
  kMulticastStop,  // the memory stop of the ring, which takes one multicast after the other
};
const char* Name(FormulaBound bound);  // "the PT arrays", as traces/path_causes.h

struct KernelTime {
  double ns = 0;  // from start to finish on the card
  FormulaBound bound = FormulaBound::kStart;
  double start_ns = 0;
  double array_ns = 0, loop_ns = 0;  // if nothing else took time
  double load_ns = 0, store_ns = 0;  // likewise; of a kernel without a matmul all in load_ns
  double exposed_store_ns = 0;       // that the array waited for
  uint64_t macs = 0, bytes_read = 0, bytes_written = 0;
};

KernelTime TimeOf(const KernelWork& work, const CardParameters& card);

// What a step of a kernel that has several takes beside its own time: nothing hides its first and
// last request, and the cores may meet before it.
double StepStartNs(const KernelTime& step, bool cores_meet, const CardParameters& card);

}  // namespace spyre::model
