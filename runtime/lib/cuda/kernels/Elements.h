//===- Elements.h - Words of rows, and the elements in them ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SHUNT_RUNTIME_CUDA_KERNELS_ELEMENTS_H
#define SHUNT_RUNTIME_CUDA_KERNELS_ELEMENTS_H

#include "Device.h"

#include "Convert.h"

#ifndef SHUNT_SIMT
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace shunt::rt::cuda {

// Each element type: how it is stored, and its value in what it is summed in.
// Devices convert 16-bit floats by an instruction with the same result.
struct F32 {
  using Storage = uint32_t;
  using Sum = float;
  __device__ static float load(uint32_t bits) { return floatOf(bits); }
  __device__ static uint32_t store(float value) { return bitsOf(value); }
};
struct Bf16 {
  using Storage = uint16_t;
  using Sum = float;
  __device__ static float load(uint16_t bits) { return bf16ToF32(bits); }
  __device__ static uint16_t store(float value) {
#ifdef SHUNT_SIMT
    return f32ToBf16(value);
#else
    return __bfloat16_as_ushort(__float2bfloat16_rn(value));
#endif
  }
};
struct F16 {
  using Storage = uint16_t;
  using Sum = float;
  __device__ static float load(uint16_t bits) {
#ifdef SHUNT_SIMT
    return f16ToF32(bits);
#else
    return __half2float(__ushort_as_half(bits));
#endif
  }
  __device__ static uint16_t store(float value) {
#ifdef SHUNT_SIMT
    return f32ToF16(value);
#else
    return __half_as_ushort(__float2half_rn(value));
#endif
  }
};
template <typename T> struct Integer {
  using Storage = T;
  using Sum = T;
  __device__ static T load(T value) { return value; }
  __device__ static T store(T value) { return value; }
};
using I32 = Integer<uint32_t>;
using I64 = Integer<uint64_t>;

/// sum + a · b, each rounded: a fused one would have other bits than the CPU's.
__device__ inline float addProduct(float sum, float a, float b) {
#ifdef SHUNT_SIMT
  return sum + a * b;
#else
  return __fadd_rn(sum, __fmul_rn(a, b));
#endif
}

/// A word that nothing writes while the kernel runs.
template <typename Word> __device__ inline Word loadWord(const Word *word) {
  return __ldg(word);
}

/// The elements of a word, which is 16 bytes or one element.
template <typename T, typename Word> struct Elements {
  static constexpr int count = sizeof(Word) / sizeof(typename T::Storage);
  using Sum = typename T::Sum;

  __device__ static void load(Sum *out, const Word &word) {
    if constexpr (count == 1) {
      out[0] = T::load(static_cast<typename T::Storage>(word));
    } else {
      const uint32_t parts[4] = {word.x, word.y, word.z, word.w};
#pragma unroll
      for (int i = 0; i < 4; ++i)
        loadPart(out + i * count / 4, parts, i);
    }
  }

  __device__ static Word store(const Sum *in) {
    if constexpr (count == 1) {
      return T::store(in[0]);
    } else {
      uint32_t parts[4] = {};
#pragma unroll
      for (int i = 0; i < 4; ++i)
        storePart(parts, i, in + i * count / 4);
      return {parts[0], parts[1], parts[2], parts[3]};
    }
  }

private:
  // A part is 4 bytes: two elements, one, or half of one.
  __device__ static void loadPart(Sum *out, const uint32_t *parts, int i) {
    if constexpr (count == 8) {
      out[0] = T::load(static_cast<uint16_t>(parts[i]));
      out[1] = T::load(static_cast<uint16_t>(parts[i] >> 16));
    } else if constexpr (count == 4) {
      out[0] = T::load(parts[i]);
    } else if (i % 2) {
      out[0] = T::load(static_cast<uint64_t>(parts[i]) << 32 | parts[i - 1]);
    }
  }
  __device__ static void storePart(uint32_t *parts, int i, const Sum *in) {
    if constexpr (count == 8)
      parts[i] = T::store(in[0]) | static_cast<uint32_t>(T::store(in[1])) << 16;
    else if constexpr (count == 4)
      parts[i] = T::store(in[0]);
    else
      parts[i] = static_cast<uint32_t>(T::store(in[0]) >> (i % 2 ? 32 : 0));
  }
};

/// Words that are copied.
template <typename W> struct Copied {
  using Word = W;
  struct Value {
    Word word;
  };
  __device__ static Value load(const Word *in) { return {loadWord(in)}; }
  __device__ static Word scaled(const Value &value, float) {
    return value.word;
  }
};

/// Words whose elements are multiplied by a score.
template <typename T, typename W> struct Scaled {
  using Word = W;
  using Of = Elements<T, W>;
  struct Value {
    float elems[Of::count];
  };
  __device__ static Value load(const Word *in) {
    Value value;
    Of::load(value.elems, loadWord(in));
    return value;
  }
  __device__ static Word scaled(const Value &value, float score) {
    float products[Of::count];
#pragma unroll
    for (int i = 0; i < Of::count; ++i)
      products[i] = value.elems[i] * score;
    return Of::store(products);
  }
};

inline bool isFloat(shunt_dtype dtype) {
  return dtype == SHUNT_F32 || dtype == SHUNT_BF16 || dtype == SHUNT_F16;
}
inline int64_t bytesOf(shunt_dtype dtype) {
  switch (dtype) {
  case SHUNT_BF16:
  case SHUNT_F16:
    return 2;
  case SHUNT_I64:
    return 8;
  case SHUNT_F8E4M3:
    return 1;
  default:
    return 4;
  }
}

/// Whether rows of so many bytes that start there can move in 16-byte words.
inline bool isWide(int64_t rowBytes) { return rowBytes % 16 == 0; }
template <typename... Pointers>
bool isWide(int64_t rowBytes, const void *pointer, Pointers... others) {
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0 &&
         isWide(rowBytes, others...);
}

/// Calls `body` with a Copied of the widest word that a row of so many elements
/// is made of.
template <typename Body>
Status withCopied(bool wide, int64_t elemBytes, Body body) {
  if (wide)
    return body(Copied<uint4>());
  switch (elemBytes) {
  case 1:
    return body(Copied<uint8_t>());
  case 2:
    return body(Copied<uint16_t>());
  case 8:
    return body(Copied<uint64_t>());
  default:
    return body(Copied<uint32_t>());
  }
}

/// Calls `body` with the type of floats.
template <typename Body> Status withFloat(shunt_dtype dtype, Body body) {
  switch (dtype) {
  case SHUNT_F32:
    return body(F32());
  case SHUNT_BF16:
    return body(Bf16());
  case SHUNT_F16:
    return body(F16());
  default:
    return invalidValue;
  }
}

/// Calls `body` with a Copied, or with a Scaled if rows have scores.
template <typename Body>
Status withMoved(bool wide, bool scored, shunt_dtype dtype, Body body) {
  if (!scored)
    return withCopied(wide, bytesOf(dtype), body);
  return withFloat(dtype, [&](auto type) {
    using T = decltype(type);
    if (wide)
      return body(Scaled<T, uint4>());
    return body(Scaled<T, typename T::Storage>());
  });
}

} // namespace shunt::rt::cuda

#endif // SHUNT_RUNTIME_CUDA_KERNELS_ELEMENTS_H
