//===- ConformanceTest.cpp - What every backend must do
//--------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random partitions of worlds of 1 to 11 ranks, ragged counts with zeros, all
// dtypes; every byte of every result is compared with a sequential reference.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"
#include "Reference.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

using namespace shunt::rt::test;

namespace {

struct Param {
  std::string backend;
  int64_t size;
};

class Conformance : public ::testing::TestWithParam<Param> {
protected:
  void SetUp() override {
    ranks =
        std::make_unique<Ranks>(GetParam().size, patientMs, GetParam().backend);
    ASSERT_EQ(ranks->status, SHUNT_OK) << ranks->createError;
  }

  /// Draws a partition of the world into groups in random order, and runs
  /// `body` on each rank with a generator that all members of its group share.
  void runOnGroups(
      unsigned seed,
      const std::function<void(shunt_comm *, const std::vector<int64_t> &,
                               shunt_group *, int64_t, Random &)> &body) {
    Random random(seed);
    std::vector<int64_t> order(GetParam().size);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random.engine);
    std::vector<std::vector<int64_t>> groupOfRank(order.size());
    for (size_t begin = 0; begin < order.size();) {
      size_t end = std::min<size_t>(
          order.size(), begin + random.draw(1, order.size() - begin));
      std::vector<int64_t> group(order.begin() + begin, order.begin() + end);
      for (int64_t rank : group)
        groupOfRank[rank] = group;
      begin = end;
    }
    shunt_status status = ranks->run([&](shunt_comm *comm) {
      const auto &list = groupOfRank[shunt_comm_rank(comm)];
      Random shared(seed * 1000 + list.front());
      shunt_group *group = groupOf(comm, list);
      body(comm, list, group, shunt_group_rank(group), shared);
      return SHUNT_OK;
    });
    EXPECT_EQ(status, SHUNT_OK) << errorsOf(*ranks) << "\nseed " << seed;
  }

  std::unique_ptr<Ranks> ranks;
};

constexpr int64_t rowElemsOf[] = {1, 3, 64, 257};

/// Inputs of all members; each member makes them all from the shared seed.
std::vector<Bytes> drawInputs(Random &random, const std::vector<int64_t> &elems,
                              shunt_dtype dtype) {
  std::vector<Bytes> inputs;
  for (int64_t n : elems)
    inputs.push_back(random.rows(n, dtype));
  return inputs;
}

TEST_P(Conformance, AllGather) {
  for (unsigned seed = 1; seed <= 12; ++seed)
    runOnGroups(seed, [&](shunt_comm *comm, const auto &list, auto *group,
                          int64_t me, Random &random) {
      for (shunt_dtype dtype : movedDtypes) {
        int64_t rowElems = rowElemsOf[random.draw(0, 3)];
        auto counts = random.counts(list.size());
        auto inputs = drawInputs(random, scaled(counts, rowElems), dtype);
        Bytes expected = concatenate(inputs);
        Bytes out(expected.size(), 0xab);
        int64_t sum = std::accumulate(counts.begin(), counts.end(), int64_t(0));
        EXPECT_EQ(shunt_all_gather(comm, group, inputs[me].data(), counts[me],
                                   out.data(), sum, counts.data(), rowElems,
                                   dtype),
                  SHUNT_OK);
        EXPECT_EQ(out, expected) << "seed " << seed;
      }
    });
}

TEST_P(Conformance, AllGatherInPlace) {
  runOnGroups(7, [&](shunt_comm *comm, const auto &list, auto *group,
                     int64_t me, Random &random) {
    auto counts = random.counts(list.size());
    auto inputs = drawInputs(random, scaled(counts, 5), SHUNT_BF16);
    Bytes expected = concatenate(inputs);
    Bytes out(expected.size(), 0);
    auto own = out.data() +
               10 * std::accumulate(counts.begin(), counts.begin() + me, 0);
    std::copy(inputs[me].begin(), inputs[me].end(), own);
    int64_t sum = std::accumulate(counts.begin(), counts.end(), int64_t(0));
    EXPECT_EQ(shunt_all_gather(comm, group, own, counts[me], out.data(), sum,
                               counts.data(), 5, SHUNT_BF16),
              SHUNT_OK);
    EXPECT_EQ(out, expected);
  });
}

