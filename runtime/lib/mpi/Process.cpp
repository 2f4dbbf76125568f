//===- Process.cpp - see Process.h ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Process.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>

namespace shunt::rt::mpi {

std::string mpiText(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
    return "MPI error " + std::to_string(code);
  return std::string(text, length);
}

static Error mpiError(const char *what, int code) {
  return {SHUNT_UNAVAILABLE,
          std::string("mpi: ") + what + ": " + mpiText(code)};
}

static Process *opened = nullptr;
static bool ownsMpi = false;

/// Finalises MPI if all ranks come to it; a rank that is gone would be waited
/// for for ever.
static void finishMpi(int status, void *) {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!ownsMpi || finalized)
    return;
  const int64_t lastMs = 2000;
  if (status == 0 && opened->meet(lastMs)) {
    MPI_Finalize();
    return;
  }
  // mpirun sees a rank that ends so, and ends the others.
  std::fflush(nullptr);
  _exit(status ? status : 1);
}

Error Process::start() {
  int initialized = 0, provided = MPI_THREAD_SINGLE;
  MPI_Initialized(&initialized);
  if (initialized) {
    MPI_Query_thread(&provided);
  } else {
    if (int code =
            MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided))
      return mpiError("MPI_Init_thread", code);
    ownsMpi = true;
    on_exit(finishMpi, nullptr);
  }
  if (provided < MPI_THREAD_SERIALIZED)
    return {SHUNT_UNAVAILABLE,
            "mpi: the program initialised MPI without threads; it needs at "
            "least MPI_THREAD_SERIALIZED, since ranks run on threads of "
            "their own"};
  int rank = 0, ranks = 1;
  if (int code = MPI_Comm_dup(MPI_COMM_WORLD, &all))
    return mpiError("MPI_Comm_dup", code);
  MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &ranks);
  me = rank;
  size = ranks;
  return openWindow();
}

/// Bytes of each rank's part, of which only what is used takes memory: what the
/// environment says, at most half of what the machine has room for.
static int64_t bytesForRank(int64_t localRanks) {
  int64_t megabytes = 1024;
  if (const char *text = std::getenv("SHUNT_MPI_WINDOW_MB"))
    megabytes = std::max<int64_t>(std::strtoll(text, nullptr, 10), 0);
  struct statvfs file;
  if (statvfs("/dev/shm", &file) == 0) {
    int64_t room = static_cast<int64_t>(file.f_bavail * file.f_frsize);
    megabytes = std::min(megabytes, room / 2 / localRanks >> 20);
  }
  return megabytes << 20;
}

static int64_t roundUp(int64_t bytes, int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

Error Process::openWindow() {
  // For tests, and for machines whose shared memory is not to be used.
  const char *shared = std::getenv("SHUNT_MPI_SHARED");
  bool alone = shared && std::string(shared) == "0";
  if (int code = alone ? MPI_Comm_split(all, static_cast<int>(me), 0, &node)
                       : MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0,
                                             MPI_INFO_NULL, &node))
    return mpiError("MPI_Comm_split_type", code);
  MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
  int local = 0, locals = 1;
  MPI_Comm_rank(node, &local);
  MPI_Comm_size(node, &locals);
  heapBegin = roundUp(sizeof(Area), 64) +
              roundUp(kPosts * 2 * size * int64_t(sizeof(int64_t)), 4096) +
              kSlots * kSlotBytes;
  heapBegin = roundUp(heapBegin, 4096);
  int64_t heap = bytesForRank(locals);
  // Every rank of the machine has to come to the same size.
  MPI_Allreduce(MPI_IN_PLACE, &heap, 1, MPI_INT64_T, MPI_MIN, node);
  partBytes = heapBegin + heap;
  void *base = nullptr;
  // Each part on pages of its own.
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "alloc_shared_noncontig", "true");
  int code = MPI_Win_allocate_shared(partBytes, 1, info, node, &base, &window);
  MPI_Info_free(&info);
  if (code)
    return mpiError("MPI_Win_allocate_shared of the ranks' shared memory "
                    "(SHUNT_MPI_WINDOW_MB makes it smaller)",
                    code);
  Area *area = new (base) Area();
  for (std::atomic<int64_t> &taken : area->taken)
    taken = 0;
  area->pid = getpid();
  freeParts[heapBegin] = partBytes - heapBegin;

  std::vector<int> world(locals), here(locals);
  for (int i = 0; i < locals; ++i)
    here[i] = i;
  MPI_Group nodeGroup, allGroup;
  MPI_Comm_group(node, &nodeGroup);
  MPI_Comm_group(all, &allGroup);
  MPI_Group_translate_ranks(nodeGroup, locals, here.data(), allGroup,
                            world.data());
  MPI_Group_free(&nodeGroup);
  MPI_Group_free(&allGroup);
  areas.assign(size, nullptr);
  for (int i = 0; i < locals; ++i) {
    MPI_Aint bytes = 0;
    int unit = 1;
    void *part = nullptr;
    if (int code = MPI_Win_shared_query(window, i, &bytes, &unit, &part))
      return mpiError("MPI_Win_shared_query", code);
    areas[world[i]] = static_cast<Area *>(part);
  }
  oversubscribed = locals > int(std::thread::hardware_concurrency());
  // Where Yama restricts it, reading a peer's memory has to be allowed.
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  static const uint64_t token = 0x5348554e54;
  own().posts[0].address = reinterpret_cast<uint64_t>(&token);
  MPI_Barrier(node);
  int reads = 1;
  const char *choice = std::getenv("SHUNT_MPI_READ_MEMORY");
  if (choice && std::string(choice) == "0")
    reads = 0;
  for (int64_t rank = 0; rank < size; ++rank) {
    uint64_t seen = 0;
    if (areas[rank] && rank != me &&
        (readMemory(rank, areas[rank]->posts[0].address, &seen, sizeof(seen)) ||
         seen != token))
      reads = 0;
  }
  MPI_Allreduce(MPI_IN_PLACE, &reads, 1, MPI_INT, MPI_MIN, node);
  readsMemory = reads;
  // A process of another namespace cannot be asked whether it lives.
  for (Area *other : areas)
    if (other && kill(other->pid, 0) != 0)
      asksWhoLives = false;
  return {};
}

