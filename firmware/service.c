// SPDX-License-Identifier: Apache-2.0
/* Boot, and the loop that serves requests. */
#include <stddef.h>

#include "firmware/bus.h"
#include "firmware/state.h"

static void log_boot(const struct fw *fw) {
  fw_log(fw, "boot: version ");
  fw_log_number(fw, FW_VERSION_MAJOR);
  fw_log(fw, ".");
  fw_log_number(fw, FW_VERSION_MINOR);
  fw_log(fw, ", ");
  fw_log_number(fw, fw->vfs);
  fw_log(fw, " VFs, ");
  fw_log_number(fw, fw->cores);
  fw_log(fw, " cores, ");
  fw_log_number(fw, (uint32_t)(fw->memory_bytes >> 20));
  fw_log(fw, " MiB\n");
}

void fw_boot(struct fw *fw, const struct fw_bus *bus) {
  unsigned char *bytes = (unsigned char *)fw;
  for (size_t i = 0; i < sizeof(*fw); ++i) bytes[i] = 0;
  fw->bus = *bus;
  fw_write(fw, SPYRE_REG_MC_WATCHDOG, FW_WATCHDOG_US);
  fw_write(fw, SPYRE_REG_MC_STATE, SPYRE_FIRMWARE_STATE_BOOT);
  fw_write(fw, SPYRE_REG_MC_VERSION, FW_VERSION);
  fw_write(fw, SPYRE_REG_MC_CAPABILITIES, FW_CAPABILITIES);
  fw->vfs = fw_read(fw, SPYRE_REG_MC_VFS);
  fw->cores = fw_read(fw, SPYRE_REG_MC_CORES);
  fw->memory_bytes = fw_read_pair(fw, SPYRE_REG_MC_MEMORY_LO);
  log_boot(fw);
  fw_write(fw, SPYRE_REG_MC_WATCHDOG, FW_WATCHDOG_US);
  if (fw_test_and_report(fw) == FW_TEST_PASSED) {
    fw_clear_protection(fw);
    fw_write(fw, SPYRE_REG_MC_STATE, SPYRE_FIRMWARE_STATE_READY);
  }
  fw_write(fw, SPYRE_REG_MC_WATCHDOG, 0);
}

/* A virtual function can always have another message: those come last, so that the PF is heard. */
static void serve_one(struct fw *fw, uint32_t pending) {
  if ((pending & SPYRE_REG_MC_PENDING_RESET_MASK) != 0) {
    fw_serve_reset(fw);
  } else if ((pending & SPYRE_REG_MC_PENDING_ADMIN_MASK) != 0) {
    fw_serve_request(fw);
  } else if ((pending & (SPYRE_REG_MC_PENDING_MAILBOX_MASK | SPYRE_REG_MC_PENDING_ERROR_MASK)) !=
             0) { /* one test, so that messages do not wait for another */
    if ((pending & SPYRE_REG_MC_PENDING_MAILBOX_MASK) != 0) {
      fw_serve_letter(fw);
    } else {
      fw_serve_error(fw);
    }
  } else {
    fw_serve_message(fw);
  }
}

void fw_service(struct fw *fw) {
  uint32_t pending;
  while ((pending = fw_read(fw, SPYRE_REG_MC_PENDING)) != 0) {
    fw_write(fw, SPYRE_REG_MC_WATCHDOG, FW_WATCHDOG_US);
    serve_one(fw, pending);
    fw_write(fw, SPYRE_REG_MC_HEARTBEAT, ++fw->heartbeat);
  }
  /* Firmware that sleeps does not feed the watchdog, so it is off meanwhile. */
  fw_write(fw, SPYRE_REG_MC_WATCHDOG, 0);
}
