// SPDX-License-Identifier: Apache-2.0
/* Errors of the hardware, which the card's blocks report. */
#include "firmware/bus.h"
#include "firmware/state.h"

/* Whose work it hit has only its share of the log: a function that reads a damaged word again and
 * again pushes out nobody else's records. What hit no function's work is the PF's. */
void fw_serve_error(struct fw *fw) {
  const uint32_t what = fw_read(fw, SPYRE_REG_MC_ERROR_WHAT);
  const uint32_t function = fw_read(fw, SPYRE_REG_MC_ERROR_FUNCTION);
  const uint32_t detail0 = fw_read(fw, SPYRE_REG_MC_ERROR_DETAIL0);
  const uint32_t detail1 = fw_read(fw, SPYRE_REG_MC_ERROR_DETAIL1);
  const uint64_t time_ps = fw_read_pair(fw, SPYRE_REG_MC_ERROR_TIME_LO);
  fw_ras_add_at(fw, time_ps, what, function, function != 0, detail0, detail1);
  fw_write(fw, SPYRE_REG_MC_ERROR_DONE, 1);
}
