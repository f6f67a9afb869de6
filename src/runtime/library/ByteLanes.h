// Vectors for int8 dot products, in two widths: the kernels are written once over either.
#pragma once

#if defined(__x86_64__)
#include <cstdint>
#include <immintrin.h>

#define HEADRACE_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

namespace headrace::bytes {
namespace { // inlined if the instructions are known to be there

/// A vector of the sums of `columns` columns; four bytes of each column are accumulated at a time.
template <int columns> struct Lanes;

#define HEADRACE_LANES __attribute__((always_inline)) HEADRACE_VNNI static

/// Sums of 16 columns, in AVX-512.
template <> struct Lanes<16> {
  using Vector = __m512i;
  using Mask = __mmask16;
  HEADRACE_LANES Vector zero() { return _mm512_setzero_si512(); }
  HEADRACE_LANES Vector repeated(int32_t four) { return _mm512_set1_epi32(four); }
  HEADRACE_LANES Vector load(const void *from) { return _mm512_loadu_si512(from); }
  HEADRACE_LANES Vector load(Mask mask, const void *from) {
    return _mm512_maskz_loadu_epi32(mask, from);
  }
  HEADRACE_LANES void store(void *to, Vector vector) { _mm512_storeu_si512(to, vector); }
  HEADRACE_LANES void store(Mask mask, void *to, Vector vector) {
    _mm512_mask_storeu_epi32(to, mask, vector);
  }
  HEADRACE_LANES Vector flipped(Vector bytes) {
    return _mm512_xor_si512(bytes, _mm512_set1_epi8(static_cast<char>(0x80)));
  }
  HEADRACE_LANES Vector add(Vector a, Vector b) { return _mm512_add_epi32(a, b); }
  HEADRACE_LANES Vector addProducts(Vector sums, Vector unsignedBytes, Vector signedBytes) {
    return _mm512_dpbusd_epi32(sums, unsignedBytes, signedBytes);
  }
};

/// Sums of 8 columns, in AVX2.
template <> struct Lanes<8> {
  using Vector = __m256i;
  using Mask = __mmask8;
  HEADRACE_LANES Vector zero() { return _mm256_setzero_si256(); }
  HEADRACE_LANES Vector repeated(int32_t four) { return _mm256_set1_epi32(four); }
  HEADRACE_LANES Vector load(const void *from) {
    return _mm256_loadu_si256(static_cast<const __m256i *>(from));
  }
  HEADRACE_LANES Vector load(Mask mask, const void *from) {
    return _mm256_maskz_loadu_epi32(mask, from);
  }
  HEADRACE_LANES void store(void *to, Vector vector) {
    _mm256_storeu_si256(static_cast<__m256i *>(to), vector);
  }
  HEADRACE_LANES void store(Mask mask, void *to, Vector vector) {
    _mm256_mask_storeu_epi32(to, mask, vector);
  }
  HEADRACE_LANES Vector flipped(Vector bytes) {
    return _mm256_xor_si256(bytes, _mm256_set1_epi8(static_cast<char>(0x80)));
  }
  HEADRACE_LANES Vector add(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
  HEADRACE_LANES Vector addProducts(Vector sums, Vector unsignedBytes, Vector signedBytes) {
    return _mm256_dpbusd_epi32(sums, unsignedBytes, signedBytes);
  }
};
#undef HEADRACE_LANES

} // namespace
} // namespace headrace::bytes
#endif
