// SPDX-License-Identifier: Apache-2.0
/* Questions of the PF about the firmware itself. */
#include <stddef.h>

#include "firmware/bus.h"
#include "firmware/state.h"

#define RESULTS 4

static enum spyre_mailbox_status get_counter(const uint64_t *counters, uint32_t counter,
                                             uint32_t *results) {
  if (counter >= FW_COUNTERS) return SPYRE_MAILBOX_STATUS_BAD_ARGUMENT;
  results[0] = (uint32_t)counters[counter];
  results[1] = (uint32_t)(counters[counter] >> 32);
  return SPYRE_MAILBOX_STATUS_DONE;
}

static enum spyre_mailbox_status get_record(const struct fw *fw, uint32_t index,
                                            uint32_t *results) {
  const struct fw_record *record = fw_ras_record(fw, index);
  if (record == NULL) return SPYRE_MAILBOX_STATUS_BAD_ARGUMENT;
  results[0] = record->what;
  results[1] = record->function;
  results[2] = record->detail[0];
  results[3] = record->detail[1];
  return SPYRE_MAILBOX_STATUS_DONE;
}

static enum spyre_mailbox_status get_record_time(const struct fw *fw, uint32_t index,
                                                 uint32_t *results) {
  const struct fw_record *record = fw_ras_record(fw, index);
  if (record == NULL) return SPYRE_MAILBOX_STATUS_BAD_ARGUMENT;
  results[0] = (uint32_t)record->time_ps;
  results[1] = (uint32_t)(record->time_ps >> 32);
  results[2] = record->number;
  return SPYRE_MAILBOX_STATUS_DONE;
}

static enum spyre_mailbox_status answer(struct fw *fw, uint32_t command, uint32_t arg0,
                                        uint32_t arg1, uint32_t *results) {
  switch (command) {
    case SPYRE_MAILBOX_COMMAND_PING:
      results[0] = ~arg0;
      return SPYRE_MAILBOX_STATUS_DONE;
    case SPYRE_MAILBOX_COMMAND_GET_VERSION:
      results[0] = FW_VERSION;
      results[1] = FW_CAPABILITIES;
      results[2] = FW_BUILD;
      return SPYRE_MAILBOX_STATUS_DONE;
    case SPYRE_MAILBOX_COMMAND_GET_COUNTER:
      return get_counter(fw->counters, arg0, results);
    case SPYRE_MAILBOX_COMMAND_GET_FUNCTION_COUNTER:
      if (arg1 > fw->vfs) return SPYRE_MAILBOX_STATUS_BAD_ARGUMENT;
      return get_counter(fw->functions[arg1].counters, arg0, results);
    case SPYRE_MAILBOX_COMMAND_GET_RAS_COUNT:
      results[0] = fw->held_records;
      results[1] = fw->all_records;
      return SPYRE_MAILBOX_STATUS_DONE;
    case SPYRE_MAILBOX_COMMAND_GET_RAS:
      return get_record(fw, arg0, results);
    case SPYRE_MAILBOX_COMMAND_CLEAR_RAS:
      fw_ras_clear(fw);
      return SPYRE_MAILBOX_STATUS_DONE;
    case SPYRE_MAILBOX_COMMAND_SELF_TEST:
      results[0] = fw_test_and_report(fw);
      return SPYRE_MAILBOX_STATUS_DONE;
    case SPYRE_MAILBOX_COMMAND_GET_RAS_TIME:
      return get_record_time(fw, arg0, results);
    case SPYRE_MAILBOX_COMMAND_GET_RAS_SEVERITIES:
      for (uint32_t i = 0; i < FW_SEVERITIES; ++i) results[i] = fw->severities[i];
      return SPYRE_MAILBOX_STATUS_DONE;
    default:
      return SPYRE_MAILBOX_STATUS_BAD_COMMAND;
  }
}

void fw_serve_letter(struct fw *fw) {
  uint32_t results[RESULTS] = {0};
  const uint32_t command = fw_read(fw, SPYRE_REG_MC_LETTER_COMMAND);
  const uint32_t arg0 = fw_read(fw, SPYRE_REG_MC_LETTER_ARG0);
  const uint32_t arg1 = fw_read(fw, SPYRE_REG_MC_LETTER_ARG1);
  const enum spyre_mailbox_status status = answer(fw, command, arg0, arg1, results);
  for (uint32_t i = 0; i < RESULTS; ++i)
    fw_write(fw, SPYRE_REG_MC_LETTER_RESULT0 + 4 * i, results[i]);
  fw_write(fw, SPYRE_REG_MC_LETTER_DONE, status);
}
