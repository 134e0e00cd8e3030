// SPDX-License-Identifier: Apache-2.0
/* Function-level reset. */
#include "firmware/bus.h"
#include "firmware/state.h"

/* The card has drained the function before it asks. Every message is answered before the next is
 * read, so nothing of the function is half done here. What virtual functions have is the PF's to
 * give and to take, and goes with it. */
void fw_serve_reset(struct fw *fw) {
  const uint32_t function = fw_read(fw, SPYRE_REG_MC_RESET_FUNCTION);
  fw_count(fw, function, SPYRE_COUNTER_RESETS, 1);
  fw_ras_add(fw, FW_RAS(FUNCTION_RESET, INFO, RESET_FUNCTION), function, true, 0, 0);
  if (function == 0) fw_clear_protection(fw);
  fw_write(fw, SPYRE_REG_MC_RESET_DONE, 1);
}
