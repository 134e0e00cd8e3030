// SPDX-License-Identifier: Apache-2.0
// The functions of spyre_comms.hpp.
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <spyre_comms.hpp>
#include <string_view>

#include "base/error.h"
#include "model/contract/memory_map.h"
#include "sdk/comms/rank.h"
#include "sdk/flex/comms_access.h"

namespace spyre_comms {
namespace {

using spyre::BadInput;
using spyre::runtime::Collective;
using spyre::runtime::CollectiveCall;
using spyre::sdk::Rank;

constexpr size_t kMostRanks = 128;

// A number of the environment; `otherwise` if it is not set.
size_t NumberOf(const char* name, size_t otherwise, size_t most) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  const std::string_view digits(text);
  size_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.front() == '-' || error == std::errc::result_out_of_range) {
    throw BadInput("{} value overflows unsigned long long: {}", name, text).Subject(name);
  }
  if (error != std::errc() || end != digits.data() + digits.size())
    throw BadInput("{} must be a valid integer: '{}'", name, text).Subject(name);
  if (number > most) {
    throw BadInput("{} value {} exceeds maximum allowed value {} (range: [0, {}])", name, number,
                   most, most)
        .Subject(name);
  }
  return number;
}

class World;

class RankWork final : public WorkSchedule, public std::enable_shared_from_this<RankWork> {
 public:
  // Between two ranks: what is done at the start, may be empty; whether the other has done its
  // part; and who that is, and what is called.
  struct Pair {
    std::function<void()> open;
    std::function<bool()> ready;  // empty: a call of all ranks
    size_t other = 0;
    std::string call;
  };
  // carry_out: once.
  RankWork(std::shared_ptr<World> world, std::function<void()> carry_out, Pair pair)
      : world_(std::move(world)), carry_out_(std::move(carry_out)), pair_(std::move(pair)) {}

  void start() override;
  bool query() override {
    wait();
    return true;
  }
  void wait() override;

 private:
  friend class World;
  const std::shared_ptr<World> world_;
  const std::function<void()> carry_out_;
  const Pair pair_;
  bool started_ = false, done_ = false;
};

// All ranks, of which this process is one. Calls of all its members are served one after the other.
class World final : public Context, public std::enable_shared_from_this<World> {
 public:
  World(flex::RuntimeStream* stream, size_t rank, size_t ranks)
      : stream_(stream),
        rank_(flex::comms::CardContext(), flex::comms::Mail(), rank, ranks,
              static_cast<unsigned>(flex::comms::CardNumber())),
        algorithm_(spyre::sdk::AlgorithmOfEnvironment()) {}

  process_id_t getRank() const override { return static_cast<process_id_t>(rank_.rank()); }
  size_t getSize() const override { return rank_.ranks(); }

  Work allgather(const std::vector<Tensor>& outputs, const Tensor& input) override {
    return Gathering(Collective::kAllGather, outputs, input, 0);
  }
  Work gather(const std::vector<Tensor>& outputs, const Tensor& input, process_id_t root) override {
    return Gathering(Collective::kGather, outputs, input, root);
  }
  Work allreduce(const Tensor& tensor, SpyreReductionOpType operation) override {
    CheckSum(tensor, operation);
    return InPlace(Collective::kAllReduce, tensor, 0);
  }
  Work reduce(const Tensor& tensor, SpyreReductionOpType operation, process_id_t root) override {
    CheckSum(tensor, operation);
    return InPlace(Collective::kReduce, tensor, root);
  }
  Work broadcast(const Tensor& tensor, process_id_t root) override {
    return InPlace(Collective::kBroadcast, tensor, root);
  }
  Work barrier() override {
    CollectiveCall call = CallOf(Collective::kBarrier, 0);
    return NewWork([this, call] { rank_.Run(call, {}); });
  }
  Work send(const Tensor& tensor, process_id_t to, int tag) override {
    const Data data = DataOf(tensor);
    const size_t peer = Peer(to);
    return NewWork([=] { rank_.Send(peer, tag, data.handle, data.bytes, data.type); },
                   {nullptr, [=] { return rank_.CanSend(peer, tag); }, peer,
                    fmt::format("send of {} bytes of {}", data.bytes, data.type)});
  }
  Work recv(const Tensor& tensor, process_id_t from, int tag) override {
    const Data data = DataOf(tensor);
    const size_t peer = Peer(from);
    return NewWork([=] { rank_.Receive(peer, tag, data.bytes, data.type); },
                   {[=] { rank_.Offer(peer, tag, data.handle, data.bytes, data.type); },
                    [=] { return rank_.CanReceive(peer, tag); }, peer,
                    fmt::format("recv of {} bytes of {}", data.bytes, data.type)});
  }

