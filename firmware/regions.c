// SPDX-License-Identifier: Apache-2.0
/* Requests of the PF: memory regions, cores and quotas of virtual functions, time limits and
 * weights of all. The order of the checks: function and region, state, range, quota, overlap. */
#include <stddef.h>

#include "firmware/bus.h"
#include "firmware/state.h"

#define SEGMENT_BYTES (1ull << SPYRE_SEGMENT_BITS)

struct request {
  uint32_t command; /* AdminCommand */
  uint32_t vf;
  uint32_t index; /* of the region */
  uint64_t base;
  uint64_t length;
};

static bool length_fits(const struct fw *fw, uint64_t length) {
  return length != 0 && length % SPYRE_ENTRY_BYTES == 0 && length <= SEGMENT_BYTES &&
         length <= fw->memory_bytes;
}

static bool range_fits(const struct fw *fw, uint64_t base, uint64_t length) {
  return length_fits(fw, length) && base % SPYRE_ENTRY_BYTES == 0 &&
         base <= fw->memory_bytes - length;
}

/* With region `skip` of the function taken out. */
static bool within_quota(const struct fw_function *function, uint32_t skip, uint64_t length) {
  if (function->region_quota == 0) return true;
  for (uint32_t i = 0; i < SPYRE_FUNCTION_REGIONS; ++i) {
    if (i != skip) length += function->regions[i].length;
  }
  return length <= function->region_quota;
}

static bool overlaps(const struct fw *fw, const struct fw_region *skip, uint64_t base,
                     uint64_t length) {
  for (uint32_t vf = 1; vf <= fw->vfs; ++vf) {
    for (uint32_t i = 0; i < SPYRE_FUNCTION_REGIONS; ++i) {
      const struct fw_region *other = &fw->functions[vf].regions[i];
      if (other != skip && other->state >= FW_REGION_MAPPED && base < other->base + other->length &&
          other->base < base + length)
        return true;
    }
  }
  return false;
}

static enum spyre_admin_status assign(struct fw *fw, struct fw_function *function,
                                      const struct request *request) {
  struct fw_region *region = &function->regions[request->index];
  if (!range_fits(fw, request->base, request->length)) return SPYRE_ADMIN_STATUS_BAD_RANGE;
  if (!within_quota(function, request->index, request->length)) return SPYRE_ADMIN_STATUS_QUOTA;
  if (overlaps(fw, region, request->base, request->length)) return SPYRE_ADMIN_STATUS_OVERLAP;
  *region = (struct fw_region){request->base, request->length, FW_REGION_ACTIVE};
  fw_scrub(fw, region->base, region->length);
  fw_program_region(fw, request->vf, request->index);
  return SPYRE_ADMIN_STATUS_DONE;
}

static enum spyre_admin_status release(struct fw *fw, struct fw_function *function,
                                       const struct request *request) {
  function->regions[request->index] = (struct fw_region){0, 0, FW_REGION_FREE};
  fw_program_region(fw, request->vf, request->index);
  return SPYRE_ADMIN_STATUS_DONE;
}

static enum spyre_admin_status create(struct fw *fw, struct fw_function *function,
                                      const struct request *request) {
  struct fw_region *region = &function->regions[request->index];
  if (region->state != FW_REGION_FREE) return SPYRE_ADMIN_STATUS_BAD_STATE;
  if (!length_fits(fw, request->length)) return SPYRE_ADMIN_STATUS_BAD_RANGE;
  if (!within_quota(function, request->index, request->length)) return SPYRE_ADMIN_STATUS_QUOTA;
  *region = (struct fw_region){0, request->length, FW_REGION_CREATED};
  return SPYRE_ADMIN_STATUS_DONE;
}

static enum spyre_admin_status map(struct fw *fw, struct fw_function *function,
                                   const struct request *request) {
  struct fw_region *region = &function->regions[request->index];
  if (region->state != FW_REGION_CREATED) return SPYRE_ADMIN_STATUS_BAD_STATE;
  if (!range_fits(fw, request->base, region->length)) return SPYRE_ADMIN_STATUS_BAD_RANGE;
  if (overlaps(fw, region, request->base, region->length)) return SPYRE_ADMIN_STATUS_OVERLAP;
  region->base = request->base;
  region->state = FW_REGION_MAPPED;
  return SPYRE_ADMIN_STATUS_DONE;
}

static enum spyre_admin_status activate(struct fw *fw, struct fw_function *function,
                                        const struct request *request) {
  struct fw_region *region = &function->regions[request->index];
  if (region->state != FW_REGION_MAPPED) return SPYRE_ADMIN_STATUS_BAD_STATE;
  region->state = FW_REGION_ACTIVE;
  fw_scrub(fw, region->base, region->length);
  fw_program_region(fw, request->vf, request->index);
  return SPYRE_ADMIN_STATUS_DONE;
}

static enum spyre_admin_status resize(struct fw *fw, struct fw_function *function,
                                      const struct request *request) {
  struct fw_region *region = &function->regions[request->index];
  if (region->state == FW_REGION_FREE) return SPYRE_ADMIN_STATUS_BAD_STATE;
  if (!range_fits(fw, region->base, request->length)) return SPYRE_ADMIN_STATUS_BAD_RANGE;
  if (!within_quota(function, request->index, request->length)) return SPYRE_ADMIN_STATUS_QUOTA;
  if (region->state >= FW_REGION_MAPPED && overlaps(fw, region, region->base, request->length))
    return SPYRE_ADMIN_STATUS_OVERLAP;
  const uint64_t had = region->length;
  region->length = request->length;
  if (region->state == FW_REGION_ACTIVE) {
    if (region->length > had) fw_scrub(fw, region->base + had, region->length - had);
    fw_program_region(fw, request->vf, request->index);
  }
  return SPYRE_ADMIN_STATUS_DONE;
}

