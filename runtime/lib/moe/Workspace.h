//===- Workspace.h - Memory that a dispatcher keeps -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_MOE_WORKSPACE_H
#define SHUNT_RUNTIME_MOE_WORKSPACE_H

#include <cstdint>
#include <cstdlib>
#include <memory>

namespace shunt::rt {

/// Two buffers of rows: what is sent, and what is received. They grow and stay,
/// on large pages: the first touch of fresh memory costs more than a copy.
class Workspace {
public:
  /// At least `bytes` bytes, whose contents are lost when the buffer grows.
  /// Null for 0 bytes; throws std::bad_alloc.
  char *send(int64_t bytes) { return reserve(sendBuffer, bytes); }
  char *receive(int64_t bytes) { return reserve(receiveBuffer, bytes); }

  /// Bytes asked for at most, in both buffers.
  int64_t peakBytes() const { return sendBuffer.peak + receiveBuffer.peak; }

private:
  struct Free {
    void operator()(char *data) const { std::free(data); }
  };
  struct Buffer {
    std::unique_ptr<char, Free> data;
    int64_t size = 0, peak = 0;
  };
  static char *reserve(Buffer &buffer, int64_t bytes);

  Buffer sendBuffer, receiveBuffer;
};

} // namespace shunt::rt

#endif // SHUNT_RUNTIME_MOE_WORKSPACE_H
