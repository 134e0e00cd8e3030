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

void fw_program_cores(const struct fw *fw, uint32_t vf, uint32_t mask) {
  fw_write(fw, SPYRE_REG_MC_REGION_FUNCTION, vf);
  fw_write(fw, SPYRE_REG_MC_CORE_MASK, mask);
  fw_write(fw, SPYRE_REG_MC_CORE_MASK_SET, 1);
}

uint32_t fw_all_cores(const struct fw *fw) { return ~0u >> (FW_MAX_CORES - fw->cores); }
