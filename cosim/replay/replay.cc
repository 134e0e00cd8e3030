// SPDX-License-Identifier: Apache-2.0
#include "cosim/replay/replay.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/ranges.h"
#include "cosim/replay/queue_watch.h"
#include "cosim/replay/read_rules.h"
#include "cosim/replay/replay_response.h"
#include "driver/pci.h"

namespace spyre::cosim {
namespace {

using driver::FunctionId;
using driver::WaitResult;

constexpr uint64_t kFirstStepPs = 100'000;     // between two looks at what does not come
constexpr int kQuietVector = kMsiVectors - 1;  // no cause has it

struct Diverged {
  Divergence divergence;
};

struct Arrived {
  CardResponse response;
  std::string output;
};

class Replayer {
 public:
  Replayer(const Recording& recording, ObservableTransport& transport, const ReplayOptions& options)
      : records_(recording.records), transport_(transport), options_(options) {
    transport_.ObserveHostWrites([this](FunctionId function, driver::IoAddress address,
                                        uint64_t bytes) { CardWrote(function, address, bytes); });
  }
  ~Replayer() { transport_.ObserveHostWrites({}); }
  Replayer(const Replayer&) = delete;
  Replayer& operator=(const Replayer&) = delete;

  ReplayResult Run() {
    try {
      for (index_ = 0; index_ < records_.size(); ++index_) {
        Step(records_[index_]);
        ++result_.records;
        result_.recorded_ps = records_[index_].time_ps;
      }
    } catch (Diverged& diverged) {
      result_.recorded_ps = diverged.divergence.recorded_ps;
      result_.divergence = std::move(diverged.divergence);
    }
    result_.replayed_ps = transport_.NowPs();
    return std::move(result_);
  }

 private:
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };

  [[noreturn]] void Diverge(const std::string& access, const std::string& recorded,
                            const std::string& replayed, std::vector<FieldDifference> fields = {}) {
    throw Diverged{{index_, access, recorded, replayed, records_[index_].time_ps,
                    transport_.NowPs(), std::move(fields), ""}};
  }
  [[noreturn]] void DivergeMissing(const std::string& access, const std::string& recorded,
                                   const std::string& replayed) {
    throw Diverged{{index_,
                    access,
                    recorded,
                    replayed,
                    records_[index_].time_ps,
                    transport_.NowPs(),
                    {},
                    transport_.Diagnose()}};
  }

  void Step(const Record& record) {
    switch (record.kind) {
      case RecordKind::kConfigRead: {
        ++result_.accesses;
        const uint32_t value =
            transport_.ConfigRead(record.function, static_cast<uint32_t>(record.address));
        if (value != record.value) {
          Diverge(fmt::format("configuration read of 0x{:03x}, function {}", record.address,
                              record.function),
                  fmt::format("0x{:08x}", record.value), fmt::format("0x{:08x}", value));
        }
        return;
      }
      case RecordKind::kConfigWrite:
        ++result_.accesses;
        return transport_.ConfigWrite(record.function, static_cast<uint32_t>(record.address),
                                      static_cast<uint32_t>(record.value));
      case RecordKind::kRead:
        ++result_.accesses;
        return Read(record);
      case RecordKind::kWrite:
        return Write(record);
      case RecordKind::kMap:
        return Map(record);
      case RecordKind::kUnmap:
        transport_.UnmapHost(record.function, record.address);
        mappings_.Remove(record.function, record.address);
        memory_.erase({record.function, record.address});
        return;
      case RecordKind::kWait:
        return Wait(record);
      case RecordKind::kAdvance:
        return Advance(record);
      case RecordKind::kHostData:
        std::memcpy(mappings_.Find(record.function, record.address, record.data.size()),
                    record.data.data(), record.data.size());
        return;
      case RecordKind::kResponse:
        return TakeResponse(record);
      case RecordKind::kOutput:
        return CompareOutput(record);
      case RecordKind::kEnd:
        return CheckLeft();
    }
  }

  void Write(const Record& record) {
    ++result_.accesses;
    const auto value = static_cast<uint32_t>(record.value);
    if (record.unit == 0) watch_.HostWrote(record.function, record.address, value);
    // The host never saw what it has not taken by now, and sequence numbers start again.
    if (record.unit == 0 && record.address == regs::CONTROL &&
        (value & regs::CONTROL_RESET_MASK) != 0)
      arrived_[record.function].clear();
    transport_.Write32(record.function, record.unit, record.address, value);
  }

  void Map(const Record& record) {
    std::unique_ptr<uint8_t[], Free> memory(
        static_cast<uint8_t*>(std::calloc(static_cast<size_t>(record.value), 1)));
    if (memory == nullptr) throw std::bad_alloc();
    transport_.MapHostAt(record.function, record.address, memory.get(), record.value);
    mappings_.Add(record.function, record.address, memory.get(), record.value);
    memory_[{record.function, record.address}] = std::move(memory);
  }