Error Process::open(Process *&process) {
  static Process instance;
  static bool started = false;
  static Error error;
  if (!started) {
    started = true;
    error = instance.start();
    opened = &instance;
  }
  process = &instance;
  return error;
}

bool Process::meet(int64_t timeoutMs) const {
  MPI_Request request;
  if (MPI_Ibarrier(all, &request) != MPI_SUCCESS)
    return false;
  auto deadline = Clock::now() + std::chrono::milliseconds(timeoutMs);
  for (int done = 0;;) {
    if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
      return false;
    if (done)
      return true;
    if (Clock::now() >= deadline)
      return false;
    std::this_thread::yield();
  }
}

void Process::resetArea() {
  Area &area = own();
  for (Post &post : area.posts) {
    post.key = 0;
    post.acks = post.readers = 0;
  }
  area.presence = Sighting().word();
}

int64_t *Process::countsOf(Area &area, const Post &post) const {
  return reinterpret_cast<int64_t *>(reinterpret_cast<char *>(&area) +
                                     roundUp(sizeof(Area), 64)) +
         (&post - area.posts) * 2 * size;
}

Error Process::readMemory(int64_t rank, uint64_t address, void *to,
                          int64_t bytes) const {
  auto at = static_cast<char *>(to);
  // The kernel takes at most 2^31 - 4096 bytes at a time.
  const int64_t most = int64_t(1) << 30;
  while (bytes > 0) {
    iovec local = {at, size_t(std::min(bytes, most))};
    iovec remote = {reinterpret_cast<void *>(address), local.iov_len};
    ssize_t got = process_vm_readv(areas[rank]->pid, &local, 1, &remote, 1, 0);
    if (got <= 0)
      return {SHUNT_INTERNAL, "cannot read the memory of rank " +
                                  std::to_string(rank) + ": " +
                                  std::strerror(errno)};
    at += got;
    address += got;
    bytes -= got;
  }
  return {};
}

char *Process::slotOf(Area &area, int64_t piece) const {
  return reinterpret_cast<char *>(&area) + heapBegin -
         (kSlots - piece % kSlots) * kSlotBytes;
}

int64_t Process::offsetOf(const void *data, int64_t bytes) const {
  auto begin = reinterpret_cast<const char *>(&own());
  auto at = static_cast<const char *>(data);
  std::less<const char *> before;
  if (before(at, begin + heapBegin) || !before(at, begin + partBytes) ||
      bytes > begin + partBytes - at)
    return -1;
  return at - begin;
}

bool Process::owns(const void *memory) const {
  return offsetOf(memory, 0) >= 0;
}

void *Process::allocate(int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  // Pages, so that buffers are aligned for anything.
  bytes = roundUp(std::max<int64_t>(bytes, 1), 4096);
  for (auto [offset, room] : freeParts) {
    if (room < bytes)
      continue;
    freeParts.erase(offset);
    if (room > bytes)
      freeParts[offset + bytes] = room - bytes;
    usedParts[offset] = bytes;
    return reinterpret_cast<char *>(&own()) + offset;
  }
  return nullptr;
}

void Process::release(void *memory) {
  std::lock_guard<std::mutex> lock(mutex);
  auto used = usedParts.find(offsetOf(memory, 0));
  if (used == usedParts.end())
    return;
  auto part = freeParts.emplace(*used).first;
  usedParts.erase(used);
  if (auto next = std::next(part);
      next != freeParts.end() && part->first + part->second == next->first) {
    part->second += next->second;
    freeParts.erase(next);
  }
  if (part == freeParts.begin())
    return;
  if (auto last = std::prev(part); last->first + last->second == part->first) {
    last->second += part->second;
    freeParts.erase(part);
  }
}

} // namespace shunt::rt::mpi
