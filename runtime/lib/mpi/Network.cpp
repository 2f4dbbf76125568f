//===- Network.cpp - Exchanges between machines ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Members send each other their calls, then, once these agree, the data:
// straight from buffer to buffer, so uneven counts cost what they are. MPI 3
// counts in 32 bits, so rows are counted, not bytes.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "MpiWorld.h"
#include "Patience.h"

#include <climits>
#include <cstring>

namespace shunt::rt::mpi {

constexpr int64_t kHeaderWords = sizeof(Header) / sizeof(int64_t);

static Error mpiError(const Step &step, const char *what, int code) {
  return {SHUNT_INTERNAL, "rank " + std::to_string(step.rank(step.call.me)) +
                              ": " + what + ": " + mpiText(code)};
}

void MpiWorld::send(int64_t rank, Control kind, std::vector<int64_t> words) {
  while (!sending.empty()) {
    int done = 0;
    MPI_Test(&sending.front().first, &done, MPI_STATUS_IGNORE);
    if (!done)
      break;
    sending.pop_front();
  }
  words.insert(words.begin(), static_cast<int64_t>(kind));
  sending.emplace_back(MPI_REQUEST_NULL, std::move(words));
  auto &[request, kept] = sending.back();
  MPI_Isend(kept.data(), static_cast<int>(kept.size()), MPI_INT64_T,
            static_cast<int>(rank), kControlTag, mpi, &request);
}

/// Takes in what has come: calls, and ranks that leave.
void MpiWorld::receiveControl() {
  while (true) {
    int here = 0, size = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, kControlTag, mpi, &here, &status) !=
            MPI_SUCCESS ||
        !here)
      return;
    MPI_Get_count(&status, MPI_INT64_T, &size);
    std::vector<int64_t> message(size);
    if (MPI_Recv(message.data(), size, MPI_INT64_T, status.MPI_SOURCE,
                 kControlTag, mpi, MPI_STATUS_IGNORE) != MPI_SUCCESS)
      return;
    if (size < 2)
      continue;
    const int64_t *words = &message[1];
    if (static_cast<Control>(message[0]) == Control::Leave) {
      std::string reason(reinterpret_cast<const char *>(words + 1),
                         (size - 2) * sizeof(int64_t));
      gone[status.MPI_SOURCE] = {Sighting::of(static_cast<uint64_t>(words[0])),
                                 reason.c_str()};
    } else if (size > kHeaderWords) {
      Message call;
      std::memcpy(&call.header, words, sizeof(Header));
      call.counts.assign(words + kHeaderWords, words + size - 1);
      early[status.MPI_SOURCE].push_back(std::move(call));
    }
  }
}

Error MpiWorld::swapHeaders(const Step &step, std::vector<Message> &messages) {
  int64_t n = step.members();
  Message own;
  own.header = headerOf(step.call, step.key);
  own.counts.resize(2 * n);
  writeCounts(step.call, own.counts.data());
  std::vector<int64_t> words(kHeaderWords);
  std::memcpy(words.data(), &own.header, sizeof(Header));
  words.insert(words.end(), own.counts.begin(), own.counts.end());
  for (int64_t i = 1; i < n; ++i)
    send(step.rank((step.call.me + i) % n), Control::Call, words);

  messages.resize(n);
  messages[step.call.me] = std::move(own);
  std::vector<bool> here(n);
  here[step.call.me] = true;
  Patience patience(step.call.timeoutMs, !process.oversubscribed);
  while (true) {
    receiveControl();
    std::vector<int64_t> missing;
    for (int64_t member = 0; member < n; ++member) {
      std::deque<Message> &queue = early[step.rank(member)];
      for (auto it = queue.begin(); !here[member] && it != queue.end(); ++it)
        if (it->header.key == step.key &&
            static_cast<int64_t>(it->counts.size()) == 2 * n) {
          messages[member] = std::move(*it);
          queue.erase(it);
          here[member] = true;
          break;
        }
      if (!here[member])
        missing.push_back(step.rank(member));
    }
    if (missing.empty())
      return {};
    if (!patience.wait())
      continue;
    if (Error error = findDeparted(step, missing))
      return error;
    if (patience.isOver())
      return timedOut(step, missing);
  }
}

namespace {
/// A datatype of one row, freed with its scope.
class RowType {
public:
  explicit RowType(int64_t bytes) {
    MPI_Type_contiguous(static_cast<int>(bytes), MPI_BYTE, &type);
    MPI_Type_commit(&type);
  }
  ~RowType() { MPI_Type_free(&type); }
  RowType(const RowType &) = delete;
  operator MPI_Datatype() const { return type; }

private:
  MPI_Datatype type;
};
} // namespace

