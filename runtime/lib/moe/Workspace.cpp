//===- Workspace.cpp - see Workspace.h ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Workspace.h"

#include <algorithm>
#include <limits>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace shunt::rt {

char *Workspace::reserve(Buffer &buffer, int64_t bytes) {
  const int64_t largePage = int64_t(2) << 20;
  if (bytes <= 0)
    return nullptr;
  if (bytes > buffer.size) {
    if (bytes > std::numeric_limits<int64_t>::max() - largePage)
      throw std::bad_alloc();
    // With some room, so that ragged batches do not grow it each time.
    int64_t size =
        std::max(bytes, std::min(2 * buffer.size, bytes + bytes / 4));
    int64_t unit = size >= largePage ? largePage : 64;
    size = (size + unit - 1) / unit * unit;
    buffer.data.reset();
    buffer.size = 0;
    buffer.data.reset(static_cast<char *>(std::aligned_alloc(unit, size)));
    if (!buffer.data)
      throw std::bad_alloc();
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (unit == largePage)
      (void)madvise(buffer.data.get(), size, MADV_HUGEPAGE);
#endif
    buffer.size = size;
  }
  buffer.peak = std::max(buffer.peak, bytes);
  return buffer.data.get();
}

} // namespace shunt::rt