TEST_P(Conformance, ReduceScatter) {
  for (unsigned seed = 1; seed <= 12; ++seed)
    runOnGroups(seed, [&](shunt_comm *comm, const auto &list, auto *group,
                          int64_t me, Random &random) {
      for (shunt_dtype dtype : summedDtypes) {
        int64_t rowElems = rowElemsOf[random.draw(0, 3)];
        auto counts = random.counts(list.size());
        int64_t sum = std::accumulate(counts.begin(), counts.end(), int64_t(0));
        std::vector<int64_t> elems(list.size(), sum * rowElems);
        auto inputs = drawInputs(random, elems, dtype);
        int64_t rowBytes = rowElems * shunt_dtype_size(dtype);
        Bytes total = sumOf(inputs, dtype);
        auto own = total.begin() +
                   rowBytes * std::accumulate(counts.begin(),
                                              counts.begin() + me, int64_t(0));
        Bytes expected(own, own + rowBytes * counts[me]);
        Bytes out(expected.size(), 0xab);
        EXPECT_EQ(shunt_reduce_scatter(comm, group, inputs[me].data(), sum,
                                       out.data(), counts[me], counts.data(),
                                       rowElems, dtype),
                  SHUNT_OK);
        EXPECT_EQ(out, expected) << "seed " << seed << " dtype " << dtype;
        // Again, into the part of the input that is the caller's.
        Bytes buffer = inputs[me];
        uint8_t *part = buffer.data() + (own - total.begin());
        EXPECT_EQ(shunt_reduce_scatter(comm, group, buffer.data(), sum, part,
                                       counts[me], counts.data(), rowElems,
                                       dtype),
                  SHUNT_OK);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), part));
      }
    });
}

TEST_P(Conformance, AllReduce) {
  for (unsigned seed = 1; seed <= 12; ++seed)
    runOnGroups(seed, [&](shunt_comm *comm, const auto &list, auto *group,
                          int64_t me, Random &random) {
      for (shunt_dtype dtype : summedDtypes) {
        int64_t rowElems = rowElemsOf[random.draw(0, 3)];
        int64_t rows = random.draw(0, 40);
        std::vector<int64_t> elems(list.size(), rows * rowElems);
        auto inputs = drawInputs(random, elems, dtype);
        Bytes expected = sumOf(inputs, dtype);
        Bytes out(expected.size(), 0xab);
        // Some members reduce in place, others do not.
        bool inPlace = random.draw(0, 1) == me % 2;
        if (inPlace)
          out = inputs[me];
        EXPECT_EQ(shunt_all_reduce(comm, group,
                                   inPlace ? out.data() : inputs[me].data(),
                                   out.data(), rows, rowElems, dtype),
                  SHUNT_OK);
        EXPECT_EQ(out, expected) << "seed " << seed << " dtype " << dtype;
      }
    });
}

TEST_P(Conformance, AllToAll) {
  for (unsigned seed = 1; seed <= 12; ++seed)
    runOnGroups(seed, [&](shunt_comm *comm, const auto &list, auto *group,
                          int64_t me, Random &random) {
      int64_t n = list.size();
      for (shunt_dtype dtype : movedDtypes) {
        int64_t rowElems = rowElemsOf[random.draw(0, 3)];
        std::vector<std::vector<int64_t>> send;
        std::vector<int64_t> elems, recv;
        for (int64_t i = 0; i < n; ++i) {
          send.push_back(random.counts(n));
          elems.push_back(rowElems * std::accumulate(send[i].begin(),
                                                     send[i].end(),
                                                     int64_t(0)));
          recv.push_back(send[i][me]);
        }
        auto inputs = drawInputs(random, elems, dtype);
        int64_t rowBytes = rowElems * shunt_dtype_size(dtype);
        Bytes expected;
        for (int64_t i = 0; i < n; ++i) {
          auto from =
              inputs[i].begin() +
              rowBytes * std::accumulate(send[i].begin(), send[i].begin() + me,
                                         int64_t(0));
          expected.insert(expected.end(), from, from + rowBytes * send[i][me]);
        }
        Bytes out(expected.size(), 0xab);
        EXPECT_EQ(shunt_all_to_all(comm, group, inputs[me].data(),
                                   elems[me] / rowElems, send[me].data(),
                                   out.data(), expected.size() / rowBytes,
                                   recv.data(), rowElems, dtype),
                  SHUNT_OK);
        EXPECT_EQ(out, expected) << "seed " << seed;
      }
    });
}

TEST_P(Conformance, BuffersMayBeReusedAtOnce) {
  // Each round overwrites what peers read in the round before.
  shunt_status status = ranks->run([&](shunt_comm *comm) -> int32_t {
    int64_t size = shunt_comm_size(comm), me = shunt_comm_rank(comm);
    std::vector<int64_t> counts(size, 1), out(size);
    for (int64_t round = 0; round < 300; ++round) {
      int64_t in = round * size + me;
      if (shunt_status status =
              shunt_all_gather(comm, nullptr, &in, 1, out.data(), size,
                               counts.data(), 1, SHUNT_I64))
        return status;
      in = -1;
      for (int64_t i = 0; i < size; ++i)
        EXPECT_EQ(out[i], round * size + i);
    }
    return SHUNT_OK;
  });
  EXPECT_EQ(status, SHUNT_OK) << errorsOf(*ranks);
}

