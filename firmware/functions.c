// SPDX-License-Identifier: Apache-2.0
/* The functions that the firmware serves, and what it counts of them. */
#include <stddef.h>

#include "firmware/state.h"

struct fw_function *fw_virtual_function(struct fw *fw, uint32_t vf) {
  return vf == 0 || vf > fw->vfs ? NULL : &fw->functions[vf];
}

void fw_count(struct fw *fw, uint32_t function, enum spyre_counter counter, uint64_t amount) {
  fw->counters[counter] += amount;
  if (function <= fw->vfs) fw->functions[function].counters[counter] += amount;
}
