// SPDX-License-Identifier: Apache-2.0
#include "model/control/dispatcher.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace spyre::model {

ComputeDispatcher::ComputeDispatcher(const sc_core::sc_module_name& name, const CardConfig& config,
                                     const Mmu& mmu, Ring& ring, FunctionalQueue& functional,
                                     std::vector<Core*> cores, CorePlacement* placement)
    : sc_module(name),
      config_(config),
      mmu_(mmu),
      ring_(ring),
      functional_(functional),
      cores_(std::move(cores)),
      prepares_(cores_.front()->role() == CoreRole::kService),
      placement_(placement) {
  // Nothing larger than an image is read.
  const uint64_t bursts = (config.core.lx_reserved_bytes + kMaxBurstBytes - 1) / kMaxBurstBytes;
  for (uint64_t i = 0; i < bursts; ++i) {
    payloads_.push_back(std::make_unique<TransferPayload>());
    payloads_.back()->info.stop = static_cast<uint16_t>(config.cores);
  }
}

void ComputeDispatcher::Execute(const ControlBlock& block, Job& job, uint32_t cost) {
  cost_ = cost;
  job_ = &job;
  job.fabric = &fabric_;
  job.prepare = prepares_;
  job.function = block.function;
  job.flow = block.correlation;
  job.stream = block.stream;
  if (on_step_) {
    job.on_step = [this, &job](uint32_t step, uint64_t iteration) {
      if (on_step_) on_step_(job, step, iteration);  // who listens may leave before the job ends
    };
  }
  if (on_job_) on_job_(job, false);
  job.start_path = {};
  job.start_path.at_ps = NowPs();
  job.follows_paths = on_job_ != nullptr;
  Run(block, job);
  functional_.Join();  // those who hear of the end may look at the result
  if (placement_ != nullptr) placement_->Free(job);
  job_ = nullptr;
  if (on_job_) on_job_(job, true);
}

void ComputeDispatcher::DescribeWaits(std::vector<std::string>& lines) const {
  for (const Core* core : cores_)
    if (job_ != nullptr && (job_->cores >> core->index() & 1) != 0) core->DescribeWaits(lines);
}

void ComputeDispatcher::Run(const ControlBlock& block, Job& job) {
  for (const auto& payload : payloads_)
    payload->info.function = static_cast<uint16_t>(job.function);
  Status status = BindSegments(block, job);
  uint64_t offset = block.device_address;
  if (status == Status::OK) status = LoadProgram(block, offset, job);
  if (status != Status::OK) {
    if (!job.aborted) job.Fault(status, job.fault_address, kNoCore);
    return;
  }
  if (job.aborted) return;
  ClearLx(job);
  if (job.aborted) return;
  job.units_start_ps = NowPs();
  job.end_path = job.start_path;
  const bool fast = fast_ != nullptr && job.functional == nullptr && job.program->next == 0;
  if (fast && fast_->Repeat(job, image_)) return;
  if (fast) fast_->Begin(job);
  RunCores(job);
  if (fast) fast_->End(job);
  while (!job.aborted && job.program->next != 0) {
    offset += job.program->next;
    job.start_path = job.end_path;
    status = LoadProgram(block, offset, job);
    if (status != Status::OK && !job.aborted) job.Fault(status, job.fault_address, kNoCore);
    if (!job.aborted) RunCores(job);
  }
}

// LX outlives a launch, but not a change of function or of who uses it. The cores clear theirs at
// once, at port speed.
void ComputeDispatcher::ClearLx(Job& job) {
  bool clears = false;
  for (Core* core : cores_) {
    if (!core->Runs(job) || core->GiveLxTo(job.function, mmu_.tenant(job.function))) continue;
    functional_.Overwrite(core->lx(), [core] { core->ClearLx(); });
    clears = true;
  }
  if (!clears) return;
  const uint64_t width = config_.core.lx_port_bytes_per_cycle;
  const uint64_t cycles = (config_.lx_usable_bytes() + width - 1) / width;
  sc_core::wait(Ps(Clock(config_.clock.core_mhz).Edge(cycles)));
  job.start_path.Until(NowPs(), Cause::kLxPort);
}

// Decides which cores the program gets.
Status ComputeDispatcher::Place(uint32_t core_mask, Job& job) {
  if (placement_ == nullptr) {
    if ((core_mask & ~mmu_.cores(job.function)) != 0) return Status::PERMISSION;
    job.cores = core_mask;
    return Status::OK;
  }
  if (!placement_->Fits(job.function, core_mask)) return Status::PERMISSION;
  return placement_->Take(job, core_mask, cost_) ? Status::OK : job.status;
}

void ComputeDispatcher::RunCores(Job& job) {
  for (Core* core : cores_) {
    if (core->Runs(job)) core->Start(job);
  }
  bool torn_down = false;
  while (job.units_running > 0) {
    sc_core::wait(job.done | job.abort);
    if (!job.aborted || torn_down) continue;
    torn_down = true;
    if (!prepares_) ring_.AbandonMulticasts(job.cores);  // the service core is in none
    fabric_.ReleaseAll();
    for (Core* core : cores_)
      if (core->Runs(job)) core->WakeUnits();
  }
}

