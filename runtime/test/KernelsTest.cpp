//===- KernelsTest.cpp - Copies and sums of any size and place
//-------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "Call.h"
#include "Reference.h"

#include "gtest/gtest.h"

using namespace shunt::rt;
using namespace shunt::rt::test;

namespace {

TEST(Kernels, CopiesAnySizeAndAlignment) {
  Random random(1);
  Bytes source = random.rows(20000, SHUNT_F8E4M3);
  for (bool streaming : {false, true})
    for (int64_t size : {0, 1, 63, 64, 4095, 4096, 4097, 4159, 16384, 19000})
      for (int64_t from : {0, 1, 17})
        for (int64_t to : {0, 1, 48, 63}) {
          Bytes target(20000, 0xab), expected = target;
          std::copy_n(source.begin() + from, size, expected.begin() + to);
          copyBytes(target.data() + to, source.data() + from, size, streaming);
          ASSERT_EQ(target, expected)
              << size << " bytes from " << from << " to " << to;
        }
}

TEST(Kernels, CopyOntoItselfDoesNothing) {
  Bytes bytes(10000, 3), expected = bytes;
  copyBytes(bytes.data(), bytes.data(), bytes.size(), true);
  EXPECT_EQ(bytes, expected);
}

// Rows of callers may start anywhere, and sizes are not those of vectors.
TEST(Kernels, SumsUnalignedRows) {
  Random random(2);
  for (shunt_dtype dtype : summedDtypes)
    for (int64_t elems : {1, 7, 1023, 1024, 1025, 3000}) {
      std::vector<Bytes> inputs;
      for (int i = 0; i < 5; ++i)
        inputs.push_back(random.rows(elems, dtype));
      Bytes expected = sumOf(inputs, dtype);
      std::vector<const void *> sources;
      for (Bytes &input : inputs) {
        input.insert(input.begin(), 0);
        sources.push_back(input.data() + 1);
      }
      Bytes out(expected.size() + 1);
      sumRows(out.data() + 1, sources.data(), 5, elems, dtype);
      out.erase(out.begin());
      ASSERT_EQ(out, expected) << "dtype " << dtype << ", " << elems;
    }
}

TEST(Kernels, IntegersWrap) {
  int32_t a = INT32_MAX, b = 2, sum = 0;
  const void *sources[] = {&a, &b};
  sumRows(&sum, sources, 2, 1, SHUNT_I32);
  EXPECT_EQ(sum, INT32_MIN + 1);
  int64_t c = INT64_MIN, d = -1, wide = 0;
  const void *wideSources[] = {&c, &d};
  sumRows(&wide, wideSources, 2, 1, SHUNT_I64);
  EXPECT_EQ(wide, INT64_MAX);
}

TEST(Kernels, RoundsOnceAtTheEnd) {
  // 256 ones are 256; in bf16 steps the sum would stick at 256 anyway, but
  // 256 + 1 + 1 is 258 only if no step rounds.
  uint16_t big = 0x4380, one = 0x3f80, sum = 0;
  const void *sources[] = {&big, &one, &one};
  sumRows(&sum, sources, 3, 1, SHUNT_BF16);
  EXPECT_EQ(decode(sum, bf16Format), 258);
}

TEST(Kernels, SlicesTileWithoutOverlap) {
  for (int64_t elems : {int64_t(0), int64_t(1), int64_t(63), int64_t(64),
                        int64_t(65), int64_t(1000), INT64_MAX - 1, INT64_MAX})
    for (int64_t n : {1, 2, 3, 8, 11}) {
      int64_t at = 0;
      for (int64_t i = 0; i < n; ++i) {
        Slice slice = sliceOf(elems, n, i);
        ASSERT_EQ(slice.begin, at);
        ASSERT_LE(slice.begin, slice.end);
        ASSERT_TRUE(slice.end % 64 == 0 || slice.end == elems);
        at = slice.end;
      }
      ASSERT_EQ(at, elems);
    }
}

} // namespace
