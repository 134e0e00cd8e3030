// SPDX-License-Identifier: Apache-2.0
/* Error log: a ring in which the newest record pushes out the oldest. */
#include <stddef.h>

#include "firmware/bus.h"
#include "firmware/state.h"

static struct fw_record *slot(struct fw *fw, uint32_t index) {
  return &fw->records[(fw->oldest_record + index) % FW_RAS_RECORDS];
}

/* Null if no function's share is to be counted. */
static struct fw_function *owner(struct fw *fw, const struct fw_record *record) {
  return record->by_function ? &fw->functions[record->function] : NULL;
}

static void drop_oldest(struct fw *fw) {
  struct fw_function *function = owner(fw, slot(fw, 0));
  if (function != NULL) --function->records;
  fw->oldest_record = (fw->oldest_record + 1) % FW_RAS_RECORDS;
  --fw->held_records;
}

void fw_ras_add(struct fw *fw, uint32_t what, uint32_t function, bool by_function, uint32_t detail0,
                uint32_t detail1) {
  fw_ras_add_at(fw, fw_read_pair(fw, SPYRE_REG_MC_TIME_LO), what, function, by_function, detail0,
                detail1);
}

void fw_ras_add_at(struct fw *fw, uint64_t time_ps, uint32_t what, uint32_t function,
                   bool by_function, uint32_t detail0, uint32_t detail1) {
  const uint32_t share = FW_RAS_RECORDS / (fw->vfs + 1);
  const struct fw_record record = {
      time_ps,  fw->all_records,    what,
      function, {detail0, detail1}, by_function && function <= fw->vfs};
  const uint32_t severity = what >> 8 & 0xFF;
  ++fw->all_records;
  if (severity < FW_SEVERITIES) ++fw->severities[severity];
  struct fw_function *cause = owner(fw, &record);
  if (cause != NULL && cause->records >= share) return;
  if (fw->held_records == FW_RAS_RECORDS) drop_oldest(fw);
  if (cause != NULL) ++cause->records;
  *slot(fw, fw->held_records++) = record;
}

void fw_ras_clear(struct fw *fw) {
  while (fw->held_records != 0) drop_oldest(fw);
}

const struct fw_record *fw_ras_record(const struct fw *fw, uint32_t index) {
  if (index >= fw->held_records) return NULL;
  return &fw->records[(fw->oldest_record + index) % FW_RAS_RECORDS];
}
