// SPDX-License-Identifier: Apache-2.0
#include "model/core/core.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "model/core/unit.h"
#include "model/core/units.h"
#include "model/rtl/rtl_blocks.h"

namespace spyre::model {

trace::TrackId SyncFabric::Arrive(unsigned core, trace::TrackId track, uint32_t mask, uint64_t id,
                                  const Job& job, PathTime& path) {
  auto& slot = waiting_[{mask, id}];
  if (slot == nullptr) slot = std::make_shared<Barrier>();
  const std::shared_ptr<Barrier> barrier = slot;
  barrier->arrived |= 1u << core;
  barrier->last = track;
  barrier->last_path = path;
  if ((barrier->arrived & mask) == mask) {
    waiting_.erase({mask, id});
    barrier->open = true;
    barrier->event.notify();
    return track;
  }
  while (!barrier->open && !job.aborted) sc_core::wait(barrier->event);
  path = barrier->last_path;
  return barrier->last;
}

void SyncFabric::ReleaseAll() {
  for (auto& [key, barrier] : waiting_) barrier->event.notify();
  waiting_.clear();
}

Core::Core(const sc_core::sc_module_name& name, unsigned index, const CardConfig& config,
           const Mmu& mmu, trace::Recorder* recorder, CoreRole role)
    : sc_module(name),
      index_(index),
      role_(role),
      config_(config),
      clock_(config.clock.core_mhz),
      mmu_(mmu),
      lx_(config.lx_usable_bytes()),
      lx_port_(unit_prefix() + ".lx_port", clock_, config.core.lx_port_bytes_per_cycle,
               config.timed()) {
  if (role == CoreRole::kCompute && config.pt.fidelity == BlockFidelity::kRtl &&
      (config.pt.rtl_cores >> index & 1) != 0)
    rtl_pt_array_ = MakeRtlPtArray();
  lx_socket.register_b_transport(this, &Core::WriteLx);
  units_.push_back(std::make_unique<LoadStoreUnit>("load", Unit::kLoad, *this, recorder));
  units_.push_back(std::make_unique<LoadStoreUnit>("store", Unit::kStore, *this, recorder));
  units_.push_back(std::make_unique<PtUnit>("pt", *this, recorder));
  units_.push_back(std::make_unique<VectorUnit>("vector", *this, recorder));
  units_.push_back(std::make_unique<RingUnit>("ring", *this, recorder));
}

Core::~Core() = default;

std::string Core::unit_prefix() const {
  return role_ == CoreRole::kService ? "service_core" : fmt::format("core{:02}", index_);
}

std::string Core::title() const {
  return role_ == CoreRole::kService ? "service core" : fmt::format("core {:02}", index_);
}

trace::TrackId Core::load_track() const { return units_[0]->track(); }

bool Core::Runs(const Job& job) const { return (job.cores >> index_ & 1) != 0; }

bool Core::GiveLxTo(unsigned function, uint64_t tenant) {
  const bool clean = !lx_owner_ || (lx_owner_->function == function && lx_owner_->tenant == tenant);
  lx_owner_ = {function, tenant};
  return clean;
}

void Core::Start(Job& job) {
  for (Tokens& tokens : tokens_) {
    tokens.count = 0;
    tokens.expected = false;
    tokens.to_come.clear();
  }
  for (TokenPaths& paths : token_paths_) paths.to_come.clear();
  for (const auto& unit : units_) unit->Start(job);
}

void Core::SetSpeed(uint64_t percent) {
  const uint64_t now_ps = NowPs();
  lx_port_.SetPace(now_ps, percent);
  for (const auto& unit : units_) unit->SetPace(now_ps, percent);
  clock_.SetPace(now_ps, percent);
}

void Core::ClearLx() { lx_.Clear(); }

void Core::WakeUnits() {
  for (Tokens& tokens : tokens_) {
    if (tokens.event) tokens.event->notify();
  }
}

uint8_t* Core::Lx(uint64_t address, uint64_t bytes) {
  if (!lx_.Contains(address, bytes)) throw UnitFault{Status::LX_OVERFLOW, address};
  return lx_.At(address);
}

bool Core::TryTakeToken(unsigned token) {
  Tokens& tokens = tokens_[token];
  const uint64_t now = NowPs();
  uint32_t here = 0;
  while (here < tokens.to_come.size() && tokens.to_come[here].at_ps <= now) ++here;
  if (here > 0) {
    tokens.giver = tokens.to_come[here - 1].giver;
    TokenPaths& paths = token_paths_[token];
    if (!paths.to_come.empty()) {
      paths.latest = paths.to_come[here - 1];
      paths.to_come.erase(paths.to_come.begin(), paths.to_come.begin() + here);
    }
    tokens.count += here;
    tokens.to_come.erase(tokens.to_come.begin(), tokens.to_come.begin() + here);
  }
  if (tokens.count == 0) return false;
  tokens.expected = false;  // another unit that waits for it wakes up as well, and asks again
  --tokens.count;
  return true;
}

const sc_core::sc_event& Core::ExpectToken(unsigned token) {
  Tokens& tokens = tokens_[token];
  tokens.expected = true;
  if (!tokens.event) tokens.event.emplace();
  if (!tokens.to_come.empty()) tokens.event->notify(Ps(tokens.to_come.front().at_ps - NowPs()));
  return *tokens.event;
}

void Core::GiveTokenAt(uint64_t time_ps, unsigned token, trace::TrackId giver,
                       const PathTime* path) {
  Tokens& tokens = tokens_[token];
  auto place = tokens.to_come.end();
  while (place != tokens.to_come.begin() && std::prev(place)->at_ps > time_ps) --place;
  if (path != nullptr) {
    std::vector<PathTime>& paths = token_paths_[token].to_come;
    paths.insert(paths.begin() + (place - tokens.to_come.begin()), *path);
  }
  tokens.to_come.insert(place, {time_ps, giver});
  if (!tokens.expected) return;
  const uint64_t now = NowPs();
  tokens.event->notify(
      Ps(time_ps > now ? time_ps - now : 0));  // an earlier pending notification stays
}

// A peer's partial sums arrive: the ring has priced the way, the port is priced here.
void Core::WriteLx(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const uint64_t address = payload.get_address();
  const uint64_t bytes = payload.get_data_length();
  if (!payload.is_write() || !lx_.Contains(address, bytes)) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  const uint64_t now = NowPs();
  delay = Ps(lx_port_.Burst(now + delay.value(), bytes) - now);
  uint8_t* const to = lx_.At(address);
  uint8_t* const from = payload.get_data_ptr();
  payload.get_extension<Transfer>()->Move({{to, bytes}, {from, bytes}}, [to, from, bytes] {
    std::memmove(to, from, bytes);  // a core may send to itself, and overlap
  });
  payload.set_response_status(tlm::TLM_OK_RESPONSE);
}

std::vector<UnitStatistics> Core::Statistics() const {
  std::vector<UnitStatistics> all;
  for (const auto& unit : units_) all.push_back(unit->statistics());
  all.push_back(lx_port_.statistics());
  return all;
}

void Core::DescribeWaits(std::vector<std::string>& lines) const {
  for (const auto& unit : units_) {
    std::string wait = unit->DescribeWait();
    if (!wait.empty()) lines.push_back(fmt::format("{} {}", title(), wait));
  }
}

}  // namespace spyre::model
