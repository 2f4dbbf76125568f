//===- MpiComm.h - Collectives as exchanges -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_MPI_MPICOMM_H
#define SHUNT_RUNTIME_MPI_MPICOMM_H

#include "MpiWorld.h"

#include <cstdlib>

namespace shunt::rt::mpi {

class MpiComm : public Comm {
public:
  MpiComm(MpiWorld &world, Process &process) : world(world), process(process) {}

  std::unique_ptr<GroupState>
  openGroup(const std::vector<int64_t> &ranks) override;
  Error perform(GroupState &group, const Call &call) override;
  void leave(const Error &error) override { world.leave(error); }
  void rejoin() override { world.rejoin(); }
  void *allocate(int64_t bytes) override;
  void release(void *memory) override;

private:
  Error exchange(MpiGroup &group, const Call &call, int64_t phase,
                 const void *data, int64_t bytes, const Exchange &exchange);
  Error reduceScatter(MpiGroup &group, const Call &call);
  Error allReduce(MpiGroup &group, const Call &call);
  char *scratch(int64_t bytes);

  MpiWorld &world;
  Process &process;
  /// Rows of peers before they are added up; kept for the next call.
  void *room = nullptr;
  int64_t roomBytes = 0;
};

} // namespace shunt::rt::mpi

#endif // SHUNT_RUNTIME_MPI_MPICOMM_H
