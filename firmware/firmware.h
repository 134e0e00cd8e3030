// SPDX-License-Identifier: Apache-2.0
/* The firmware of the management controller, as whoever runs it sees it: its own start-up code on
 * the target, the behavioural controller of the model and the tests on a host. One source, two
 * builds. C11, no heap, no library.
 *
 * It sees the card through the registers of scope "controller" (contract/spyre_registers.h:
 * SPYRE_REG_MC_*), 32 bits at a time. All state is in struct fw, so several can live in one
 * process. Threads: one at a time for each struct fw. Nothing here fails: a self-test that does not
 * pass shows in MC_STATE, a request that cannot be granted in its answer. */
#ifndef SPYRE_FIRMWARE_FIRMWARE_H_
#define SPYRE_FIRMWARE_FIRMWARE_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The card's registers. On the target they are plain loads and stores and this is not used. */
struct fw_bus {
  void *context;
  uint32_t (*read)(void *context, uint32_t address);
  void (*write)(void *context, uint32_t address, uint32_t value);
};

struct fw; /* firmware/state.h; these two bound it for callers that only store it */
#define FW_STATE_BYTES 16384
#define FW_STATE_ALIGN 8

/* Clears *fw, keeps a copy of *bus, runs the self-test, takes every region from every virtual
 * function and gives it all cores, sets MC_STATE to READY or FAILED. The watchdog runs meanwhile
 * and is off at the end. */
void fw_boot(struct fw *fw, const struct fw_bus *bus);

/* Serves every request that MC_PENDING shows until none is left: resets first, then the PF, then
 * errors of the hardware, then messages. The watchdog runs meanwhile and is off at the end. After a
 * failed self-test no function exists any more: all is answered, nothing granted. */
void fw_service(struct fw *fw);

#ifdef __cplusplus
}
#endif
#endif /* SPYRE_FIRMWARE_FIRMWARE_H_ */
