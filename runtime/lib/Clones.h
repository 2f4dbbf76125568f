//===- Clones.h - Functions for several processors ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_CLONES_H
#define SHUNT_RUNTIME_CLONES_H

// Compiles a function for several processors and picks one when the program
// loads; not under sanitizers, whose run-time is not up by then.
#if defined(__x86_64__) && defined(__linux__) && defined(__clang__)
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
#define SHUNT_CLONES                                                           \
  __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#endif
#endif
#ifndef SHUNT_CLONES
#define SHUNT_CLONES
#endif

#endif // SHUNT_RUNTIME_CLONES_H