Status ComputeDispatcher::BindSegments(const ControlBlock& block, Job& job) {
  job.fault_address = block.program_base;
  if (!IsStickAligned(block.program_base | block.device_address | block.segment_table))
    return Status::MISALIGNED;
  const uint8_t permission = kPermissionRead | kPermissionWrite | kPermissionExecute;
  const Status allowed =
      mmu_.CheckPhysical(block.function, block.program_base, block.program_bytes, permission);
  if (allowed != Status::OK) return allowed;
  job.segments =
      mmu_.Segments(block.function, {block.program_base, block.program_bytes, permission});
  if (block.segment_table == 0) return Status::OK;

  // The PF may bring its own table for segments 0..6; a VF's message has no such field.
  job.fault_address = block.segment_table;
  std::array<SegmentEntry, kSegments> table;
  static_assert(sizeof(table) == kStickBytes);
  std::array<uint8_t, kStickBytes> bytes{};
  const Status read = Read(job, block.function, block.segment_table, bytes.data(), bytes.size(), 0);
  if (read != Status::OK) return read;
  std::memcpy(table.data(), bytes.data(), bytes.size());
  for (int i = 0; i < kProgramSegment; ++i) {
    const uint64_t length = table[i].length_permission & ~(kStickBytes - 1);
    if (!IsStickAligned(table[i].base) || length > kSegmentBytes) return Status::BAD_FIELD;
    job.segments[i] = {table[i].base, length, static_cast<uint8_t>(table[i].length_permission & 7)};
  }
  return Status::OK;
}

Status ComputeDispatcher::LoadProgram(const ControlBlock& block, uint64_t offset, Job& job) {
  job.fault_address = offset;
  if (offset > block.program_bytes || block.program_bytes - offset < kImageHeaderBytes) {
    return Status::PAGE_FAULT;
  }
  const uint64_t base = block.program_base + offset;
  image_.resize(kImageHeaderBytes);
  Status read = Read(job, block.function, base, image_.data(), kImageHeaderBytes, 0);
  if (read != Status::OK) return read;
  job.bytes_read += kImageHeaderBytes;
  try {
    const ImageInfo info = ReadImageHeader(image_.data(), image_.size());
    const uint64_t present = (1ull << config_.cores) - 1;
    if (info.image_bytes > config_.core.lx_reserved_bytes || (info.core_mask & ~present) != 0)
      return Status::BAD_PROGRAM;
    if (prepares_ && info.core_mask != 1) return Status::BAD_PROGRAM;
    if (job.program == nullptr) {
      const Status placed = Place(info.core_mask, job);
      if (placed != Status::OK) return placed;
    } else if (info.core_mask != job.program->core_mask) {
      return Status::BAD_PROGRAM;
    }
    if (info.image_bytes > block.program_bytes - offset) return Status::PAGE_FAULT;
    image_.resize(info.image_bytes);
    const uint64_t rest = image_.size() - kImageHeaderBytes;
    if (rest > 0) {
      read = Read(job, block.function, base + kImageHeaderBytes, &image_[kImageHeaderBytes], rest,
                  job.cores);
    }
    if (read != Status::OK) return read;
    job.bytes_read += rest;
    job.program = std::make_shared<const Program>(Decode(image_.data(), image_.size()));
    job.shared_tokens = TokensOfSeveralUnits(*job.program);
    const bool has_data = (block.flags & kFlagTimingOnly) == 0 && !job.program->timing_only;
    job.functional = has_data ? &functional_ : nullptr;
  } catch (const Error&) {
    return Status::BAD_PROGRAM;  // software has the image and can ask Decode what is wrong with it
  }
  job.fault_address = job.program->lx_bytes;
  return job.program->lx_bytes <= config_.lx_usable_bytes() ? Status::OK : Status::LX_OVERFLOW;
}

Status ComputeDispatcher::Read(Job& job, unsigned function, uint64_t physical, uint8_t* data,
                               uint64_t bytes, uint32_t mask) {
  const Translation allowed = mmu_.Ask(function, physical, bytes, kPermissionRead);
  if (allowed.status != Status::OK) return allowed.status;
  for (uint64_t offset = 0; offset < bytes; offset += kMaxBurstBytes) {
    const uint64_t burst = std::min<uint64_t>(kMaxBurstBytes, bytes - offset);
    TransferPayload& payload = *payloads_[offset / kMaxBurstBytes];
    payload.info.group = mask;
    payload.info.client = &client_;
    client_.Begin();
    ring_socket.Send(payload, tlm::TLM_READ_COMMAND, allowed.grant.Part(offset, burst),
                     data + offset, sc_core::SC_ZERO_TIME);
  }
  const bool ok = client_.Wait();
  // Bursts follow each other: the last is done last.
  const BurstTimes& times = payloads_[(bytes - 1) / kMaxBurstBytes]->info.times;
  SpendToMemory(job.start_path, times);
  SpendFromMemory(job.start_path, times, NowPs());
  if (ok) return Status::OK;
  return client_.refusal() == tlm::TLM_BURST_ERROR_RESPONSE ? Status::RING_FAULT
                                                            : Status::BUS_ERROR;
}

}  // namespace spyre::model
