#include <algorithm>

#include "model/core/units.h"

namespace spyre::model {

LoadStoreUnit::LoadStoreUnit(const sc_core::sc_module_name& name, Unit kind, Core& core,
                             trace::Recorder* recorder)
    : CoreUnit(name, kind, core, recorder),
      is_store_(kind == Unit::kStore),
      window_(is_store_ ? core.config().core.outstanding_stores
                        : core.config().core.outstanding_loads),
      in_flight_(window_, 0) {
  payload_.info.stop = static_cast<uint16_t>(core.index());
}

uint64_t LoadStoreUnit::Execute(const Instruction& in) {
  if (in.op != (is_store_ ? Op::kStore : Op::kLoad))
    throw UnitFault{Status::ILLEGAL_INSTRUCTION, 0};
  const uint64_t lx = reg(in, 0);
  const uint64_t device = reg(in, 1);
  uint64_t row_bytes = Count(in, 2);
  uint64_t rows = Count(in, 3);
  const uint64_t device_row_stride = Count(in, 4, kSegmentBytes);
  const uint64_t lx_row_stride = Count(in, 5, kLxBytes);
  uint64_t planes = Count(in, 6);
  const uint64_t device_plane_stride = Count(in, 7, kSegmentBytes);
  const uint64_t lx_plane_stride = Count(in, 8, kLxBytes);
  const uint32_t group = is_store_ ? 0 : static_cast<uint32_t>(reg(in, 9));
  if (!IsStickAligned(device | device_row_stride | device_plane_stride | row_bytes)) {
    throw UnitFault{Status::MISALIGNED, device};
  }
  const uint64_t start = local_ps();
  if (row_bytes == 0 || rows == 0 || planes == 0) return start;
  const uint64_t total = row_bytes * rows * planes;
  if (total / planes / rows != row_bytes) throw UnitFault{Status::LX_OVERFLOW, lx};
  // Rows and planes that follow each other on both sides are one run.
  if (device_row_stride == row_bytes && lx_row_stride == row_bytes) {
    row_bytes *= rows;
    rows = 1;
  }
  if (rows == 1 && device_plane_stride == row_bytes && lx_plane_stride == row_bytes) {
    row_bytes *= planes;
    planes = 1;
  }
  const uint32_t self = 1u << core_.index();
  if (group != 0 && (group & self) == 0) throw UnitFault{Status::ILLEGAL_INSTRUCTION, device};
  const uint32_t members = group == self ? 0 : group;
  uint64_t done = start;
  for (uint64_t plane = 0; plane < planes; ++plane) {
    for (uint64_t row = 0; row < rows; ++row) {
      done =
          std::max(done, TransferRun(device + plane * device_plane_stride + row * device_row_stride,
                                     lx + plane * lx_plane_stride + row * lx_row_stride, row_bytes,
                                     members));
    }
  }
  // A multicast counts once, for its lowest member.
  if (is_store_) {
    job().bytes_written += total;
  } else if (members == 0 || (members & (self - 1)) == 0) {
    job().bytes_read += total;
  }
  // Instructions of a unit finish in order, whatever way their bursts took.
  last_done_ps_ = std::max(last_done_ps_, done);
  Account(in, start, last_done_ps_, total);
  return last_done_ps_;
}

uint64_t LoadStoreUnit::TransferRun(uint64_t device_address, uint64_t lx_address, uint64_t bytes,
                                    uint32_t group) {
  const Translation translation =
      core_.mmu().Translate(job().function, job().segments, device_address, bytes,
                            is_store_ ? kPermissionWrite : kPermissionRead);
  if (translation.status != Status::OK) throw UnitFault{translation.status, device_address};
  uint8_t* const data = core_.Lx(lx_address, bytes);
  AdvanceTo(local_ps() + Cycles(config_.mmu.translate_cycles));
  payload_.info.function = job().function;
  payload_.info.flow = job().flow;
  payload_.info.move_data = job().move_data;
  payload_.info.group = group;
  payload_.info.aborted = &job().aborted;

  uint64_t done = 0;
  for (uint64_t offset = 0; offset < bytes; offset += kMaxBurstBytes) {
    const uint64_t burst = std::min(kMaxBurstBytes, bytes - offset);
    AdvanceTo(in_flight_[next_slot_]);  // a free place in the window
    Sync();
    const uint64_t now = NowPs();
    const uint64_t port_ps = core_.LxPortPs(burst);
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    if (is_store_) delay = Ps(core_.lx_port().Reserve(now, port_ps, burst) + port_ps - now);
    auto& payload = payload_.Prepare(is_store_ ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND,
                                     translation.physical + offset, data + offset, burst);
    core_.ring_socket->b_transport(payload, delay);
    CheckAborted();
    switch (payload.get_response_status()) {
      case tlm::TLM_OK_RESPONSE:
        break;
      case tlm::TLM_ADDRESS_ERROR_RESPONSE:
        throw UnitFault{Status::PAGE_FAULT, device_address + offset};
      case tlm::TLM_COMMAND_ERROR_RESPONSE:
        throw UnitFault{Status::ILLEGAL_INSTRUCTION, device_address + offset};
      default:
        throw UnitFault{Status::BUS_ERROR, device_address + offset};
    }
    done = NowPs() + delay.value();
    if (!is_store_) done = core_.lx_port().Reserve(done, port_ps, burst) + port_ps;
    in_flight_[next_slot_] = done;
    next_slot_ = (next_slot_ + 1) % window_;
    AdvanceTo(local_ps() + Cycles(1));
  }
  return done;
}

void LoadStoreUnit::Drain() {
  AdvanceTo(last_done_ps_);
  last_done_ps_ = 0;
}

}  // namespace spyre::model
