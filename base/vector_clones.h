// SPDX-License-Identifier: Apache-2.0
// A function with SPYRE_VECTOR_CLONES is compiled once per instruction set; the loader picks one.
// The forms give the same bits: only integer operations and single IEEE operations are vectorised.
// Off under sanitizers, whose run time does not exist yet when the loader picks.
#pragma once

#if defined(__x86_64__) && !defined(SPYRE_SCALAR) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SPYRE_VECTOR_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define SPYRE_VECTOR_CLONES
#endif
