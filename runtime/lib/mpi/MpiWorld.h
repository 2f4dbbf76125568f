//===- MpiWorld.h - Ranks that are processes ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_MPI_MPIWORLD_H
#define SHUNT_RUNTIME_MPI_MPIWORLD_H

#include "Process.h"

#include <deque>
#include <map>

namespace shunt::rt::mpi {

/// A group, as one member sees it. Made without communication.
struct MpiGroup : GroupState {
  std::vector<int64_t> ranks;
  /// Of the list of ranks: the same on all members.
  uint64_t hash = 0;
  /// All members are on this machine.
  bool local = true;
};

/// Bytes of somebody's buffer.
struct Range {
  int64_t begin = 0, bytes = 0;
};

/// What one member offers to the others of a group and takes of what they
/// offer. A collective is one or two such exchanges.
class Exchange {
public:
  virtual ~Exchange();
  /// What the caller takes from member `from`, whose call is `peer`.
  virtual Range takes(int64_t from, const Call &peer) const = 0;
  /// Where that goes.
  virtual char *target(int64_t from) const = 0;
  /// What member `to` takes from the caller.
  virtual Range gives(int64_t to) const = 0;
  /// Works on what the caller takes where it is, in group order. False: it is
  /// to be copied to the targets.
  virtual bool consume(const std::vector<const void *> &sources) const;
};

/// An exchange of one collective.
struct Step {
  MpiGroup &group;
  const Call &call;
  /// Of this exchange among all of the group.
  uint64_t key;
  /// What the caller offers.
  const char *data;
  int64_t bytes;
  /// Members compare their calls first.
  bool agree;
  const Exchange &exchange;

  int64_t members() const { return call.members(); }
  int64_t rank(int64_t member) const { return group.ranks[member]; }
};

/// Tags of messages. Calls and leaves share one, so that they come in the order
/// in which a rank sent them: a leave never overtakes the call before it.
constexpr int kControlTag = 1, kDataTag = 2;
enum class Control : int64_t { Call, Leave };

/// One process's end of MPI_COMM_WORLD, from one shunt_world_create to the
/// next. Ranks of one machine meet in shared memory, others by messages.
class MpiWorld : public World {
public:
  static Error create(int64_t size, const shunt_options &options,
                      std::unique_ptr<World> &world);
  ~MpiWorld() override;

  Comm *comm(int64_t rank) override {
    return rank == process.me ? ownComm.get() : nullptr;
  }

  bool isLocal(int64_t rank) const { return process.areas[rank] != nullptr; }
  Error exchange(const Step &step);

  void leave(const Error &error);
  void rejoin();

private:
  MpiWorld(Process &process, MPI_Comm mpi);

  //===--- One machine (Shared.cpp) ---===//
  Error exchangeShared(const Step &step);
  Error waitForAcks(const Step &step, Post &post);
  Error post(const Step &step, Post *&mine);
  Error waitForPosts(const Step &step);
  Error passPieces(const Step &step);
  bool passSome(const Step &step, std::vector<int64_t> &read);

  //===--- Several machines (Network.cpp) ---===//
  struct Message {
    Header header;
    std::vector<int64_t> counts;
  };
  Error exchangeNetwork(const Step &step);
  Error swapHeaders(const Step &step, std::vector<Message> &messages);
  void receiveControl();
  void send(int64_t rank, Control kind, std::vector<int64_t> words);
  Error waitForData(const Step &step, std::vector<MPI_Request> &requests);

  //===--- Absent ranks (MpiWorld.cpp) ---===//
  /// Of another member of the step, in this run, and why it failed.
  Presence presenceOf(const Step &step, int64_t rank,
                      std::string *reason = nullptr);
  Error agreeOn(const Step &step);
  Error findDeparted(const Step &step, const std::vector<int64_t> &missing);
  Error timedOut(const Step &step, const std::vector<int64_t> &missing);

  Process &process;
  MPI_Comm mpi;
  /// Headers that came before they were asked for, by rank.
  std::map<int64_t, std::deque<Message>> early;
  /// Control messages on their way.
  std::deque<std::pair<MPI_Request, std::vector<int64_t>>> sending;
  /// Ranks that said by message that they are gone, and why.
  std::map<int64_t, std::pair<Sighting, std::string>> gone;
  /// Runs of the world, and posts, are counted.
  uint64_t run = 0, posted = 0;
  std::unique_ptr<Comm> ownComm;
  /// Of one exchange, kept for the next: a call of one row is to be quick.
  std::vector<Post *> posts;
  std::vector<Call> calls;
  std::vector<const Call *> callList;
  std::vector<Range> takes;
  std::vector<const void *> sources;
};

} // namespace shunt::rt::mpi

#endif // SHUNT_RUNTIME_MPI_MPIWORLD_H
