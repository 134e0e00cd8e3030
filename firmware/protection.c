// SPDX-License-Identifier: Apache-2.0
/* What the firmware writes into the MMU and the dispatcher. */
#include "firmware/bus.h"
#include "firmware/state.h"

void fw_program_region(const struct fw *fw, uint32_t vf, uint32_t region) {
  const struct fw_region *place = &fw->functions[vf].regions[region];
  const bool active = place->state == FW_REGION_ACTIVE;
  fw_write(fw, SPYRE_REG_MC_REGION_FUNCTION, vf);
  fw_write(fw, SPYRE_REG_MC_REGION_INDEX, region);
  fw_write_pair(fw, SPYRE_REG_MC_REGION_BASE_LO, active ? place->base : 0);
  fw_write_pair(fw, SPYRE_REG_MC_REGION_LENGTH_LO, active ? place->length : 0);
  fw_write(fw, SPYRE_REG_MC_REGION_SET, 1);
}

void fw_scrub(const struct fw *fw, uint64_t base, uint64_t length) {
  if (length == 0) return;
  fw_write_pair(fw, SPYRE_REG_MC_SCRUB_BASE_LO, base);
  fw_write_pair(fw, SPYRE_REG_MC_SCRUB_LENGTH_LO, length);
  fw_write(fw, SPYRE_REG_MC_SCRUB, 1);
}

void fw_program_cores(const struct fw *fw, uint32_t vf, uint32_t mask) {
  fw_write(fw, SPYRE_REG_MC_REGION_FUNCTION, vf);
  fw_write(fw, SPYRE_REG_MC_CORE_MASK, mask);
  fw_write(fw, SPYRE_REG_MC_CORE_MASK_SET, 1);
}

void fw_program_share(const struct fw *fw, uint32_t function) {
  const struct fw_function *of = &fw->functions[function];
  fw_write(fw, SPYRE_REG_MC_REGION_FUNCTION, function);
  fw_write(fw, SPYRE_REG_MC_TIME_LIMIT, of->time_limit_us);
  fw_write(fw, SPYRE_REG_MC_WEIGHT, of->weight);
  fw_write(fw, SPYRE_REG_MC_STOPPED, of->disabled);
  fw_write(fw, SPYRE_REG_MC_SHARE_SET, 1);
}

/* What the control processor has had since power-on need not be said again. */
static void clear_share(struct fw *fw, uint32_t function) {
  struct fw_function *of = &fw->functions[function];
  const bool changed = of->time_limit_us != 0 || of->weight != 0 || of->disabled;
  of->time_limit_us = 0;
  of->weight = 0;
  of->disabled = false;
  if (changed) fw_program_share(fw, function);
}

uint32_t fw_all_cores(const struct fw *fw) { return ~0u >> (FW_MAX_CORES - fw->cores); }

void fw_clear_protection(struct fw *fw) {
  clear_share(fw, 0);
  for (uint32_t vf = 1; vf <= fw->vfs; ++vf) {
    struct fw_function *function = &fw->functions[vf];
    fw_write(fw, SPYRE_REG_MC_WATCHDOG, FW_WATCHDOG_US);
    for (uint32_t i = 0; i < SPYRE_FUNCTION_REGIONS; ++i) {
      function->regions[i] = (struct fw_region){0, 0, FW_REGION_FREE};
      fw_program_region(fw, vf, i);
    }
    function->region_quota = 0;
    function->transfer_quota = 0;
    clear_share(fw, vf);
    fw_program_cores(fw, vf, fw_all_cores(fw));
  }
}
