// SPDX-License-Identifier: Apache-2.0
/* What the compiler calls even without a library. The attribute keeps it from making calls of these
 * loops again. */
#include <stddef.h>
#include <stdint.h>

#define NO_CALLS __attribute__((optimize("no-tree-loop-distribute-patterns")))

typedef uint32_t __attribute__((may_alias)) any_word;

void *memset(void *to, int value, size_t count);
void *memcpy(void *restrict to, const void *restrict from, size_t count);

NO_CALLS void *memset(void *to, int value, size_t count) {
  unsigned char *byte = to;
  for (; count != 0 && (uintptr_t)byte % sizeof(any_word) != 0; --count)
    *byte++ = (unsigned char)value;
  const any_word pattern = (unsigned char)value * 0x01010101u;
  for (; count >= sizeof(any_word); count -= sizeof(any_word), byte += sizeof(any_word))
    *(any_word *)byte = pattern;
  for (; count != 0; --count) *byte++ = (unsigned char)value;
  return to;
}

NO_CALLS void *memcpy(void *restrict to, const void *restrict from, size_t count) {
  unsigned char *byte = to;
  const unsigned char *source = from;
  while (count-- != 0) *byte++ = *source++;
  return to;
}
