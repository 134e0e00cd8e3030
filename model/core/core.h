// SPDX-License-Identifier: Apache-2.0
// One AI core: LX scratchpad with its shared port, tokens, and five decoupled units (load, store,
// PT, vector, ring), each running its own section of the program. Bound to the ring by one
// initiator socket (memory and peers) and one target socket (its LX, written by peers). Kernel
// thread only.
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <systemc>
#include <vector>

#include "model/common/card_config.h"
#include "model/common/resource.h"
#include "model/common/sparse_memory.h"
#include "model/core/job.h"
#include "model/core/lx_port.h"
#include "model/core/multicast_port.h"
#include "model/fault/fault_injector.h"
#include "model/mmu/device_port.h"
#include "model/rtl/pt_array.h"

namespace spyre::model {

class Core;
class CoreUnit;

// Barriers between cores: the last of a mask to arrive releases all.
class SyncFabric {
 public:
  // Blocks the calling process until every core of `mask` is at (mask, id), or the job is aborted.
  // track: of the caller in the trace; returns the track of the last to arrive. path: that of the
  // caller, and then that of the last to arrive.
  trace::TrackId Arrive(unsigned core, trace::TrackId track, uint32_t mask, uint64_t id,
                        const Job& job, PathTime& path);
  void ReleaseAll();  // the job is being torn down: whoever waits sees that it is aborted

 private:
  struct Barrier {
    uint32_t arrived = 0;
    bool open = false;
    trace::TrackId last = 0;
    PathTime last_path;
    sc_core::sc_event event;
  };
  std::map<std::pair<uint32_t, uint64_t>, std::shared_ptr<Barrier>> waiting_;
};

// What a core is there for. A service core runs one-core programs beside the others, as core 0 of
// them, from the ring stop of core 0. It is not a member of any group: it has no peers, takes no
// part in multicasts, and its LX is its own.
enum class CoreRole { kCompute, kService };

class Core : public sc_core::sc_module {
 public:
  DevicePort ring_socket{"ring_socket"};
  MulticastPort multicast_port{"multicast_port"};
  tlm_utils::simple_target_socket<Core, kSocketBits, TransferProtocol> lx_socket{"lx_socket"};

  Core(const sc_core::sc_module_name& name, unsigned index, const CardConfig& config,
       const Mmu& mmu, trace::Recorder* recorder, CoreRole role = CoreRole::kCompute);
  ~Core() override;

  // Other cores, by index; set once by the card before simulation.
  void SetPeers(const std::vector<Core*>& peers) { peers_ = peers; }
  // Called before simulation; the port outlives the core. Null if no faults are declared.
  void SetFaults(const FaultPort* faults) { faults_ = faults; }
  // From the next edge of its clock on the core runs at so many percent of its speed, 1 to 100:
  // each cycle takes 100 / percent of its time, and what it waits for takes as long as ever.
  void SetSpeed(uint64_t percent);
  // Starts the core's sections of the job; tokens start at zero. The job outlives its run.
  void Start(Job& job);
  bool Runs(const Job& job) const;
  // The position of this core among those of the job's program.
  unsigned PositionIn(const Job& job) const { return index_ - job.first_core; }
  // LX is this user's from now on. False: it holds what another one left, which must not be read.
  bool GiveLxTo(unsigned function, uint64_t tenant);
  void ClearLx();
  LxRange lx() { return {lx_.At(0), lx_.size()}; }  // all its bytes
  void
  WakeUnits();  // the job is being torn down: units that wait for a token see that it is aborted

  // --- for the units ---
  unsigned index() const { return index_; }
  CoreRole role() const { return role_; }
  std::string unit_prefix() const;  // "core03", "service_core": of its units' names
  std::string title() const;        // "core 03", "service core": for people
  const FaultPort* faults() const { return faults_; }
  // A declared fault: the next MATMUL on the RTL's array meets a bit of its state that changes,
  // which the number chooses.
  void FlipPtBit(uint64_t seed) { pt_flip_ = seed; }
  std::optional<uint64_t> TakePtFlip() { return std::exchange(pt_flip_, std::nullopt); }
  const CardConfig& config() const { return config_; }
  const Mmu& mmu() const { return mmu_; }
  LxPort& lx_port() { return lx_port_; }
  // The RTL that does its SEN169_FP16 MATMULs; null: the kernels of this host do.
  RtlPtArray* rtl_pt_array() { return rtl_pt_array_.get(); }
  trace::TrackId load_track() const;  // of its load unit
  Core* peer(uint64_t index) { return index < peers_.size() ? peers_[index] : nullptr; }
  // The bytes [address, address + bytes) of LX; throws UnitFault(LX_OVERFLOW) outside the usable
  // part.
  uint8_t* Lx(uint64_t address, uint64_t bytes);
  const Clock& clock() const { return clock_; }

  // Takes one of those that have been given by now.
  bool TryTakeToken(unsigned token);
  // Notified when the next one may have been given; for who has tried in vain and waits at once.
  const sc_core::sc_event& ExpectToken(unsigned token);
  // giver: its track in the trace. path: to what the token tells of; null: nobody asks for paths.
  void GiveTokenAt(uint64_t time_ps, unsigned token, trace::TrackId giver, const PathTime* path);
  // Of the latest that has been given when it was last asked for one.
  trace::TrackId token_giver(unsigned token) const { return tokens_[token].giver; }
  const PathTime& token_path(unsigned token) const { return token_paths_[token].latest; }
  // Never notified but by WakeUnits, for a unit that hangs.
  const sc_core::sc_event& EventOf(unsigned token) {
    auto& event = tokens_[token].event;
    return event ? *event : event.emplace();
  }

  // --- for reports ---
  std::vector<UnitStatistics> Statistics() const;
  void DescribeWaits(std::vector<std::string>& lines) const;

 private:
  void WriteLx(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);

  const unsigned index_;
  const CoreRole role_;
  const CardConfig& config_;
  Clock clock_;
  const Mmu& mmu_;
  SparseMemory lx_;
  struct LxOwner {
    unsigned function;
    uint64_t tenant;  // of Mmu
  };
  std::optional<LxOwner> lx_owner_;
  LxPort lx_port_;
  std::unique_ptr<RtlPtArray> rtl_pt_array_;
  std::vector<Core*> peers_;
  const FaultPort* faults_ = nullptr;
  std::optional<uint64_t> pt_flip_;
  // The tokens of one number. Nobody is woken for one that nobody waits for: whoever asks counts
  // those whose time has come.
  struct Tokens {
    struct Given {
      uint64_t at_ps;
      trace::TrackId giver;
    };
    uint32_t count = 0;
    bool expected = false;
    trace::TrackId giver = 0;    // of the latest that counts
    std::vector<Given> to_come;  // by time
    // Made when a unit first waits: most never are, and those that are there before the simulation
    // starts have names, which take time.
    std::optional<sc_core::sc_event> event;
  };
  std::array<Tokens, kTokens> tokens_;
  // Of the same tokens, apart because they are large and mostly nobody asks for them.
  struct TokenPaths {
    PathTime latest;
    std::vector<PathTime> to_come;  // as many as tokens, or none
  };
  std::array<TokenPaths, kTokens> token_paths_;
  std::vector<std::unique_ptr<CoreUnit>> units_;
};

}  // namespace spyre::model
