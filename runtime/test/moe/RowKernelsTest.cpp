//===- RowKernelsTest.cpp - Single rows, and the pool ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moe/RowKernels.h"
#include "MoeCase.h"
#include "moe/Pool.h"

#include "gtest/gtest.h"

using namespace shunt::rt;
using namespace shunt::rt::test;

namespace {

constexpr shunt_dtype floats[] = {SHUNT_F32, SHUNT_BF16, SHUNT_F16};
constexpr int64_t lengths[] = {0, 1, 7, 64, 1000, 1024, 1025, 3000};

const char *at(const Bytes &bytes, size_t offset = 0) {
  return reinterpret_cast<const char *>(bytes.data()) + offset;
}

TEST(RowKernels, CopyKeepsItsNeighbours) {
  Random random(1);
  for (int64_t bytes : lengths)
    for (size_t skew : {0, 1, 4, 63})
      for (Write write : {Write::Cached, Write::Streaming}) {
        Bytes in = random.rows((bytes + 3) / 4, SHUNT_F32);
        Bytes out(bytes + 200, 0xa5);
        Bytes want = out;
        std::copy_n(in.begin(), bytes, want.begin() + skew);
        copyRow(reinterpret_cast<char *>(out.data()) + skew, at(in), bytes,
                write);
        finishStreaming();
        EXPECT_EQ(out, want) << bytes << " bytes at " << skew;
      }
}

TEST(RowKernels, ScaleRoundsOnce) {
  Random random(2);
  for (shunt_dtype dtype : floats)
    for (int64_t elems : lengths)
      for (Write write : {Write::Cached, Write::Streaming}) {
        Bytes in = random.rows(elems, dtype), out = in, want = in;
        float factor = 0.3f;
        for (int64_t i = 0; i < elems; ++i)
          writeElem(want, i, readElem(in, i, dtype) * factor, dtype);
        scaleRow(reinterpret_cast<char *>(out.data()), at(in), factor, elems,
                 dtype, write);
        finishStreaming();
        EXPECT_EQ(out, want) << elems << " elements of type " << dtype;
      }
}

TEST(RowKernels, SumIsInOrderAndRoundsOnce) {
  Random random(3);
  for (shunt_dtype in : floats)
    for (shunt_dtype out : floats)
      for (int64_t elems : lengths)
        for (int64_t count : {0, 1, 3, 4, 5, 8, 9}) {
          bool weighted = random.draw(0, 1), biased = random.draw(0, 1);
          std::vector<Bytes> rows;
          std::vector<const char *> pointers;
          std::vector<float> weights;
          for (int64_t i = 0; i < count; ++i) {
            rows.push_back(random.rows(elems, in));
            weights.push_back(std::ldexp(float(random.draw(-9, 9)), -3));
          }
          for (const Bytes &row : rows)
            pointers.push_back(at(row));
          Bytes bias = random.rows(elems, out);
          Bytes got(elems * shunt_dtype_size(out), 0xa5), want = got;
          for (int64_t i = 0; i < elems; ++i) {
            volatile float sum = 0;
            for (int64_t row = 0; row < count; ++row) {
              volatile float product = readElem(rows[row], i, in);
              if (weighted)
                product = product * weights[row];
              sum = sum + product;
            }
            if (biased)
              sum = sum + readElem(bias, i, out);
            writeElem(want, i, sum, out);
          }
          Summands summands;
          summands.rows = pointers.data();
          summands.weights = weighted ? weights.data() : nullptr;
          summands.count = count;
          summands.dtype = in;
          summands.next = pointers.data();
          summands.nextCount = count;
          sumRow(reinterpret_cast<char *>(got.data()), out, summands,
                 biased ? at(bias) : nullptr, out, elems,
                 random.draw(0, 1) ? Write::Streaming : Write::Cached);
          finishStreaming();
          EXPECT_EQ(got, want)
              << elems << " elements, types " << in << " and " << out;
        }
}

TEST(RowKernels, NegativeZerosAddUpToZero) {
  float zeros[2] = {-0.0f, -0.0f}, out[1] = {1};
  const char *rows[] = {reinterpret_cast<const char *>(&zeros[0]),
                        reinterpret_cast<const char *>(&zeros[1])};
  Summands summands;
  summands.rows = rows;
  summands.count = 2;
  sumRow(reinterpret_cast<char *>(out), SHUNT_F32, summands, nullptr, SHUNT_F32,
         1, Write::Cached);
  EXPECT_FALSE(std::signbit(out[0]));
}

TEST(Pool, EveryPieceOnce) {
  for (int64_t threads : {1, 2, 5}) {
    Pool pool(threads);
    for (int64_t n : {0, 1, 2, 100, 1000})
      for (int64_t grain : {1, 7, 5000}) {
        std::vector<std::atomic<int>> seen(n);
        pool.run(n, grain, [&](int64_t begin, int64_t end) {
          EXPECT_LE(end - begin, grain);
          for (int64_t i = begin; i < end; ++i)
            ++seen[i];
        });
        for (auto &count : seen)
          EXPECT_EQ(count, 1);
      }
  }
}

} // namespace