  void Read(const Record& record) {
    if (index_ < polled_until_) return;
    const ReadRule rule = RuleOf(record.unit, record.address);
    const auto recorded = static_cast<uint32_t>(record.value);
    const size_t last = MayChange(rule) ? LastOfPolls() : index_;
    const auto final = static_cast<uint32_t>(records_[last].value);
    uint32_t value = 0;
    const auto allowed = [&] {
      value = transport_.Read32(record.function, record.unit, record.address);
      if (Allows(rule, final, value) && !Allows(rule, final, recorded)) {
        polled_until_ = last + 1;  // what the host polled for is there sooner
        return true;
      }
      return Allows(rule, recorded, value);
    };
    if (MayChange(rule) ? WaitFor(allowed) : allowed()) return;
    const std::string access = fmt::format(
        "read of {}, function {}", RegisterName(record.unit, record.address), record.function);
    const std::string before = RegisterValue(record.unit, record.address, recorded);
    const std::string now = RegisterValue(record.unit, record.address, value);
    if (MayChange(rule)) DivergeMissing(access, before, now);
    Diverge(access, before, now);
  }

  // Of reads of one register with nothing but host work between them, the last; a host that polls
  // makes many.
  size_t LastOfPolls() {
    if (index_ >= polls_scanned_) {
      const Record& first = records_[index_];
      size_t i = last_poll_ = index_;
      for (; i < records_.size(); ++i) {
        const Record& record = records_[i];
        const bool same = record.kind == RecordKind::kRead && record.function == first.function &&
                          record.unit == first.unit && record.address == first.address;
        if (same) last_poll_ = i;
        if (!same && record.kind != RecordKind::kAdvance && record.kind != RecordKind::kResponse &&
            record.kind != RecordKind::kOutput) {
          break;
        }
      }
      polls_scanned_ = i;
    }
    return last_poll_;
  }

  // Host work that ended with a response is polling of the ring: no more is needed once that is
  // there.
  void Advance(const Record& record) {
    if (index_ < polled_until_) return;
    if (index_ >= advances_scanned_) {
      advances_scanned_ = index_;
      while (advances_scanned_ < records_.size() &&
             records_[advances_scanned_].kind == RecordKind::kAdvance) {
        ++advances_scanned_;
      }
    }
    if (advances_scanned_ < records_.size()) {
      const Record& next = records_[advances_scanned_];
      if (next.kind == RecordKind::kResponse && IsHere(next)) return;
    }
    transport_.Advance(record.value);
  }

  void Wait(const Record& record) {
    const auto recorded = static_cast<WaitResult>(record.value);
    const std::string access =
        fmt::format("wait for interrupt {} of function {}", record.unit, record.function);
    if (recorded != WaitResult::kInterrupt) {
      const uint64_t limit = recorded == WaitResult::kStalled
                                 ? std::min(record.address, options_.patience_ps)
                                 : record.address;
      const WaitResult result =
          transport_.WaitInterrupt(record.function, record.unit, transport_.NowPs() + limit);
      if (result != WaitResult::kInterrupt) return;
      if (recorded == WaitResult::kStalled)
        Diverge(access, "none; the card had nothing left to do", "an interrupt");
      early_interrupts_.insert({record.function, record.unit});  // a later wait is for it
      return;
    }
    ++result_.interrupts;
    if (early_interrupts_.erase({record.function, record.unit}) != 0) return;
    // Interrupts merge when the host is late: one whose responses are here may have been taken with
    // an earlier one.
    const bool may_have_come = record.unit == driver::kVectorResponse && AllHere();
    const uint64_t before_ps = index_ == 0 ? 0 : records_[index_ - 1].time_ps;
    const uint64_t limit = may_have_come ? record.time_ps - before_ps : options_.patience_ps;
    const WaitResult result =
        transport_.WaitInterrupt(record.function, record.unit, transport_.NowPs() + limit);
    if (result == WaitResult::kInterrupt || may_have_come) return;
    DivergeMissing(access, "an interrupt",
                   record.unit == driver::kVectorResponse && AllHere()
                       ? "none, although the response has come"
                       : "none");
  }

  // Whether every response of the present call is here.
  bool AllHere() {
    for (size_t i = index_ + 1; i < records_.size(); ++i) {
      const Record& record = records_[i];
      if (record.kind == RecordKind::kOutput) continue;
      if (record.kind != RecordKind::kResponse) break;
      if (!IsHere(record)) return false;
    }
    return true;
  }

  static Response ResponseOf(const Record& record) {
    Response response;
    std::memcpy(&response, record.data.data(), sizeof response);
    return response;
  }

