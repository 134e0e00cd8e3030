// SPDX-License-Identifier: Apache-2.0
// flex: the runtime that PyTorch's device for the card is written against. Memory, streams and
// launches of one card in a process. docs/torch.md says which card that is. C++17 and later.
//
// Threads: any. Errors: std::runtime_error whose text says what failed, where and what to do; an
// error of the card is thrown once, by the call that learns of it, and the card goes on.
#pragma once

#include <spyrecode-host-functions/sendataconvert/sen_data_convert.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace flex {

// Device virtual addresses: eight segments of 16 GiB, of which the last is the running program's.
inline constexpr unsigned SEGMENT_SIZE_BITS = 34;
inline constexpr uint64_t SEGMENT_SIZE = uint64_t{1} << SEGMENT_SIZE_BITS;
inline constexpr uint64_t PROG_SEGMENT = 7;
inline constexpr uint64_t PROG_OFFSET_BASE = PROG_SEGMENT << SEGMENT_SIZE_BITS;
constexpr uint64_t dmvaToSegmentId(uint64_t dmva) { return dmva >> SEGMENT_SIZE_BITS; }

namespace aiupti {
// A record of an activity for profilers; the length of its name is what limits names of kernels.
// torch-spyre's tests fill it through byte 127.
struct AIUpti_ActivityCB {
  char name[128];
};
}  // namespace aiupti

// A place in device memory: an offset in a region of the card's function.
struct LogicalAddress {
  uint64_t region_id = 0;
  uint64_t offset = 0;
  LogicalAddress() = default;
  LogicalAddress(uint64_t region, uint64_t bytes) : region_id(region), offset(bytes) {}
};

struct Chunk {
  LogicalAddress addr;
  size_t size = 0;  // bytes
  int domain_id = 0;
  Chunk() = default;
  Chunk(LogicalAddress address, size_t bytes, int domain)
      : addr(address), size(bytes), domain_id(domain) {}
};

// Memory of the card in pieces. One that an allocator has made frees the memory at its end; one
// that was made from chunks is a view. It may outlive the runtime.
class CompositeAddress {
 public:
  CompositeAddress() = default;
  explicit CompositeAddress(Chunk chunk) : chunks_{chunk} {}
  CompositeAddress(Chunk chunk, std::shared_ptr<void> owner)
      : chunks_{chunk}, owner_(std::move(owner)) {}
  CompositeAddress(CompositeAddress&&) noexcept = default;
  CompositeAddress& operator=(CompositeAddress&&) noexcept = default;
  CompositeAddress(const CompositeAddress&) = delete;
  CompositeAddress& operator=(const CompositeAddress&) = delete;
  ~CompositeAddress() = default;

  const std::vector<Chunk>& chunks() const { return chunks_; }
  size_t total_size() const {
    size_t bytes = 0;
    for (const Chunk& chunk : chunks_) bytes += chunk.size;
    return bytes;
  }

 private:
  std::vector<Chunk> chunks_;
  std::shared_ptr<void> owner_;
};
std::ostream& operator<<(std::ostream& out, const CompositeAddress& address);

enum class PlacementPolicy { Bind, Preferred, Interleave };
enum class MemoryType { Tensor, Program };

// Where memory is to come from. The modelled card has one domain, number 0.
struct AllocationDirective {
  PlacementPolicy policy;
  std::vector<int> domains;
  std::optional<uint64_t> alignment;  // at most 128, which all memory has
  MemoryType type;
  AllocationDirective(PlacementPolicy placement, std::vector<int> numbers,
                      std::optional<uint64_t> align, MemoryType memory)
      : policy(placement), domains(std::move(numbers)), alignment(align), type(memory) {}
};

class FlexAllocator {
 public:
  // Sizes are rounded up to 128 bytes. When memory is short, the callbacks are called and the
  // allocation is tried again; then it throws.
  CompositeAddress allocate(size_t bytes, const AllocationDirective& directive);
  // The device virtual address of the first byte.
  uint64_t compositeAddressToDmva(const CompositeAddress& address) const;
  // Called with the allocator's lock, held, which it may let go of and must take again.
  using MemoryPressureCallback = std::function<void(std::unique_lock<std::mutex>&)>;
  void registerMemoryPressureCallback(MemoryPressureCallback callback);

