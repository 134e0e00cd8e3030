// SPDX-License-Identifier: Apache-2.0
// Collectives of several programs that drive a card each: the ranks of `torchrun`, or what else
// sets RANK, WORLD_SIZE and LOCAL_RANK. docs/multi-card.md says what they do and cost.
//
//   spyre_comms::initialize_library(runtime, stream);
//   auto work = spyre_comms::get_world_context()->allreduce(tensor, SpyreReductionOpType::SUM);
//   work->start();
//   work->wait();
//
// Work is carried out when some of it is waited for or asked for, behind what the stream has to do:
// calls of all ranks in the order in which they were started, and what two ranks have started one
// after the other as soon as both are ready. A receive is open for its sender from its start.
//
// Threads: any; calls of one process are served one after the other. Errors: std::runtime_error
// whose text says what failed, and names both ranks where two have called different things. Then
// the library is of no more use.
#pragma once

#include <cstddef>
#include <flex/flex.hpp>
#include <memory>
#include <spyre_comms_tensor.hpp>
#include <vector>

namespace spyre_comms {

using process_id_t = int;  // a rank

enum class SpyreReductionOpType { SUM, UNSUPPORTED };

class WorkSchedule {
 public:
  virtual ~WorkSchedule() = default;
  // Once, in the same order on all ranks.
  virtual void start() = 0;
  // Both carry it out. query is true then: an answer that depended on how far the others are
  // would depend on how fast the host is.
  virtual bool query() = 0;
  virtual void wait() = 0;
};
using Work = std::shared_ptr<WorkSchedule>;

// All ranks. Tensors are taken by value; see Tensor for what must outlive the work.
class Context {
 public:
  virtual ~Context() = default;
  virtual process_id_t getRank() const = 0;
  virtual size_t getSize() const = 0;

  // outputs: one for each rank, in order; that of the rank itself is filled as well.
  virtual Work allgather(const std::vector<Tensor>& outputs, const Tensor& input) = 0;
  virtual Work allreduce(const Tensor& tensor, SpyreReductionOpType operation) = 0;
  virtual Work barrier() = 0;
  virtual Work broadcast(const Tensor& tensor, process_id_t root) = 0;
  // outputs: as allgather at the root, not used elsewhere.
  virtual Work gather(const std::vector<Tensor>& outputs, const Tensor& input,
                      process_id_t root) = 0;
  // The root's tensor is the sum. Those of others may be sums of some ranks afterwards.
  virtual Work reduce(const Tensor& tensor, SpyreReductionOpType operation, process_id_t root) = 0;
  // Of one tag, in order.
  virtual Work send(const Tensor& tensor, process_id_t to, int tag) = 0;
  virtual Work recv(const Tensor& tensor, process_id_t from, int tag) = 0;
};

// May be called again, which does nothing. stream: behind whose work collectives come.
void initialize_library(const std::shared_ptr<flex::RuntimeContext>& runtime,
                        flex::RuntimeStream* stream);
// Forgets work that was not carried out. May be called again.
void finalize_library();
// Null before initialize_library and after finalize_library.
std::shared_ptr<Context> get_world_context();

}  // namespace spyre_comms
