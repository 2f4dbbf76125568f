//===- RowsTest.cpp - Kernels that move and add up rows -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelMoe.h"

#include "Convert.h"
#include "Kernels.h"
#include "moe/RowKernels.h"

#include <cmath>
#include <sys/mman.h>

using namespace shunt::rt;
using namespace shunt::rt::test;

namespace {

constexpr shunt_dtype floats[] = {SHUNT_F32, SHUNT_BF16, SHUNT_F16};

/// Places of all slots in one buffer, some dropped, in any order.
Ints randomPlaces(Random &random, int64_t slots) {
  Ints rows;
  for (int64_t i = 0; i < slots; ++i)
    rows.push_back(i);
  for (int64_t i = 0; i < slots; ++i)
    std::swap(rows[i], rows[random.draw(0, slots - 1)]);
  for (int64_t &row : rows)
    if (random.draw(0, 5) == 0)
      row = -1;
  return rows;
}

/// A buffer whose rows start `shift` bytes after a multiple of 16.
struct Shifted {
  Shifted(const Bytes &bytes, int64_t shift) : all(shift + bytes.size(), 0xa5) {
    std::copy(bytes.begin(), bytes.end(), all.begin() + shift);
    data = all.data() + shift;
  }
  Bytes bytes() const {
    return Bytes(all.begin() + (data - all.data()), all.end());
  }
  Bytes all;
  uint8_t *data;
};

// More choices than lanes, rows longer than a warp's piece, every alignment.
TEST(Rows, DispatchAndCombineOfManyChoices) {
  Random random(1);
  setResidentBlocks(3);
  for (shunt_dtype dtype : floats)
    for (int64_t elems : {1, 8, 64, 520, 1100, 1104})
      for (int64_t topK : {1, 8, 9, 33, 70}) {
        int64_t size = shunt_dtype_size(dtype), tokens = 3;
        int64_t shift = random.draw(0, 1) * 4, slots = tokens * topK;
        Shifted in(random.rows(tokens * elems, dtype), shift);
        Shifted rows(Bytes(slots * elems * size, 0xa5), shift);
        Bytes want = rows.bytes();
        Ints places = randomPlaces(random, slots);
        std::vector<float> scores;
        for (int64_t i = 0; i < slots; ++i)
          scores.push_back(float(random.draw(-64, 64)) / 16);
        bool scored = random.draw(0, 1);
        cuda::DispatchCall call = {};
        call.in = in.data;
        call.tokens = tokens;
        call.topK = topK;
        call.rowElems = elems;
        call.dtype = dtype;
        call.scores = scored ? scores.data() : nullptr;
        call.to.buffers.one = rows.data;
        call.to.row = places.data();
        ASSERT_EQ(ended(cuda::dispatchRows(call, nullptr)), 0);
        for (int64_t slot = 0; slot < slots; ++slot) {
          if (places[slot] < 0)
            continue;
          auto from =
              reinterpret_cast<char *>(in.data) + slot / topK * elems * size;
          auto to = reinterpret_cast<char *>(want.data()) +
                    places[slot] * elems * size;
          if (scored)
            scaleRow(to, from, scores[slot], elems, dtype, Write::Cached);
          else
            copyRow(to, from, elems * size, Write::Cached);
        }
        ASSERT_EQ(rows.bytes(), want) << elems << " of type " << dtype;

        Shifted out(Bytes(tokens * elems * size, 0xa5), shift);
        Shifted bias(random.rows(tokens * elems, dtype), shift);
        cuda::CombineCall sum = {};
        sum.from = call.to;
        sum.weights = scored ? nullptr : scores.data();
        sum.bias = random.draw(0, 1) ? bias.data : nullptr;
        sum.out = out.data;
        sum.tokens = tokens;
        sum.topK = topK;
        sum.rowElems = elems;
        sum.dtype = dtype;
        ASSERT_EQ(ended(cuda::combineRows(sum, nullptr)), 0);
        Bytes sums(out.bytes().size());
        for (int64_t token = 0; token < tokens; ++token) {
          std::vector<const char *> terms;
          std::vector<float> weights;
          for (int64_t slot = token * topK; slot < (token + 1) * topK; ++slot)
            if (places[slot] >= 0) {
              terms.push_back(reinterpret_cast<char *>(rows.data) +
                              places[slot] * elems * size);
              weights.push_back(scores[slot]);
            }
          Summands summands;
          summands.rows = terms.data();
          summands.weights = scored ? nullptr : weights.data();
          summands.count = terms.size();
          summands.dtype = dtype;
          int64_t at = token * elems * size;
          sumRow(reinterpret_cast<char *>(sums.data()) + at, dtype, summands,
                 sum.bias ? reinterpret_cast<char *>(bias.data) + at : nullptr,
                 dtype, elems, Write::Cached);
        }
        ASSERT_EQ(out.bytes(), sums)
            << elems << " of type " << dtype << ", top " << topK;
      }
}

TEST(Rows, GathersReadTheirNumberOnTheDevice) {
  Random random(2);
  for (shunt_dtype dtype : movedDtypes)
    for (int64_t elems : {1, 3, 16, 400}) {
      int64_t size = shunt_dtype_size(dtype), inRows = 5, most = 9;
      Bytes in = random.rows(inRows * elems, dtype);
      Ints from;
      for (int64_t i = 0; i < most; ++i)
        from.push_back(random.draw(-1, inRows - 1));
      std::vector<float> scores(most, 0.5f);
      bool scored = dtype <= SHUNT_F16;
      Ints number(1);
      for (int64_t rows : {0, 4, 9, 20}) {
        number[0] = rows;
        Bytes out(most * elems * size, 0xa5), want = out;
        cuda::GatherCall call = {
            in.data(),     out.data(),
            from.data(),   most,
            number.data(), elems,
            dtype,         scored ? scores.data() : nullptr};
        ASSERT_EQ(ended(cuda::gatherRows(call, nullptr)), 0);
        for (int64_t row = 0; row < std::min(rows, most); ++row) {
          auto to = reinterpret_cast<char *>(&want[row * elems * size]);
          std::fill_n(to, elems * size, 0);
          if (from[row] < 0)
            continue;
          auto source =
              reinterpret_cast<const char *>(&in[from[row] * elems * size]);
          if (scored)
            scaleRow(to, source, 0.5f, elems, dtype, Write::Cached);
          else
            std::copy_n(source, elems * size, to);
        }
        ASSERT_EQ(out, want) << elems << " of type " << dtype;
      }
    }
}

TEST(Rows, SumsHaveTheHostsBits) {
  Random random(3);
  for (shunt_dtype dtype : summedDtypes)
    for (int64_t elems : {0, 1, 7, 64, 333})
      for (int64_t buffers : {1, 2, 9, 10, 20}) {
        int64_t size = shunt_dtype_size(dtype);
        // Wide words, and a tail, where the stride is a multiple of 16.
        int64_t stride = (elems + random.draw(0, 1) * 3) * size;
        if (random.draw(0, 1))
          stride = (stride + 15) / 16 * 16;
        Bytes in = random.rows(buffers * stride / size, dtype);
        std::vector<const void *> sources;
        for (int64_t i = 0; i < buffers; ++i)
          sources.push_back(in.data() + i * stride);
        Bytes out(elems * size, 0xa5), want = out;
        sumRows(want.data(), sources.data(), buffers, elems, dtype);
        cuda::SumCall call = {in.data(),  buffers, stride,
                              out.data(), elems,   dtype};
        ASSERT_EQ(ended(cuda::sumBuffers(call, nullptr)), 0);
        ASSERT_EQ(out, want) << elems << " of type " << dtype;
        // In place.
        call.out = in.data();
        ASSERT_EQ(ended(cuda::sumBuffers(call, nullptr)), 0);
        in.resize(elems * size);
        ASSERT_EQ(in, want);
      }
}

TEST(Rows, CallsThatNoKernelServesFail) {
  cuda::OrderCall order = {};
  order.instances = cuda::mostInstances + 1;
  EXPECT_NE(cuda::orderSlots(order, nullptr, nullptr), 0);
  float value = 1;
  cuda::SumCall sum = {&value, 0, 4, &value, 1, SHUNT_F32};
  EXPECT_NE(cuda::sumBuffers(sum, nullptr), 0);
  sum.buffers = 1;
  sum.dtype = SHUNT_F8E4M3;
  EXPECT_NE(cuda::sumBuffers(sum, nullptr), 0);
  cuda::CombineCall combine = {};
  combine.dtype = SHUNT_I32;
  EXPECT_NE(cuda::combineRows(combine, nullptr), 0);
  cuda::DispatchCall dispatch = {};
  dispatch.dtype = SHUNT_F8E4M3;
  dispatch.scores = &value;
  EXPECT_NE(cuda::dispatchRows(dispatch, nullptr), 0);
  EXPECT_NE(cuda::dispatchQuantised(dispatch, cuda::Float8::E4M3, {}, nullptr),
            0);
}

#ifdef SHUNT_SIMT
// A buffer of 6 GiB, of which only what is touched is there: rows and elements
// beyond what 32 bits count.
TEST(Rows, OffsetsHave64Bits) {
  const int64_t bytes = int64_t(6) << 30, elems = 8, tokens = 2;
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Random random(5);
  Bytes in = random.rows(tokens * elems, SHUNT_BF16), out(in.size());
  // Of 16 bytes each.
  const Ints places = {(int64_t(5) << 26) + 3, (int64_t(3) << 27) - 1};
  cuda::DispatchCall dispatch = {in.data(),  tokens,  1, elems,
                                 SHUNT_BF16, nullptr, {}};
  dispatch.to.buffers.one = memory;
  dispatch.to.row = places.data();
  ASSERT_EQ(cuda::dispatchRows(dispatch, nullptr), 0);
  cuda::CombineCall combine = {};
  combine.from = dispatch.to;
  combine.out = out.data();
  combine.tokens = tokens;
  combine.topK = 1;
  combine.rowElems = elems;
  combine.dtype = SHUNT_BF16;
  ASSERT_EQ(cuda::combineRows(combine, nullptr), 0);
  EXPECT_EQ(out, in);
  cuda::GatherCall gather = {memory,  out.data(), places.data(), tokens,
                             nullptr, elems,      SHUNT_BF16,    nullptr};
  std::fill(out.begin(), out.end(), 0);
  ASSERT_EQ(cuda::gatherRows(gather, nullptr), 0);
  EXPECT_EQ(out, in);
  const Ints prefix = {0, 1, 2}, to = {1, 0};
  cuda::MoveCall move = {
      memory, out.data(), {2, prefix.data(), places.data(), to.data()}, 2, 16,
      0,      0};
  ASSERT_EQ(cuda::moveSegments(move, nullptr), 0);
  std::rotate(out.begin(), out.begin() + 16, out.end());
  EXPECT_EQ(out, in);
  munmap(memory, bytes);
}
#endif

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

// Rows that do not fit are left out and reported, and no buffer is overrun.
TEST(Bounds, RowsBeyondThemAreDropped) {
  const std::vector<int64_t> counts = {2, 3, 1, 4}; // 2 sources, 2 instances
  const std::vector<int32_t> firstOf = {0, 1, 2}, rankOf = {0, 1};
  Ints starts(4), sums(2), padded(2), rows(2);
  std::vector<int32_t> flag(1);
  int32_t &overflow = flag[0];
  cuda::ArrangeCall arrange = {counts.data(),
                               2,
                               2,
                               firstOf.data(),
                               true,
                               4,
                               false,
                               7,
                               starts.data(),
                               sums.data(),
                               padded.data(),
                               rows.data(),
                               &overflow};
  ASSERT_EQ(ended(cuda::arrangeRows(arrange, nullptr)), 0);
  EXPECT_EQ(rows, Ints({4, 8}));
  EXPECT_EQ(padded, Ints({4, 8}));
  EXPECT_EQ(sums, Ints({3, 7}));
  EXPECT_EQ(starts, Ints({0, 0, 2, 3}));
  EXPECT_EQ(overflow, 1);
  overflow = 0;
  arrange.bound = 8;
  ASSERT_EQ(ended(cuda::arrangeRows(arrange, nullptr)), 0);
  EXPECT_EQ(overflow, 0);

  // The second source: a row for rank 0, four for rank 1 at rows 3 to 6.
  const std::vector<int32_t> instanceOf = {1, 0, 1, 1, 1};
  const Ints rowOf = {1, 0, 2, 3, 4}, firstRows = {0, 1, 5};
  std::vector<int32_t> placeRank(5);
  Ints placeRow(5);
  cuda::PlaceCall place = {
      instanceOf.data(), rowOf.data(),  5, firstRows.data(),
      &starts[2],        rankOf.data(), 5, placeRank.data(),
      placeRow.data(),   &overflow};
  ASSERT_EQ(ended(cuda::placeSlots(place, nullptr)), 0);
  EXPECT_EQ(placeRow, Ints({3, 2, 4, -1, -1}));
  EXPECT_EQ(placeRank, std::vector<int32_t>({1, 0, 1, -1, -1}));
  EXPECT_EQ(overflow, 1);

  // Padding of an expert that is cut off.
  Bytes buffer(5 * 3, 0xa5);
  const Ints at = {0, 4}, full = {2, 1}, to = {4, 8};
  cuda::ZeroCall zero = {buffer.data(), 3, at.data(), full.data(),
                         to.data(),     2, 5};
  ASSERT_EQ(ended(cuda::zeroPadding(zero, nullptr)), 0);
  Bytes want(15, 0xa5);
  std::fill(want.begin() + 6, want.begin() + 12, 0);
  EXPECT_EQ(buffer, want);

  // Segments that reach beyond.
  const Ints prefix = {0, 2, 2, 6}, from = {0, 0, 1}, target = {3, 0, 0};
  Bytes in = {10, 11, 12}, out(5, 0xa5);
  cuda::MoveCall move = {
      in.data(), out.data(), {3, prefix.data(), from.data(), target.data()},
      6,         1,          3,
      4};
  ASSERT_EQ(ended(cuda::moveSegments(move, nullptr)), 0);
  EXPECT_EQ(out, Bytes({11, 12, 0xa5, 10, 0xa5}));
}

//===----------------------------------------------------------------------===//
// 8-bit rows
//===----------------------------------------------------------------------===//

/// The value of an 8-bit pattern, from the definition.
double valueOf8(int bits, bool isE4M3) {
  int fractionBits = isE4M3 ? 3 : 2, bias = isE4M3 ? 7 : 15;
  int exponent = (bits & 0x7f) >> fractionBits;
  int fraction = bits & ((1 << fractionBits) - 1);
  double sign = bits & 0x80 ? -1 : 1;
  if (isE4M3 && (bits & 0x7f) == 0x7f)
    return NAN;
  if (!isE4M3 && exponent == 31)
    return fraction ? NAN : sign * INFINITY;
  if (exponent == 0)
    return sign * std::ldexp(fraction, 1 - bias - fractionBits);
  return sign * std::ldexp(fraction + (1 << fractionBits),
                           exponent - bias - fractionBits);
}

uint8_t toF8(float value, bool isE4M3) {
  return isE4M3 ? f32ToF8E4M3(value) : f32ToF8E5M2(value);
}

TEST(Float8, EveryPatternAndWhatLiesBetween) {
  for (bool isE4M3 : {true, false}) {
    int largest = isE4M3 ? 0x7e : 0x7b;
    EXPECT_EQ(valueOf8(largest, isE4M3),
              isE4M3 ? f8E4M3Largest : f8E5M2Largest);
    for (int bits = 0; bits <= largest; ++bits) {
      double value = valueOf8(bits, isE4M3);
      ASSERT_EQ(toF8(float(value), isE4M3), bits);
      ASSERT_EQ(toF8(float(-value), isE4M3), bits | 0x80);
      // The next pattern's value; after the last, what it would be.
      double next = bits < largest ? valueOf8(bits + 1, isE4M3)
                    : isE4M3       ? 480
                                   : 65536;
      float middle = float((value + next) / 2);
      int even = bits % 2 ? bits + 1 : bits;
      ASSERT_EQ(toF8(middle, isE4M3), even) << middle;
      ASSERT_EQ(toF8(std::nextafter(middle, 0.0f), isE4M3), bits);
      ASSERT_EQ(toF8(std::nextafter(middle, 1e9f), isE4M3), bits + 1);
    }
    EXPECT_TRUE(std::isnan(valueOf8(toF8(NAN, isE4M3), isE4M3)));
    double infinite = valueOf8(toF8(-INFINITY, isE4M3), isE4M3);
    EXPECT_TRUE(isE4M3 ? std::isnan(infinite) : infinite == -INFINITY);
    EXPECT_EQ(valueOf8(toF8(3e38f, isE4M3), isE4M3) > 1e9, !isE4M3);
  }
}

/// What dispatchQuantised must write for a token: bytes and scales.
void quantiseToken(const float *in, int64_t elems, bool isE4M3, uint8_t *bytes,
                   std::vector<float> &scales) {
  for (int64_t begin = 0; begin < elems; begin += 128) {
    int64_t end = std::min(begin + 128, elems);
    float most = 0;
    for (int64_t i = begin; i < end; ++i)
      if (std::isfinite(in[i]))
        most = std::max(most, std::fabs(in[i]));
    float scale = most == 0 ? 1 : most / (isE4M3 ? 448.0f : 57344.0f);
    scale = std::max(scale, std::ldexp(1.0f, -126));
    scales.push_back(scale);
    for (int64_t i = begin; i < end; ++i)
      bytes[i] = toF8(in[i] / scale, isE4M3);
  }
}

TEST(Float8, RowsWithAScaleForEach128) {
  Random random(4);
  setResidentBlocks(2);
  for (shunt_dtype dtype : floats)
    for (bool isE4M3 : {true, false})
      for (int64_t elems : {1, 16, 127, 128, 144, 520, 1040}) {
        int64_t tokens = 3, topK = 2, slots = tokens * topK;
        int64_t groups = (elems + 127) / 128, size = shunt_dtype_size(dtype);
        Bytes in = random.rows(tokens * elems, dtype);
        // Zeros, numbers that are none, and some that are almost zero.
        if (elems > 100)
          for (int64_t i = 0; i < 128 && i < elems; ++i)
            writeElem(in, i, i == 3 ? NAN : i == 5 ? -INFINITY : 0, dtype);
        for (int64_t i = 128; i < std::min<int64_t>(elems, 256); ++i)
          writeElem(in, i, std::ldexp(1.0f, dtype == SHUNT_F16 ? -24 : -130),
                    dtype);
        Ints places = randomPlaces(random, slots);
        std::vector<float> factors;
        for (int64_t i = 0; i < slots; ++i)
          factors.push_back(float(random.draw(1, 9)));
        bool scored = random.draw(0, 1);
        Bytes rows(slots * elems, 0xa5), want = rows;
        std::vector<float> scales(slots * groups, -1), wantScales = scales;
        cuda::DispatchCall call = {};
        call.in = in.data();
        call.tokens = tokens;
        call.topK = topK;
        call.rowElems = elems;
        call.dtype = dtype;
        call.scores = scored ? factors.data() : nullptr;
        call.to.buffers.one = rows.data();
        call.to.row = places.data();
        cuda::Buffers scaleRows;
        scaleRows.one = scales.data();
        ASSERT_EQ(ended(cuda::dispatchQuantised(
                      call, isE4M3 ? cuda::Float8::E4M3 : cuda::Float8::E5M2,
                      scaleRows, nullptr)),
                  0);
        for (int64_t token = 0; token < tokens; ++token) {
          std::vector<float> values(elems), tokenScales;
          loadElems(values.data(),
                    reinterpret_cast<char *>(&in[token * elems * size]), elems,
                    dtype);
          Bytes bytes(elems);
          quantiseToken(values.data(), elems, isE4M3, bytes.data(),
                        tokenScales);
          for (int64_t slot = token * topK; slot < (token + 1) * topK; ++slot) {
            if (places[slot] < 0)
              continue;
            std::copy(bytes.begin(), bytes.end(),
                      want.begin() + places[slot] * elems);
            for (int64_t i = 0; i < groups; ++i)
              wantScales[places[slot] * groups + i] =
                  tokenScales[i] * (scored ? factors[slot] : 1);
          }
        }
        ASSERT_EQ(rows, want) << elems << " of type " << dtype;
        ASSERT_EQ(scales, wantScales) << elems << " of type " << dtype;
      }
}

/// To the buffers of two ranks, rows and scales alike.
TEST(Float8, RowsOfSeveralRanks) {
  const int64_t elems = 256;
  Bytes in(2 * elems * 4);
  for (int64_t i = 0; i < 2 * elems; ++i)
    writeElem(in, i, float(i < elems ? 448 : 896), SHUNT_F32);
  Bytes rows[2] = {Bytes(2 * elems, 0xa5), Bytes(3 * elems, 0xa5)};
  std::vector<float> scales[2] = {std::vector<float>(4, -1),
                                  std::vector<float>(6, -1)};
  std::vector<void *> rowTable = {rows[0].data(), rows[1].data()};
  std::vector<void *> scaleTable = {scales[0].data(), scales[1].data()};
  const std::vector<int32_t> rank = {1, 0, -1, 1};
  const Ints row = {2, 0, -1, 0};
  cuda::DispatchCall call = {in.data(), 2, 2, elems, SHUNT_F32, nullptr, {}};
  call.to.buffers.perRank = rowTable.data();
  call.to.rank = rank.data();
  call.to.row = row.data();
  cuda::Buffers scaleRows;
  scaleRows.perRank = scaleTable.data();
  ASSERT_EQ(ended(cuda::dispatchQuantised(call, cuda::Float8::E4M3, scaleRows,
                                          nullptr)),
            0);
  EXPECT_EQ(scales[0], std::vector<float>({1, 1, -1, -1}));
  EXPECT_EQ(scales[1], std::vector<float>({2, 2, -1, -1, 1, 1}));
  auto count = [](const Bytes &bytes, uint8_t value) {
    return std::count(bytes.begin(), bytes.end(), value);
  };
  EXPECT_EQ(count(rows[0], 0x7e), elems);
  EXPECT_EQ(count(rows[1], 0x7e), 2 * elems);
  EXPECT_EQ(count(rows[1], 0xa5), elems);
}

} // namespace
