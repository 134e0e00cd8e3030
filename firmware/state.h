// SPDX-License-Identifier: Apache-2.0
/* Everything that the firmware remembers, and what its files share. */
#ifndef SPYRE_FIRMWARE_STATE_H_
#define SPYRE_FIRMWARE_STATE_H_

#include <contract/spyre_registers.h>
#include <stdbool.h>
#include <stdint.h>

#include "firmware/firmware.h"
#include "firmware/version.h"

#define FW_VERSION (FW_VERSION_MAJOR << 16 | FW_VERSION_MINOR)
#define FW_CAPABILITIES                                                                 \
  (SPYRE_REG_MGMT_CAPABILITIES_REGIONS_MASK | SPYRE_REG_MGMT_CAPABILITIES_QUOTAS_MASK | \
   SPYRE_REG_MGMT_CAPABILITIES_RAS_MASK | SPYRE_REG_MGMT_CAPABILITIES_TELEMETRY_MASK |  \
   SPYRE_REG_MGMT_CAPABILITIES_RAS_TIMES_MASK)

#define FW_COUNTERS (SPYRE_COUNTER_RESETS + 1)
#define FW_RAS_RECORDS 64u
#define FW_SEVERITIES (SPYRE_RAS_SEVERITY_FATAL + 1)
#define FW_SCRATCH_WORDS 64u /* walked by the self-test */
#define FW_MAX_CORES 32u     /* a core mask is one register */

/* The longest request takes some 5,000 cycles, the longest step of boot some 60,000: in time from
 * 3 MHz on. A hang shows long before a driver's patience ends. */
#define FW_WATCHDOG_US 20000u

/* FREE -CREATE-> CREATED -MAP-> MAPPED -ACTIVATE-> ACTIVE; RELEASE leads back from each. Only an
 * ACTIVE region is in the MMU and reachable by messages. */
enum fw_region_state { FW_REGION_FREE, FW_REGION_CREATED, FW_REGION_MAPPED, FW_REGION_ACTIVE };

struct fw_region {
  uint64_t base;   /* physical; from MAPPED on */
  uint64_t length; /* bytes; 0 while FREE */
  enum fw_region_state state;
};

/* Of function 0, the PF, only the counters are used. */
struct fw_function {
  struct fw_region regions[SPYRE_FUNCTION_REGIONS];
  uint64_t counters[FW_COUNTERS];
  uint64_t region_quota;   /* bytes, 0: no limit */
  uint64_t transfer_quota; /* bytes, 0: no limit */
  uint32_t records;        /* of the error log that are held and that the function caused */
  bool disabled;
  uint8_t weight;         /* in the engines, 0 counts as 1 */
  uint32_t time_limit_us; /* of an operation, 0: the card's own */
};

struct fw_record {
  uint64_t time_ps; /* of the card, when the cause was there */
  uint32_t number;  /* among all since boot */
  uint32_t what;    /* RasCode << 16 | RasSeverity << 8 | RasAction */
  uint32_t function;
  uint32_t detail[2];
  bool by_function; /* counted in fw_function.records */
};

struct fw {
  struct fw_bus bus;
  uint32_t heartbeat;
  uint32_t vfs; /* that are served: 0 after a self-test that failed */
  uint32_t cores;
  uint64_t memory_bytes;
  struct fw_function functions[SPYRE_MAX_FUNCTIONS];
  uint64_t counters[FW_COUNTERS]; /* of all functions, also requests about none that exists */
  struct fw_record records[FW_RAS_RECORDS];
  uint32_t oldest_record;
  uint32_t held_records;
  uint32_t all_records;               /* since boot, also those that were not kept */
  uint32_t severities[FW_SEVERITIES]; /* all_records by RasSeverity */
  volatile uint32_t scratch[FW_SCRATCH_WORDS];
};
_Static_assert(sizeof(struct fw) <= FW_STATE_BYTES, "FW_STATE_BYTES is too small");
_Static_assert(_Alignof(struct fw) <= FW_STATE_ALIGN, "FW_STATE_ALIGN is too small");

/* The virtual function, or null if the card has no such one. */
struct fw_function *fw_virtual_function(struct fw *fw, uint32_t vf);

/* Adds to a counter of the card, and to that of the function if there is one. */
void fw_count(struct fw *fw, uint32_t function, enum spyre_counter counter, uint64_t amount);

/* 0, or the step of the self-test that failed, with *found the value that gave it away. */
enum fw_self_test_step { FW_TEST_PASSED, FW_TEST_SRAM, FW_TEST_CRC, FW_TEST_CARD };
enum fw_self_test_step fw_self_test(struct fw *fw, uint32_t *found);
/* Runs the self-test; a failure is logged and recorded, and no function is served any more. */
enum fw_self_test_step fw_test_and_report(struct fw *fw);

/* Error log. by_function: the function itself is the cause, not the PF; each has only its share of
 * the log, so that none can push out the records of others. */
void fw_ras_add(struct fw *fw, uint32_t what, uint32_t function, bool by_function, uint32_t detail0,
                uint32_t detail1);
/* The same of something that was found before now. */
void fw_ras_add_at(struct fw *fw, uint64_t time_ps, uint32_t what, uint32_t function,
                   bool by_function, uint32_t detail0, uint32_t detail1);
void fw_ras_clear(struct fw *fw);
/* Record `index` from the oldest, or null. */
const struct fw_record *fw_ras_record(const struct fw *fw, uint32_t index);
#define FW_RAS(code, severity, action)                                                    \
  ((uint32_t)SPYRE_RAS_CODE_##code << 16 | (uint32_t)SPYRE_RAS_SEVERITY_##severity << 8 | \
   (uint32_t)SPYRE_RAS_ACTION_##action)

/* Log of the card's console. */
void fw_log(const struct fw *fw, const char *text);
void fw_log_number(const struct fw *fw, uint32_t number);

/* Puts the region into the MMU, or takes it away if it is not ACTIVE. */
void fw_program_region(const struct fw *fw, uint32_t vf, uint32_t region);
/* Begins to clear memory; regions and the answer to the PF wait for its end. */
void fw_scrub(const struct fw *fw, uint64_t base, uint64_t length);
/* No virtual function has regions or quotas, all have every core, and all functions have the time
 * limit and the weight of power-on. */
void fw_clear_protection(struct fw *fw);
void fw_program_cores(const struct fw *fw, uint32_t vf, uint32_t mask);
/* Time limit and weight of a function, and whether it is disabled, for the control processor. */
void fw_program_share(const struct fw *fw, uint32_t function);
/* The bits of all cores that the card has. */
uint32_t fw_all_cores(const struct fw *fw);

/* Each answers the one request that waits. */
void fw_serve_reset(struct fw *fw);
void fw_serve_request(struct fw *fw);
void fw_serve_letter(struct fw *fw);
void fw_serve_message(struct fw *fw);
void fw_serve_error(struct fw *fw);

#endif /* SPYRE_FIRMWARE_STATE_H_ */
