// The control-block processor's RTL (control_processor.sv) as a C++ object: transactions in,
// clocks, transactions out. No SystemC: model/control turns clocks into time. What is put in counts
// for the next clock; what comes out is of the last. Functions are 0 PF, n VF n. Not for several
// threads at once.
#pragma once

#include <cstdint>
#include <memory>

#include "model/contract/control_block.h"

namespace spyre::model {

class Waves;

class ControlRtl {
 public:
  static constexpr unsigned kEngines = 4;  // DMA in, DMA out, cores, service core

  struct Settings {
    bool serial = true;
    uint32_t fetch_batch = 1;
    uint64_t decode_ps = 0, dispatch_ps = 0, respond_ps = 0;
  };
  // Clocks that choosing, sealing and posting a response takes; respond_ps must cover them.
  static constexpr uint64_t kRespondClocks = 18;

  explicit ControlRtl(const Settings& settings);
  ~ControlRtl();
  ControlRtl(const ControlRtl&) = delete;
  ControlRtl& operator=(const ControlRtl&) = delete;

  // One rising edge at now_ps.
  void Clock(uint64_t now_ps);
  // Nothing will change until something is put in or now_ps reaches wake_ps(); UINT64_MAX: never.
  bool idle() const;
  uint64_t wake_ps() const;

  // --- commands of the registers: one a clock ---
  struct Ring {
    uint64_t submission_base = 0;
    uint32_t submission_entries = 0;
    uint64_t response_base = 0;
    uint32_t response_entries = 0;
    bool enabled = false;
    bool operator==(const Ring& other) const;
  };
  void SetRing(unsigned function, const Ring& ring);
  void Doorbell(unsigned function, uint32_t tail, uint64_t arrival_ps);  // if doorbell_ready
  void CancelDoorbell(unsigned function);
  void ResponsesConsumed(unsigned function, uint32_t head);
  void ClearError(unsigned function);
  void Reset(unsigned function);
  bool doorbell_ready(unsigned function) const;

  // --- what registers show ---
  uint32_t submission_head(unsigned function) const;
  uint32_t response_tail(unsigned function) const;
  Status error(unsigned function) const;
  // Functions, one bit each, whose queue has just stopped, or whose response asks for an interrupt.
  uint32_t errors_raised() const;
  uint32_t responses_raised() const;

  // --- host memory ---
  struct Read {
    unsigned function;
    uint64_t address;
    uint32_t entries;
  };
  bool TakeRead(Read* read) const;       // false: none
  void PresentEntry(const void* entry);  // null: no more; stays until changed
  void FailRead();
  bool entry_next() const;    // the next entry, please
  bool entries_drop() const;  // nor that nor any other
  struct Write {
    unsigned function;
    uint64_t address;
    Response response;
  };
  bool TakeWrite(Write* write) const;
  void EndWrite(bool accepted);

  // --- management controller: translates the entry that is present ---
  bool message() const;
  void AnswerMessage(Status status, uint64_t fault, const ControlBlock& block);

  // --- engines ---
  struct Node {  // of a held operation
    unsigned function;
    unsigned slot;
  };
  struct Taken {
    Node node;
    unsigned engine;  // kEngines: none, the operation ends here
    ControlBlock block;
  };
  // An operation leaves those that wait: for an engine, where it starts later, once.
  bool TakeOperation(Taken* taken) const;
  bool started(unsigned engine) const;
  bool started_aborted(unsigned engine) const;                  // its function was reset meanwhile
  void EndOperation(unsigned engine, const Response& outcome);  // status, fault and counters of it

  // --- for observers: an operation was accepted, from the entry that was present ---
  bool accepted(Node* node) const;

  // Dumps both edges of every clock from now on; the falling one comes half of `period_ps` after
  // the rising one. Null: no more.
  void SetWaves(Waves* waves, uint64_t period_ps);

 private:
  struct Model;  // the Verilated classes
  std::unique_ptr<Model> model_;
};

}  // namespace spyre::model