  std::deque<Arrived>::iterator Find(const Record& record) {
    std::deque<Arrived>& arrived = arrived_[record.function];
    return FindIf(arrived, [sequence = ResponseOf(record).sequence](const Arrived& a) {
      return a.response.response.sequence == sequence;
    });
  }
  bool IsHere(const Record& record) { return Find(record) != arrived_[record.function].end(); }

  void TakeResponse(const Record& record) {
    ++result_.responses;
    std::deque<Arrived>& arrived = arrived_[record.function];
    const Response recorded = ResponseOf(record);
    const std::string access = fmt::format("response of function {}", record.function);
    if (!WaitFor([&] { return IsHere(record); })) {
      std::string replayed = "none";
      if (!arrived.empty()) replayed = ResponseText(arrived.front().response.response);
      DivergeMissing(access, ResponseText(recorded), replayed);
    }
    const auto found = Find(record);
    // What the card refuses is answered at once, so at another place among the others.
    const auto overtaken = std::find_if(arrived.begin(), found, [](const Arrived& a) {
      return a.response.response.status == static_cast<uint16_t>(Status::OK);
    });
    const Response replayed = found->response.response;
    if (options_.in_order && overtaken != found &&
        recorded.status == static_cast<uint16_t>(Status::OK)) {
      Diverge(access + ", order", ResponseText(recorded),
              ResponseText(overtaken->response.response));
    }
    std::vector<FieldDifference> fields =
        CompareResponses(recorded, replayed, found->response.slot == record.address);
    if (!fields.empty())
      Diverge(access, ResponseText(recorded), ResponseText(replayed), std::move(fields));
    taken_ = std::move(*found);
    arrived.erase(found);
  }

  void CompareOutput(const Record& record) {
    // The replayed card may have the next transfer to these bytes on its way already.
    if (taken_.response.output.bytes != record.value ||
        taken_.response.output.address != record.address)
      return;
    const FieldDifference difference = CompareOutputs(record.data, taken_.output, record.value);
    if (!difference.name.empty()) {
      Diverge(fmt::format("output of function {}, {}, at IO address {:#x}: {}", record.function,
                          ResponseText(taken_.response.response), record.address, difference.name),
              difference.recorded, difference.replayed);
    }
    result_.output_bytes += record.value;
  }

  // The host may have ended before all its operations; but each has one response only.
  void CheckLeft() {
    for (const auto& [function, arrived] : arrived_) {
      for (const Arrived& left : arrived) {
        if (left.response.outstanding) continue;
        Diverge(fmt::format("response of function {}", function), "none",
                ResponseText(left.response.response) + ", of no operation that is outstanding");
      }
    }
  }

  void CardWrote(FunctionId function, driver::IoAddress address, uint64_t bytes) {
    for (CardResponse& response : watch_.CardWrote(function, address, bytes)) {
      const IoRange& output = response.output;
      std::string data;
      if (output.bytes > 0) {
        data = OutputData(mappings_.Find(function, output.address, output.bytes), output.bytes);
      }
      arrived_[function].push_back({response, std::move(data)});
    }
  }

  // Lets the card go on until `done`. False: nothing is left to happen, or patience is over.
  template <typename Done>
  bool WaitFor(Done done) {
    const uint64_t start = transport_.NowPs();
    while (!done()) {
      const uint64_t now = transport_.NowPs();
      if (now - start >= options_.patience_ps) return false;
      const uint64_t step = std::max(kFirstStepPs, (now - start) / 16);
      if (transport_.WaitInterrupt(0, kQuietVector, now + step) == WaitResult::kStalled)
        return done();
    }
    return true;
  }

  const std::vector<Record>& records_;
  ObservableTransport& transport_;
  const ReplayOptions options_;
  ReplayResult result_;
  size_t index_ = 0;  // of the present record

  HostMappings mappings_;
  std::map<std::pair<FunctionId, driver::IoAddress>, std::unique_ptr<uint8_t[], Free>> memory_;
  QueueWatch watch_{mappings_};
  std::map<FunctionId, std::deque<Arrived>> arrived_;  // not yet taken, in order of arrival
  Arrived taken_;                                      // the last that was
  std::set<std::pair<FunctionId, int>> early_interrupts_;

  size_t polled_until_ = 0;                   // polls before this record are not needed
  size_t last_poll_ = 0, polls_scanned_ = 0;  // LastOfPolls, and how far it has looked
  size_t advances_scanned_ = 0;               // first record after the present host work
};

}  // namespace

ReplayResult Replay(const Recording& recording, ObservableTransport& transport,
                    const ReplayOptions& options) {
  return Replayer(recording, transport, options).Run();
}

}  // namespace spyre::cosim