Error MpiWorld::waitForData(const Step &step,
                            std::vector<MPI_Request> &requests) {
  Patience patience(step.call.timeoutMs, !process.oversubscribed);
  size_t open = requests.size();
  std::vector<int> indices(open);
  while (open) {
    int done = 0;
    int code = MPI_Testsome(static_cast<int>(requests.size()), requests.data(),
                            &done, indices.data(), MPI_STATUSES_IGNORE);
    if (code)
      return mpiError(step, "MPI_Testsome", code);
    if (done == MPI_UNDEFINED)
      return {};
    if (done > 0) {
      open -= done;
      patience.progress();
      continue;
    }
    if (!patience.wait())
      continue;
    receiveControl();
    std::vector<int64_t> others;
    for (int64_t rank : step.group.ranks)
      if (rank != process.me)
        others.push_back(rank);
    // Who finished has sent all that it had to.
    for (int64_t rank : others)
      if (presenceOf(step, rank) == Presence::Failed)
        return findDeparted(step, {rank});
    if (patience.isOver())
      return timedOut(step, others);
  }
  return {};
}

Error MpiWorld::exchangeNetwork(const Step &step) {
  std::vector<Message> messages;
  if (Error error = swapHeaders(step, messages))
    return error;
  int64_t n = step.members();
  calls.clear();
  for (int64_t member = 0; member < n; ++member)
    calls.push_back(callOf(messages[member].header,
                           messages[member].counts.data(), step.group.ranks,
                           member));
  if (Error error = agreeOn(step))
    return error;

  // Rows where the ranges are rows, else elements.
  int64_t unit = std::max<int64_t>(step.call.rowBytes, 1);
  for (int64_t member = 0; member < n; ++member)
    for (const Range &range : {step.exchange.takes(member, calls[member]),
                               step.exchange.gives(member)})
      if (range.bytes % unit || range.begin % unit)
        unit = std::max<int64_t>(shunt_dtype_size(step.call.dtype), 1);
  if (unit > INT_MAX)
    return {SHUNT_INVALID_ARGUMENT,
            "mpi: a row has " + std::to_string(unit) +
                " bytes, more than MPI counts (2^31 - 1) [E_OVERFLOW]"};
  RowType row(unit);
  std::vector<MPI_Request> requests;
  int failed = MPI_SUCCESS;
  auto forParts = [&](int64_t bytes, auto body) {
    for (int64_t rows = bytes / unit, first = 0; first < rows;
         first += INT_MAX) {
      int64_t count = std::min<int64_t>(rows - first, INT_MAX);
      requests.push_back(MPI_REQUEST_NULL);
      if (int code =
              body(first * unit, static_cast<int>(count), &requests.back()))
        failed = code;
    }
  };
  sources.resize(n);
  for (int64_t i = 1; i < n; ++i) {
    int64_t member = (step.call.me + n - i) % n;
    Range range = step.exchange.takes(member, calls[member]);
    char *target = step.exchange.target(member);
    sources[member] = target;
    forParts(range.bytes, [&](int64_t offset, int count, MPI_Request *request) {
      return MPI_Irecv(target + offset, count, row,
                       static_cast<int>(step.rank(member)), kDataTag, mpi,
                       request);
    });
  }
  for (int64_t i = 1; i < n; ++i) {
    int64_t member = (step.call.me + i) % n;
    Range range = step.exchange.gives(member);
    forParts(range.bytes, [&](int64_t offset, int count, MPI_Request *request) {
      return MPI_Isend(step.data + range.begin + offset, count, row,
                       static_cast<int>(step.rank(member)), kDataTag, mpi,
                       request);
    });
  }
  Error error = failed ? mpiError(step, "MPI_Isend or MPI_Irecv", failed)
                       : waitForData(step, requests);
  if (error) {
    // The buffers are the caller's again.
    for (MPI_Request &request : requests)
      if (request != MPI_REQUEST_NULL) {
        MPI_Cancel(&request);
        MPI_Request_free(&request);
      }
    return error;
  }
  Range mine = step.exchange.takes(step.call.me, calls[step.call.me]);
  const char *from = mine.bytes ? step.data + mine.begin : step.data;
  sources[step.call.me] = from;
  if (!step.exchange.consume(sources) && mine.bytes)
    copyBytes(step.exchange.target(step.call.me), from, mine.bytes, false);
  return {};
}

} // namespace shunt::rt::mpi
