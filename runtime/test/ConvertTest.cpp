//===- ConvertTest.cpp - 16-bit floats, every value
//------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Convert.h"
#include "Reference.h"

#include "gtest/gtest.h"

using namespace shunt::rt;
using namespace shunt::rt::test;

namespace {

struct Codec {
  const char *name;
  Format format;
  float (*widen)(uint16_t);
  uint16_t (*narrow)(float);
  /// The pattern of infinity.
  uint16_t infinity;
};
const Codec codecs[] = {{"bf16", bf16Format, bf16ToF32, f32ToBf16, 0x7f80},
                        {"f16", f16Format, f16ToF32, f32ToF16, 0x7c00}};

class Convert : public ::testing::TestWithParam<Codec> {};

TEST_P(Convert, WidensEveryValueExactly) {
  const Codec &codec = GetParam();
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float value = codec.widen(bits);
    double expected = decode(bits, codec.format);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << std::hex << bits;
      continue;
    }
    ASSERT_EQ(value, expected) << std::hex << bits;
    ASSERT_EQ(std::signbit(value), bits >= 0x8000) << std::hex << bits;
  }
}

TEST_P(Convert, NarrowsEveryValueBack) {
  const Codec &codec = GetParam();
  uint16_t quiet = 1 << (codec.format.fractionBits - 1);
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    bool isNan = (bits & 0x7fff) > codec.infinity;
    ASSERT_EQ(codec.narrow(codec.widen(bits)), isNan ? bits | quiet : bits)
        << std::hex << bits;
  }
}

// Between each two neighbours: the middle, and the floats next to it and to the
// neighbours themselves.
TEST_P(Convert, RoundsToNearestEven) {
  const Codec &codec = GetParam();
  auto check = [&](float value) {
    ASSERT_EQ(codec.narrow(value), encode(value, codec.format))
        << std::hexfloat << value;
    ASSERT_EQ(codec.narrow(-value), encode(-value, codec.format))
        << std::hexfloat << -value;
  };
  for (uint32_t bits = 0; bits < codec.infinity; ++bits) {
    double low = decode(bits, codec.format);
    double high =
        bits + 1 == codec.infinity
            ? 2 * decode(bits & ~((1 << codec.format.fractionBits) - 1),
                         codec.format)
            : decode(bits + 1, codec.format);
    float middle = static_cast<float>(low + (high - low) / 2);
    for (float value :
         {static_cast<float>(low), std::nextafter(float(low), INFINITY),
          std::nextafter(middle, 0.0f), middle,
          std::nextafter(middle, INFINITY),
          std::nextafter(static_cast<float>(high), 0.0f)})
      check(value);
  }
  check(std::numeric_limits<float>::max());
  check(std::numeric_limits<float>::min());
  check(std::numeric_limits<float>::denorm_min());
  check(INFINITY);
}

TEST_P(Convert, KeepsNansNans) {
  const Codec &codec = GetParam();
  // Fractions that would vanish, or carry into the sign, if merely rounded.
  for (uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xff800001u, 0xffffffffu,
                        0x7fc00000u, 0x7f80ffffu}) {
    uint16_t narrow = codec.narrow(floatOf(bits));
    EXPECT_GT(narrow & 0x7fff, codec.infinity) << std::hex << bits;
    EXPECT_EQ(narrow >> 15, bits >> 31) << std::hex << bits;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Convert, ::testing::ValuesIn(codecs),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

} // namespace