// Results that a backend may write past the caches, in rows that end nowhere
// near a cache line.
TEST_P(Conformance, LargeRows) {
  shunt_status status = ranks->run([&](shunt_comm *comm) -> int32_t {
    int64_t size = shunt_comm_size(comm), me = shunt_comm_rank(comm);
    const int64_t rowElems = 100003;
    std::vector<int64_t> counts(size, 1);
    counts[size - 1] = 12;
    int64_t rows = size + 11;
    auto value = [](int64_t rank, int64_t i) {
      return static_cast<int32_t>(rank * 1000003 + i);
    };
    std::vector<int32_t> in(counts[me] * rowElems), out(rows * rowElems);
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = value(me, i);
    if (shunt_status status =
            shunt_all_gather(comm, nullptr, in.data(), counts[me], out.data(),
                             rows, counts.data(), rowElems, SHUNT_I32))
      return status;
    bool same = true;
    for (int64_t rank = 0, at = 0; rank < size; ++rank)
      for (int64_t i = 0; i < counts[rank] * rowElems; ++i, ++at)
        same &= out[at] == value(rank, i);
    EXPECT_TRUE(same);
    // All members now have the same rows, so the sums are multiples.
    std::vector<int32_t> sums(out.size());
    if (shunt_status status = shunt_all_reduce(
            comm, nullptr, out.data(), sums.data(), rows, rowElems, SHUNT_I32))
      return status;
    for (size_t i = 0; i < out.size(); ++i)
      same &=
          sums[i] == static_cast<int32_t>(static_cast<uint32_t>(out[i]) * size);
    EXPECT_TRUE(same);
    return SHUNT_OK;
  });
  EXPECT_EQ(status, SHUNT_OK) << errorsOf(*ranks);
}

TEST_P(Conformance, GroupsTakeTurns) {
  // World, own pair, world in reverse: three groups that overlap.
  shunt_status status = ranks->run([&](shunt_comm *comm) -> int32_t {
    int64_t size = shunt_comm_size(comm), me = shunt_comm_rank(comm);
    std::vector<int64_t> reverse(size), pair;
    for (int64_t i = 0; i < size; ++i)
      reverse[i] = size - 1 - i;
    for (int64_t i = me / 2 * 2; i < std::min(size, me / 2 * 2 + 2); ++i)
      pair.push_back(i);
    for (int round = 0; round < 50; ++round)
      for (shunt_group *group : {static_cast<shunt_group *>(nullptr),
                                 groupOf(comm, pair), groupOf(comm, reverse)}) {
        int64_t one = 1, sum = 0;
        if (shunt_status status =
                shunt_all_reduce(comm, group, &one, &sum, 1, 1, SHUNT_I64))
          return status;
        EXPECT_EQ(sum, group ? shunt_group_size(group) : size);
        if (shunt_status status = shunt_barrier(comm, group))
          return status;
      }
    return SHUNT_OK;
  });
  EXPECT_EQ(status, SHUNT_OK) << errorsOf(*ranks);
}

TEST_P(Conformance, NothingToMove) {
  shunt_status status = ranks->run([&](shunt_comm *comm) -> int32_t {
    std::vector<int64_t> zeros(shunt_comm_size(comm), 0);
    const int64_t *counts = zeros.data();
    for (auto [rows, elems] : {std::pair(0, 8), std::pair(0, 0)})
      for (shunt_status status :
           {shunt_all_gather(comm, nullptr, nullptr, 0, nullptr, 0, counts,
                             elems, SHUNT_F32),
            shunt_reduce_scatter(comm, nullptr, nullptr, 0, nullptr, 0, counts,
                                 elems, SHUNT_F32),
            shunt_all_reduce(comm, nullptr, nullptr, nullptr, rows, elems,
                             SHUNT_F32),
            shunt_all_to_all(comm, nullptr, nullptr, 0, counts, nullptr, 0,
                             counts, elems, SHUNT_F32)})
        if (status != SHUNT_OK)
          return status;
    return SHUNT_OK;
  });
  EXPECT_EQ(status, SHUNT_OK) << errorsOf(*ranks);
}

/// SHUNT_TEST_BACKEND says which backend to test ("host"), SHUNT_TEST_RANKS a
/// number of ranks, where it is not ours to choose, as under mpirun.
std::vector<Param> testedParams() {
  const char *backend = std::getenv("SHUNT_TEST_BACKEND");
  const char *size = std::getenv("SHUNT_TEST_RANKS");
  std::vector<Param> params;
  if (size)
    return {{backend ? backend : "host", std::atoll(size)}};
  for (int64_t ranks : {1, 2, 3, 8, 11})
    params.push_back({backend ? backend : "host", ranks});
  return params;
}

INSTANTIATE_TEST_SUITE_P(Backends, Conformance,
                         ::testing::ValuesIn(testedParams()),
                         [](const auto &info) {
                           return info.param.backend +
                                  std::to_string(info.param.size);
                         });

} // namespace
