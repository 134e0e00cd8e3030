// SPDX-License-Identifier: Apache-2.0
#include "model/memory/lpddr5_timing.h"

#include <algorithm>

namespace spyre::model {

Lpddr5Timing::Lpddr5Timing(const MemoryConfig& m)
    : clock(m.clock_ps),
      ccd_l(RoundUp(m.t_ccd_l_ps)),
      burst_bytes(BurstBytes(m)),
      has_check_bursts(m.ecc == Ecc::kInline),
      ecc_word_bytes(std::max<uint64_t>(1, m.ecc_word_bytes)),
      merges_writes(has_check_bursts && m.ecc_partial_write == EccPartialWrite::kReadFirst),
      merged_bytes(std::max<uint64_t>(1, m.ecc_granule_bytes)),
      ccd_l_slots(std::max<uint64_t>(1, ccd_l)) {
  ccd_s = m.burst_length * 1000000 / m.transfer_mts;
  rcd = RoundUp(m.t_rcd_ps);
  rp = RoundUp(m.t_rp_pb_ps);
  rp_all = RoundUp(m.t_rp_ab_ps);
  ras = RoundUp(m.t_ras_ps);
  rc = RoundUp(m.t_rc_ps);
  rrd = RoundUp(m.t_rrd_ps);
  faw = RoundUp(m.t_faw_ps);
  // In bank-group mode a burst comes in two halves, with room for another group's between them, so
  // its data spans tCCD_L (BL/n_max).
  read_done = RoundUp(m.read_latency_ps) + ccd_l;
  write_done = RoundUp(m.write_latency_ps) + ccd_l;
  read_to_write = RoundUp(m.read_latency_ps + m.t_rtw_gap_ps - m.write_latency_ps) + ccd_l;
  write_to_read_s = write_done + RoundUp(m.t_wtr_s_ps);
  write_to_read_l = write_done + RoundUp(m.t_wtr_l_ps);
  read_to_precharge = RoundUp(m.t_rtp_ps);
  write_to_precharge = write_done + RoundUp(m.t_wr_ps);
  refresh_interval = m.t_refi_ps;
  refresh_all = RoundUp(m.t_rfc_ab_ps);
  refresh_bank = RoundUp(m.t_rfc_pb_ps);
  refresh_to_activate = RoundUp(m.t_pbr2act_ps);
}

}  // namespace spyre::model
