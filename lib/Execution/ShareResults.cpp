//===- ShareResults.cpp - see ShareResults.h ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShareResults.h"

#include <cstring>
#include <numeric>

namespace shunt {

namespace {
/// Values one after another, as 32-bit words: what travels.
class Words {
public:
  template <typename T> void put(const T &value) { put(&value, sizeof(T)); }
  void put(const void *data, size_t bytes) {
    size_t at = words.size();
    words.resize(at + (bytes + 3) / 4);
    if (bytes)
      std::memcpy(&words[at], data, bytes);
  }

  std::vector<int32_t> words;
};

class WordReader {
public:
  explicit WordReader(const int32_t *next) : next(next) {}
  template <typename T> T get() {
    T value;
    get(&value, sizeof(T));
    return value;
  }
  void get(void *data, size_t bytes) {
    if (bytes)
      std::memcpy(data, next, bytes);
    next += (bytes + 3) / 4;
  }

private:
  const int32_t *next;
};
} // namespace

static Words pack(const RankResult &result) {
  Words words;
  words.put(result.stats);
  words.put(int64_t(result.events.size()));
  words.put(result.events.data(), result.events.size() * sizeof(shunt_event));
  words.put(int64_t(result.outputs.size()));
  for (const Buffer &buffer : result.outputs) {
    words.put(int64_t(buffer.type));
    words.put(int64_t(buffer.shape.size()));
    words.put(buffer.shape.data(), buffer.shape.size() * sizeof(int64_t));
    words.put(buffer.data.data(), buffer.data.size());
  }
  return words;
}

static RankResult unpack(const int32_t *data) {
  WordReader reader(data);
  RankResult result;
  result.stats = reader.get<shunt_stats>();
  result.events.resize(reader.get<int64_t>());
  reader.get(result.events.data(), result.events.size() * sizeof(shunt_event));
  int64_t count = reader.get<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    auto type = ElementType(reader.get<int64_t>());
    std::vector<int64_t> shape(reader.get<int64_t>());
    reader.get(shape.data(), shape.size() * sizeof(int64_t));
    Buffer buffer = makeZeros(shape, type);
    reader.get(buffer.data.data(), buffer.data.size());
    result.outputs.push_back(std::move(buffer));
  }
  return result;
}

shunt_status
shareResults(shunt_comm *comm, const RankResult &mine,
             const std::function<void(int64_t rank, RankResult)> &take) {
  int64_t size = shunt_comm_size(comm);
  Words words = pack(mine);
  int64_t count = words.words.size();
  std::vector<int64_t> ones(size, 1), counts(size);
  if (shunt_status status =
          shunt_all_gather(comm, nullptr, &count, 1, counts.data(), size,
                           ones.data(), 1, SHUNT_I64))
    return status;
  int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t(0));
  std::vector<int32_t> all(total);
  if (shunt_status status =
          shunt_all_gather(comm, nullptr, words.words.data(), count, all.data(),
                           total, counts.data(), 1, SHUNT_I32))
    return status;
  int64_t offset = 0;
  for (int64_t rank = 0; rank < size; ++rank) {
    take(rank, unpack(all.data() + offset));
    offset += counts[rank];
  }
  return SHUNT_OK;
}

} // namespace shunt
