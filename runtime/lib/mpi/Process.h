//===- Process.h - This process among those of MPI ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_MPI_PROCESS_H
#define SHUNT_RUNTIME_MPI_PROCESS_H

#include "Area.h"
#include "Backend.h"

#include <chrono>
#include <map>
#include <mpi.h>
#include <mutex>

namespace shunt::rt::mpi {

using Clock = std::chrono::steady_clock;

/// What outlives worlds: MPI itself and the window that the ranks of a machine
/// share. MPI can be initialised once, and giving a window back would wait for
/// all ranks.
class Process {
public:
  /// Initialises MPI, unless the program has; finalises it at exit then.
  /// Collective over all ranks when first called.
  static Error open(Process *&process);

  /// Waits until all ranks are here; false when the time is up.
  bool meet(int64_t timeoutMs) const;
  /// Forgets the posts of the last world.
  void resetArea();

  /// Buffers that ranks of this machine can read. Null when there is no room.
  void *allocate(int64_t bytes);
  bool owns(const void *memory) const;
  void release(void *memory);
  /// Where `bytes` bytes at `data` are in this rank's part of the window; -1
  /// if they are not.
  int64_t offsetOf(const void *data, int64_t bytes) const;

  int64_t *countsOf(Area &area, const Post &post) const;
  char *slotOf(Area &area, int64_t piece) const;
  Area &own() const { return *areas[me]; }

  /// Copies from the memory of another rank of this machine.
  Error readMemory(int64_t rank, uint64_t address, void *to,
                   int64_t bytes) const;

  int64_t me = 0, size = 1;
  /// Whether `kill` can tell that a rank of this machine is gone.
  bool asksWhoLives = true;
  /// Whether ranks may copy from each other's memory.
  bool readsMemory = false;
  /// More ranks than cores: who spins takes the time of whom it waits for.
  bool oversubscribed = false;
  /// Of every rank of this machine its part of the window; null elsewhere.
  std::vector<Area *> areas;

private:
  Error start();
  Error openWindow();

  MPI_Comm all = MPI_COMM_NULL, node = MPI_COMM_NULL;
  MPI_Win window = MPI_WIN_NULL;
  int64_t partBytes = 0, heapBegin = 0;
  /// Parts of the heap, by offset.
  std::mutex mutex;
  std::map<int64_t, int64_t> freeParts, usedParts;
};

/// MPI's words for a code.
std::string mpiText(int code);

} // namespace shunt::rt::mpi

#endif // SHUNT_RUNTIME_MPI_PROCESS_H