  void Start(const std::shared_ptr<RankWork>& work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    CheckUsable();
    if (work->started_) throw BadInput("a work schedule was started twice");
    work->started_ = true;
    if (work->pair_.open) Carry(work->pair_.open);
    pending_.push_back(work);
  }

  void Complete(const RankWork& work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!work.started_) throw BadInput("a work schedule that was not started is waited for");
    while (!work.done_) {
      CheckUsable();
      const auto next = Next();
      if (next == pending_.end()) {
        const RankWork::Pair& first = pending_.front()->pair_;
        Carry([&] { rank_.WaitFor(first.other, first.call); });
        continue;
      }
      const std::shared_ptr<RankWork> chosen = *next;
      pending_.erase(next);
      Carry(chosen->carry_out_);
      chosen->done_ = true;
    }
  }

 private:
  // The first one; or, as long as only two ranks are in it, one whose other rank is ready, for that
  // may wait for this one with what it does before. The end: none is.
  std::deque<std::shared_ptr<RankWork>>::iterator Next() {
    for (auto work = pending_.begin(); work != pending_.end(); ++work) {
      const auto& ready = (*work)->pair_.ready;
      if (!ready) return work == pending_.begin() ? work : pending_.end();
      if (ready()) return work;
    }
    return pending_.end();
  }

  struct Data {
    spyre::flex::DeviceHandle handle;
    uint64_t bytes = 0;
    std::string type;
  };

  static Data DataOf(const Tensor& tensor) {
    const flex::comms::Place place =
        flex::comms::PlaceOf(tensor.device_address(), "a tensor of a collective");
    // Allocations are whole sticks.
    return {place.handle, spyre::AlignUp(place.bytes, spyre::kStickBytes),
            Name(tensor.info().type())};
  }

  static void CheckSum(const Tensor& tensor, SpyreReductionOpType operation) {
    const TensorDataTypeEnum type = tensor.info().type();
    if (operation != SpyreReductionOpType::SUM)
      throw BadInput("a reduction that is no sum: only SpyreReductionOpType::SUM is there");
    if (type != TensorDataTypeEnum::float16 && type != TensorDataTypeEnum::sen_fp16)
      throw BadInput("a sum of {}: only float16 is added on the card", Name(type));
  }

  size_t Peer(process_id_t rank) const {
    if (rank < 0 || static_cast<size_t>(rank) >= rank_.ranks())
      throw BadInput("rank {}: there are {}, from 0 on", rank, rank_.ranks());
    if (static_cast<size_t>(rank) == rank_.rank())
      throw BadInput("rank {} sends to or receives from itself", rank);
    return static_cast<size_t>(rank);
  }

  CollectiveCall CallOf(Collective collective, process_id_t root) const {
    if (root < 0 || static_cast<size_t>(root) >= rank_.ranks())
      throw BadInput("root {}: there are {} ranks, from 0 on", root, rank_.ranks());
    CollectiveCall call;
    call.collective = collective;
    call.algorithm = algorithm_;
    call.root = static_cast<size_t>(root);
    call.peer = 0;
    return call;
  }

  Work InPlace(Collective collective, const Tensor& tensor, process_id_t root) {
    CollectiveCall call = CallOf(collective, root);
    const Data data = DataOf(tensor);
    call.bytes = data.bytes;
    call.type = data.type;
    return NewWork([this, call, data] { rank_.Run(call, {data.handle, {}}); });
  }

  Work Gathering(Collective collective, const std::vector<Tensor>& outputs, const Tensor& input,
                 process_id_t root) {
    CollectiveCall call = CallOf(collective, root);
    const Data data = DataOf(input);
    call.bytes = data.bytes;
    call.type = data.type;
    Rank::Areas areas{data.handle, {}};
    if (collective == Collective::kAllGather || call.root == rank_.rank()) {
      if (outputs.size() != rank_.ranks()) {
        throw BadInput("{}: {} outputs for {} ranks", spyre::runtime::Name(collective),
                       outputs.size(), rank_.ranks());
      }
      for (const Tensor& output : outputs) {
        const Data block = DataOf(output);
        if (block.bytes != data.bytes || block.type != data.type) {
          throw BadInput("{}: an output of {} bytes of {} for an input of {} bytes of {}",
                         spyre::runtime::Name(collective), block.bytes, block.type, data.bytes,
                         data.type);
        }
        areas.blocks.push_back(block.handle);
      }
    }
    return NewWork([this, call, areas] { rank_.Run(call, areas); });
  }

  Work NewWork(std::function<void()> carry_out, RankWork::Pair pair = {}) {
    return std::make_shared<RankWork>(shared_from_this(), std::move(carry_out), std::move(pair));
  }

  void CheckUsable() const {
    if (!failure_.empty())
      throw BadInput("an earlier collective of this rank has failed: {}", failure_);
  }

  // Behind what the stream has to do. After an error nobody knows what the others still wait for.
  void Carry(const std::function<void()>& part) {
    try {
      stream_->synchronize();
      flex::comms::Guarded(part);
    } catch (const std::exception& error) {
      failure_ = error.what();
      throw;
    }
  }

  std::mutex mutex_;
  flex::RuntimeStream* const stream_;
  Rank rank_;
  const spyre::runtime::CollectiveAlgorithm algorithm_;
  std::deque<std::shared_ptr<RankWork>> pending_;  // started, in order
  std::string failure_;
};