static enum spyre_admin_status set_cores(const struct fw *fw, const struct request *request) {
  if (request->length == 0 || (request->length & ~(uint64_t)fw_all_cores(fw)) != 0)
    return SPYRE_ADMIN_STATUS_BAD_RANGE;
  fw_program_cores(fw, request->vf, (uint32_t)request->length);
  return SPYRE_ADMIN_STATUS_DONE;
}

/* What the function has already stays, so a quota below that is refused. */
static enum spyre_admin_status set_region_quota(struct fw_function *function,
                                                const struct request *request) {
  const uint64_t previous = function->region_quota;
  function->region_quota = request->length;
  if (within_quota(function, SPYRE_FUNCTION_REGIONS, 0)) return SPYRE_ADMIN_STATUS_DONE;
  function->region_quota = previous;
  return SPYRE_ADMIN_STATUS_QUOTA;
}

static enum spyre_admin_status set_share(struct fw *fw, const struct request *request) {
  if (request->vf > fw->vfs) return SPYRE_ADMIN_STATUS_NO_SUCH_REGION;
  struct fw_function *function = &fw->functions[request->vf];
  if (request->command == SPYRE_ADMIN_COMMAND_SET_TIME_LIMIT) {
    if (request->length > UINT32_MAX) return SPYRE_ADMIN_STATUS_BAD_RANGE;
    function->time_limit_us = (uint32_t)request->length;
  } else {
    if (request->length == 0 || request->length > UINT8_MAX) return SPYRE_ADMIN_STATUS_BAD_RANGE;
    function->weight = (uint8_t)request->length;
  }
  fw_program_share(fw, request->vf);
  return SPYRE_ADMIN_STATUS_DONE;
}

static enum spyre_admin_status grant(struct fw *fw, const struct request *request) {
  if (request->command == SPYRE_ADMIN_COMMAND_SET_TIME_LIMIT ||
      request->command == SPYRE_ADMIN_COMMAND_SET_WEIGHT)
    return set_share(fw, request);
  struct fw_function *function = fw_virtual_function(fw, request->vf);
  if (function == NULL) return SPYRE_ADMIN_STATUS_NO_SUCH_REGION;
  switch (request->command) {
    case SPYRE_ADMIN_COMMAND_SET_CORES:
      return set_cores(fw, request);
    case SPYRE_ADMIN_COMMAND_SET_REGION_QUOTA:
      return set_region_quota(function, request);
    case SPYRE_ADMIN_COMMAND_SET_TRANSFER_QUOTA:
      function->transfer_quota = request->length;
      return SPYRE_ADMIN_STATUS_DONE;
    case SPYRE_ADMIN_COMMAND_ENABLE:
    case SPYRE_ADMIN_COMMAND_DISABLE:
      function->disabled = request->command == SPYRE_ADMIN_COMMAND_DISABLE;
      fw_program_share(fw, request->vf);
      return SPYRE_ADMIN_STATUS_DONE;
    default:
      break;
  }
  if (request->index >= SPYRE_FUNCTION_REGIONS) return SPYRE_ADMIN_STATUS_NO_SUCH_REGION;
  switch (request->command) {
    case SPYRE_ADMIN_COMMAND_ASSIGN:
      return assign(fw, function, request);
    case SPYRE_ADMIN_COMMAND_RELEASE:
      return release(fw, function, request);
    case SPYRE_ADMIN_COMMAND_CREATE:
      return create(fw, function, request);
    case SPYRE_ADMIN_COMMAND_MAP:
      return map(fw, function, request);
    case SPYRE_ADMIN_COMMAND_ACTIVATE:
      return activate(fw, function, request);
    case SPYRE_ADMIN_COMMAND_RESIZE:
      return resize(fw, function, request);
    default:
      return SPYRE_ADMIN_STATUS_NO_SUCH_REGION;
  }
}

void fw_serve_request(struct fw *fw) {
  const struct request request = {
      .command = fw_read(fw, SPYRE_REG_MC_REQUEST_COMMAND),
      .vf = fw_read(fw, SPYRE_REG_MC_REQUEST_VF),
      .index = fw_read(fw, SPYRE_REG_MC_REQUEST_REGION),
      .base = fw_read_pair(fw, SPYRE_REG_MC_REQUEST_BASE_LO),
      .length = fw_read_pair(fw, SPYRE_REG_MC_REQUEST_LENGTH_LO),
  };
  const enum spyre_admin_status status = grant(fw, &request);
  fw_count(fw, request.vf, SPYRE_COUNTER_ADMIN, 1);
  if (status != SPYRE_ADMIN_STATUS_DONE) {
    fw_ras_add(fw, FW_RAS(ADMIN_REFUSED, NON_FATAL, REFUSED), request.vf, false, status,
               request.command);
  }
  fw_write(fw, SPYRE_REG_MC_REQUEST_DONE, status);
}
