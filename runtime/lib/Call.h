//===- Call.h - What one member states when it enters a collective
//---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_CALL_H
#define SHUNT_RUNTIME_CALL_H

#include "Error.h"

#include <cstdint>
#include <vector>

namespace shunt::rt {

struct Call;

/// Work that members do in each other's buffers instead of the usual copies,
/// on a backend whose ranks share memory. Must not fail: peers wait.
class Mover {
public:
  virtual ~Mover();
  /// All members are in the call: `calls` are theirs, in group order.
  virtual void move(const Call *const *calls) const = 0;
};

/// The step of dispatch and combine that a collective is part of. What travels
/// may look the same in another step, so members compare this as well.
struct Purpose {
  enum Step : int32_t { None, Route, Dispatch, Combine };
  Step step = None;
  /// The type of the caller's rows, which may travel as another.
  shunt_dtype dtype = SHUNT_F32;
  /// The routing's number in its group.
  uint64_t routing = 0;
};

/// One member's call. Counts have an entry for each member, in group order.
struct Call {
  shunt_op op = SHUNT_OP_BARRIER;
  const void *in = nullptr;
  int64_t inRows = 0;
  void *out = nullptr;
  int64_t outRows = 0;
  /// all_gather, reduce_scatter: the counts. all_to_all: what is sent.
  const int64_t *counts = nullptr;
  /// all_to_all: what is received.
  const int64_t *recvCounts = nullptr;
  int64_t rowElems = 0;
  shunt_dtype dtype = SHUNT_F32;
  /// If set, it moves the data and answers for `in` and `out`, which need not
  /// be of the stated rows; all members set it, or none.
  const Mover *mover = nullptr;
  Purpose purpose;

  /// The group's ranks and the caller's position among them.
  const std::vector<int64_t> *ranks = nullptr;
  int64_t me = 0;
  /// The number of this call among the caller's calls on the group.
  uint64_t sequence = 0;
  int64_t timeoutMs = 0;
  /// Set by checkCall.
  int64_t rowBytes = 0;

  int64_t members() const { return static_cast<int64_t>(ranks->size()); }
  int64_t inBytes() const { return inRows * rowBytes; }
  int64_t outBytes() const { return outRows * rowBytes; }
};

/// Elements [begin, end) of `elems` that member `i` of `n` reduces in an
/// all_reduce; whole cache lines, so that members do not share one.
struct Slice {
  int64_t begin, end;
};
Slice sliceOf(int64_t elems, int64_t n, int64_t i);

/// Sum of the first `n` counts.
int64_t sumCounts(const int64_t *counts, int64_t n);

/// Checks what one member can check alone and sets `rowBytes`.
Error checkCall(Call &call);

/// Checks that the members' calls, in group order, agree.
Error checkAgreement(const std::vector<int64_t> &ranks,
                     const Call *const *calls);

/// Fills `out` with zeros if its size makes sense: what a failed call leaves.
void zeroOutput(const Call &call);

/// Adds the call to the counters.
void recordCall(const Call &call, shunt_stats &stats);

} // namespace shunt::rt

#endif // SHUNT_RUNTIME_CALL_H