 private:
  std::mutex mutex_;
  std::vector<MemoryPressureCallback> callbacks_;
};

// One copy between host and card. Made by createDmaParams; the caller may change what follows and
// destroys it when the launch has returned.
struct DmaParams {
  void* host = nullptr;
  size_t size = 0;  // bytes on the card
  bool to_device = true;
  const CompositeAddress* device = nullptr;
  std::shared_ptr<data_conversion_info> conversion;  // null: bytes as they are
  // True: starts when everything before it in the stream is done. False: it may start earlier.
  bool pipeline_barrier = true;
  std::function<void(void*)> callback;  // when the copy is done, with the host address
};
DmaParams* createDmaParams(void* host, size_t size, bool to_device, const CompositeAddress* device,
                           std::shared_ptr<data_conversion_info> conversion = nullptr);
void destroyDmaParams(DmaParams* params);

// One launch of a program.
struct ComputeParams {
  const CompositeAddress* program = nullptr;     // its whole allocation
  std::vector<const CompositeAddress*> tensors;  // empty: the program was corrected
  std::string kernel_name;                       // up to 255 bytes
  uint64_t bootstrap_offset = 0;                 // of its first instruction in the allocation
  bool pipeline_barrier = true;
};
ComputeParams* createComputeParams(const CompositeAddress* program,
                                   std::vector<const CompositeAddress*> tensors,
                                   std::string kernel_name = "", uint64_t bootstrap_offset = 0);
void destroyComputeParams(ComputeParams* params);

// A function of the host in a stream.
struct HostCallbackParams {
  std::function<void(void*)> function;
  void* argument = nullptr;
  bool pipeline_barrier = true;
};
HostCallbackParams* createHostCallbackParams(std::function<void(void*)> function, void* argument,
                                             bool pipeline_barrier);
void destroyHostCallbackParams(HostCallbackParams* params);

enum class RuntimeStreamPriority { NORMAL, HIGH };

// Operations of a stream are carried out in the order of their launches. A launch returns when the
// operation is queued; host memory that it reads has been read by then. Host memory that is written
// must stay until the operation is done.
class RuntimeStream {
 public:
  class Queue;
  explicit RuntimeStream(std::unique_ptr<Queue> queue);  // by RuntimeContext
  ~RuntimeStream();
  RuntimeStream(const RuntimeStream&) = delete;
  RuntimeStream& operator=(const RuntimeStream&) = delete;

  bool query();          // nothing is outstanding; does not wait
  void synchronize();    // waits for all; throws what has failed
  bool needsShutdown();  // the card is lost: nothing can run on the stream any more

  void launchOperationH2D(const DmaParams* params);
  void launchOperationD2H(const DmaParams* params);
  void launchOperationCompute(const ComputeParams* params);
  // Calls the function before it returns, in the caller's thread; what it throws, the caller gets.
  void launchOperationHostCallback(const HostCallbackParams* params);
  // Fills the memory with a number. use_dmai: by the card's copy engine, as it always is here.
  void fillAsync(const CompositeAddress* destination, double value, DataFormats format,
                 bool use_dmai);

 private:
  std::unique_ptr<Queue> queue_;
};

// The card of this process. Streams live as long as the process.
class RuntimeContext {
 public:
  RuntimeContext();  // by initializeRuntime
  ~RuntimeContext();
  RuntimeContext(const RuntimeContext&) = delete;
  RuntimeContext& operator=(const RuntimeContext&) = delete;

  RuntimeStream* getDefaultStream();
  // Any number of streams. Beyond 32 of a priority they share the streams of the card, which orders
  // them more than they ask for.
  RuntimeStream* createStream(RuntimeStreamPriority priority);
  std::shared_ptr<FlexAllocator> getAllocator();
  bool hasStreamError();  // some stream needs a shutdown

 private:
  class Streams;
  std::unique_ptr<Streams> streams_;
  std::shared_ptr<FlexAllocator> allocator_;
};

// Opens card `device` of those that the process may see, once; later calls give the same context.
// Returns a sentence for logs.
std::string initializeRuntime(std::shared_ptr<RuntimeContext>* context, int device);
// The same context; opens card 0 if none is open.
std::shared_ptr<RuntimeContext> getFlexRuntimeContext();
// How many cards the process may see; opens none.
size_t getNumDevices();

}  // namespace flex
