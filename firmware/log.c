// SPDX-License-Identifier: Apache-2.0
#include "firmware/bus.h"
#include "firmware/state.h"

void fw_log(const struct fw *fw, const char *text) {
  for (; *text != '\0'; ++text) fw_write(fw, SPYRE_REG_MC_LOG, (uint8_t)*text);
}

void fw_log_number(const struct fw *fw, uint32_t number) {
  char digits[11]; /* of a 32-bit number and the end */
  char *first = digits + sizeof(digits) - 1;
  *first = '\0';
  do {
    *--first = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  fw_log(fw, first);
}
