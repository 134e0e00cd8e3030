// SPDX-License-Identifier: Apache-2.0
// AddressSanitizer and the coroutines of the SystemC library. When the kernel switches back to the
// stack that called sc_start, it tells the sanitizer no bounds for it; an exception thrown there
// afterwards leaves stale marks, which are later reported as errors. This tells the bounds again.
// Nothing in other builds. Called after sc_start, on the thread that called it.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace spyre::cosim {

inline void RestoreStackBounds() {
#if defined(__SANITIZE_ADDRESS__)
  struct Bounds {
    void* bottom = nullptr;
    size_t size = 0;
    Bounds() {
      pthread_attr_t attributes;
      if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
      pthread_attr_getstack(&attributes, &bottom, &size);
      pthread_attr_destroy(&attributes);
    }
  };
  thread_local const Bounds bounds;
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, bounds.bottom, bounds.size);
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

}  // namespace spyre::cosim