void RankWork::start() { world_->Start(shared_from_this()); }
void RankWork::wait() { world_->Complete(*this); }

std::mutex library;
std::shared_ptr<World>& TheWorld() {
  // Never destroyed: it is used while the process ends.
  static auto& world = *new std::shared_ptr<World>();
  return world;
}

}  // namespace

const std::string& Name(TensorDataTypeEnum type) {
  static const std::vector<std::string> names = {
      "dt_undef",   "bool",       "string",    "float8",    "float16",    "float32",   "float64",
      "float128",   "float256",   "decimal32", "decimal64", "decimal128", "bfloat16",  "int1",
      "int2",       "int4",       "int8",      "int16",     "int32",      "int64",     "uint1",
      "uint2",      "uint4",      "uint8",     "uint16",    "uint32",     "uint64",    "qint1",
      "qint2",      "qint4",      "qint8",     "qint16",    "qint32",     "qint64",    "quint1",
      "quint2",     "quint4",     "quint8",    "quint16",   "quint32",    "quint64",   "complex64",
      "complex128", "sen_fp8",    "sen_fp16",  "sen_int1",  "sen_int2",   "sen_int4",  "sen_int8",
      "sen_int16",  "sen_int24",  "sen_int32", "sen_uint1", "sen_uint2",  "sen_uint4", "sen_uint8",
      "sen_uint16", "sen_uint24", "sen_uint32"};
  return names.at(static_cast<size_t>(type));
}

void initialize_library(const std::shared_ptr<flex::RuntimeContext>& runtime,
                        flex::RuntimeStream* stream) {
  const std::lock_guard<std::mutex> lock(library);
  if (TheWorld() != nullptr) return;
  if (runtime == nullptr || stream == nullptr)
    throw BadInput("spyre_comms is initialised without a runtime or a stream");
  const size_t ranks = NumberOf("WORLD_SIZE", 1, kMostRanks);
  if (ranks == 0) throw BadInput("WORLD_SIZE = 0: there is one rank at least");
  const size_t rank = NumberOf("RANK", 0, ranks - 1);
  NumberOf("LOCAL_RANK", 0, ranks - 1);  // the card was opened by it
  if (ranks > 1 && flex::comms::Mail() == nullptr) {
    throw BadInput(
        "WORLD_SIZE = {}: the card of this process is alone; run the program by `spyre-cosim exec "
        "--cards {} -- torchrun ...`, which serves cards that reach each other",
        ranks, ranks)
        .Subject("WORLD_SIZE");
  }
  TheWorld() = std::make_shared<World>(stream, rank, ranks);
}

void finalize_library() {
  const std::lock_guard<std::mutex> lock(library);
  // Works that are still held keep it; at the end of the program its memory has gone already.
  if (flex::comms::IsOpen()) TheWorld().reset();
}

std::shared_ptr<Context> get_world_context() {
  const std::lock_guard<std::mutex> lock(library);
  return TheWorld();
}

}  // namespace spyre_comms
