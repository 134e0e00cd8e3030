// SPDX-License-Identifier: Apache-2.0
/* The controller's own program: boot, then serve and sleep. */
#include "firmware/state.h"

#define MIE_EXTERNAL (1u << 11)

static struct fw fw;

int main(void) {
  const struct fw_bus unused = {0};
  fw_boot(&fw, &unused);
  __asm__ volatile("csrw mie, %0" : : "r"(MIE_EXTERNAL));
  for (;;) {
    fw_service(&fw);
    /* A request that came after the last look ends it at once. */
    __asm__ volatile("wfi");
  }
}
