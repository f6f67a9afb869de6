#include "runtime/library/Int8Epilogue.h"

#include "runtime/system/Rounding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace headrace {

namespace {

constexpr int64_t tableBytes = 256, readBehindTable = 4;

int64_t wholeColumns(int64_t columns) { return roundedUp(columns, bytes::panelColumns); }

/// The integer that is stored, with the zero point added.
int32_t rounded(float x, const ByteRounding &to) {
  float inside = std::min(std::max(x, to.low - to.zero), to.high - to.zero);
  return static_cast<int32_t>(std::nearbyint(inside)) + static_cast<int32_t>(to.zero);
}

} // namespace

Tensor Int8Epilogue::record() const {
  auto columns = static_cast<int64_t>(scales.size());
  Tensor result = Tensor::allocate(DType::I8, {Int8EpilogueWriter::recordBytes(form, columns)});
  auto *to = result.as<uint8_t>();
  std::memset(to, 0, result.bytes());
  auto put = [&](const void *from, size_t bytes, int64_t taken) {
    if (bytes > 0)
      std::memcpy(to, from, bytes);
    to += taken;
  };
  auto each = wholeColumns(columns) * int64_t{4};
  put(&head, sizeof(head), sizeof(head));
  put(addends.data(), addends.size() * 4, each);
  put(scales.data(), scales.size() * 4, each);
  if (form & Biased)
    put(biases.data(), biases.size() * 4, each);
  if (form & LooksUp)
    put(table.data(), table.size(), tableBytes);
  return result;
}

int64_t Int8EpilogueWriter::recordBytes(int64_t form, int64_t columns) {
  int64_t lists = form & Int8Epilogue::Biased ? 3 : 2;
  return static_cast<int64_t>(sizeof(Int8Epilogue::Head)) + lists * 4 * wholeColumns(columns) +
         (form & Int8Epilogue::LooksUp ? tableBytes + readBehindTable : 0);
}

Int8EpilogueWriter::Int8EpilogueWriter(const uint8_t *record, int64_t form, int64_t columns)
    : form(form) {
  std::memcpy(&head, record, sizeof(head));
  addend = reinterpret_cast<const int32_t *>(record + sizeof(head));
  scale = reinterpret_cast<const float *>(addend + wholeColumns(columns));
  bias = scale + wholeColumns(columns);
  const float *end = form & Int8Epilogue::Biased ? bias + wholeColumns(columns) : bias;
  table = reinterpret_cast<const uint8_t *>(end);
}

void Int8EpilogueWriter::finishPlainly(const int32_t *sums, int64_t apart, int64_t rows,
                                       int64_t column, int64_t columns,
                                       const uint8_t *const *others, uint8_t *const *to) const {
  const bool dividesLast = form & Int8Epilogue::ThroughByte || !(form & Int8Epilogue::Multiplies);
  for (int64_t r = 0; r < rows; ++r, sums += apart) {
    for (int64_t j = 0; j < columns; ++j) {
      float x = static_cast<float>(sums[j]) * scale[column + j];
      // Each operation is rounded: statements of their own are not contracted.
      if (form & Int8Epilogue::Biased)
        x += bias[column + j];
      if (form & Int8Epilogue::ThroughByte) {
        float quotient = form & Int8Epilogue::Multiplies ? x : x / head.inner.scale;
        auto byte = static_cast<float>(rounded(quotient, head.inner));
        x = (byte - head.inner.zero) * head.inner.scale;
      }
      if (addsOther()) {
        auto byte = static_cast<float>(form & Int8Epilogue::OtherIsUnsigned
                                           ? int32_t{others[r][j]}
                                           : int32_t{static_cast<int8_t>(others[r][j])});
        float other = (byte - head.otherZero) * head.otherScale;
        x += other;
      }
      if (dividesLast)
        x = x / head.result.scale;
      to[r][j] = static_cast<uint8_t>(rounded(x, head.result));
    }
    for (int64_t j = 0; form & Int8Epilogue::LooksUp && j < columns; ++j)
      to[r][j] = table[to[r][j]];
  }
}

#if defined(__x86_64__)
#define HEADRACE_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define HEADRACE_VBMI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi")))

namespace {

struct WideRounding {
  __m512 scale, low, high;
  __m512i zero;
  HEADRACE_AVX512 explicit WideRounding(const ByteRounding &to)
      : scale(_mm512_set1_ps(to.scale)), low(_mm512_set1_ps(to.low - to.zero)),
        high(_mm512_set1_ps(to.high - to.zero)),
        zero(_mm512_set1_epi32(static_cast<int32_t>(to.zero))) {}
  /// Without the zero point.
  HEADRACE_AVX512 __m512i operator()(__m512 x) const {
    return _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(x, low), high));
  }
};

/// No table.
struct NoLookup {
  HEADRACE_AVX512 explicit NoLookup(const uint8_t *) {}
  HEADRACE_AVX512 __m128i operator()(__m512i bytes) const { return _mm512_cvtepi32_epi8(bytes); }
};

/// The table is in memory; three bytes behind it are read as well.
struct GatheringLookup {
  const uint8_t *table;
  HEADRACE_AVX512 explicit GatheringLookup(const uint8_t *table) : table(table) {}
  HEADRACE_AVX512 __m128i operator()(__m512i bytes) const {
    __m512i index = _mm512_and_si512(bytes, _mm512_set1_epi32(0xff));
    return _mm512_cvtepi32_epi8(_mm512_i32gather_epi32(index, table, 1));
  }
};

/// The table is in four registers, of which two at a time are indexed.
struct PermutingLookup {
  __m512i parts[4];
  HEADRACE_VBMI explicit PermutingLookup(const uint8_t *table) {
    for (int i = 0; i < 4; ++i)
      parts[i] = _mm512_loadu_si512(table + i * 64);
  }
  HEADRACE_VBMI __m128i operator()(__m512i bytes) const {
    __m512i low = _mm512_permutex2var_epi8(parts[0], bytes, parts[1]);
    __m512i high = _mm512_permutex2var_epi8(parts[2], bytes, parts[3]);
    __mmask64 isHigh = _mm512_movepi8_mask(bytes);
    return _mm512_cvtepi32_epi8(_mm512_mask_blend_epi8(isHigh, low, high));
  }
};

/// `finish`, sixteen columns at a time.
struct WideFinish {
  int64_t form;
  const Int8Epilogue::Head &head;
  const float *scale, *bias;
  const uint8_t *table;
  bool repeats = false; // the scales and biases of the first sixteen columns
};

/// Stores without a mask are several times faster on some CPUs.
HEADRACE_AVX512 inline void storeSome(uint8_t *to, int64_t count, __mmask16 mask, __m128i bytes) {
  if (count >= 16)
    _mm_storeu_si128(reinterpret_cast<__m128i *>(to), bytes);
  else if (count == 8)
    _mm_storeu_si64(to, bytes);
  else if (count == 4)
    _mm_storeu_si32(to, bytes);
  else
    _mm_mask_storeu_epi8(to, mask, bytes);
}

// Functions of another target are not inlined.
#define HEADRACE_FINISH(name, target, Lookup)                                                      \
  target void name(const WideFinish &of, const int32_t *sums, int64_t apart, int64_t rows,         \
                   int64_t columns, const uint8_t *const *others, uint8_t *const *to) {            \
    const int64_t form = of.form;                                                                  \
    const WideRounding inner(of.head.inner), result(of.head.result);                               \
    const Lookup lookUp(of.table);                                                                 \
    const bool dividesLast =                                                                       \
        form & Int8Epilogue::ThroughByte || !(form & Int8Epilogue::Multiplies);                    \
    const __m512 otherScale = _mm512_set1_ps(of.head.otherScale);                                  \
    const __m512i otherZero = _mm512_set1_epi32(static_cast<int32_t>(of.head.otherZero));          \
    for (int64_t j = 0; j < columns; j += 16) {                                                    \
      auto mask = static_cast<__mmask16>(columns - j >= 16 ? 0xffff : (1u << (columns - j)) - 1);  \
      int64_t column = of.repeats ? 0 : j;                                                         \
      __m512 factor = _mm512_loadu_ps(of.scale + column);                                          \
      __m512 shift =                                                                               \
          form & Int8Epilogue::Biased ? _mm512_loadu_ps(of.bias + column) : _mm512_setzero_ps();   \
      for (int64_t r = 0; r < rows; ++r) {                                                         \
        __m512 x =                                                                                 \
            _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_loadu_si512(sums + r * apart + j)), factor);   \
        if (form & Int8Epilogue::Biased)                                                           \
          x = _mm512_add_ps(x, shift);                                                             \
        if (form & Int8Epilogue::ThroughByte) {                                                    \
          if (!(form & Int8Epilogue::Multiplies))                                                  \
            x = _mm512_div_ps(x, inner.scale);                                                     \
          x = _mm512_mul_ps(_mm512_cvtepi32_ps(inner(x)), inner.scale);                            \
        }                                                                                          \
        if (form & Int8Epilogue::AddsOther) {                                                      \
          __m128i narrow = _mm_maskz_loadu_epi8(mask, others[r] + j);                              \
          __m512i wide = form & Int8Epilogue::OtherIsUnsigned ? _mm512_cvtepu8_epi32(narrow)       \
                                                              : _mm512_cvtepi8_epi32(narrow);      \
          __m512 other = _mm512_cvtepi32_ps(_mm512_sub_epi32(wide, otherZero));                    \
          x = _mm512_add_ps(x, _mm512_mul_ps(other, otherScale));                                  \
        }                                                                                          \
        if (dividesLast)                                                                           \
          x = _mm512_div_ps(x, result.scale);                                                      \
        __m512i byte = _mm512_add_epi32(result(x), result.zero);                                   \
        storeSome(to[r] + j, columns - j, mask, lookUp(byte));                                     \
      }                                                                                            \
    }                                                                                              \
  }
HEADRACE_FINISH(finishWide, HEADRACE_AVX512, NoLookup)
HEADRACE_FINISH(finishGathering, HEADRACE_AVX512, GatheringLookup)
HEADRACE_FINISH(finishPermuting, HEADRACE_VBMI, PermutingLookup)
#undef HEADRACE_FINISH

bool hasPermutations() {
  static const bool isHere = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512vbmi");
  }();
  return isHere;
}

} // namespace
#endif

void Int8EpilogueWriter::finish(const int32_t *sums, int64_t apart, int64_t rows, int64_t column,
                                int64_t columns, const uint8_t *const *others,
                                uint8_t *const *to) const {
#if defined(__x86_64__)
  if (bytes::hasWideVectors()) {
    WideFinish wide{form, head, scale + column, bias + column, table};
    auto function = !(form & Int8Epilogue::LooksUp) ? finishWide
                    : hasPermutations()             ? finishPermuting
                                                    : finishGathering;
    if (apart != columns || bytes::panelColumns % columns != 0)
      return function(wide, sums, apart, rows, columns, others, to);
    // Several rows fit into a vector: those that are adjacent are as one.
    std::array<float, bytes::panelColumns> scales, biases{};
    for (size_t j = 0; j < scales.size(); ++j) {
      scales[j] = wide.scale[j % static_cast<size_t>(columns)];
      if (form & Int8Epilogue::Biased)
        biases[j] = wide.bias[j % static_cast<size_t>(columns)];
    }
    wide.scale = scales.data();
    wide.bias = biases.data();
    wide.repeats = true;
    for (int64_t first = 0, end; first < rows; first = end) {
      auto isBeside = [&](const auto *all) { return all[end] == all[end - 1] + columns; };
      for (end = first + 1; end < rows && isBeside(to) && (!addsOther() || isBeside(others));)
        ++end;
      function(wide, sums + first * apart, 0, 1, (end - first) * columns, others + first,
               to + first);
    }
    return;
  }
#endif
  finishPlainly(sums, apart, rows, column, columns, others, to);
}

float equalMultiplier(float scale, const ByteRounding &result) {
  constexpr float most = 0x1p60F, least = 0x1p-60F;
  if (!(scale >= least && scale <= most && result.scale >= least && result.scale <= most))
    return 0;
  auto wanted = [&](int64_t sum) {
    float product = static_cast<float>(static_cast<int32_t>(sum)) * scale;
    return rounded(product / result.scale, result);
  };
  // Both are monotone: they are equal where they step to each byte at the same sum.
  std::vector<int64_t> steps;
  double width = double{result.scale} / scale;
  constexpr int64_t first = INT32_MIN, last = INT32_MAX;
  for (int32_t byte = static_cast<int32_t>(result.low) + 1;
       byte <= static_cast<int32_t>(result.high); ++byte) {
    double middle = (byte - double{result.zero} - 0.5) * width;
    if (middle < double(first) || middle > double(last)) {
      // At the ends of the range it may still be off by the rounding of the sum.
      if (std::abs(middle) < 1.001 * double(last))
        return 0;
      continue;
    }
    // The least sum of that byte, or of a greater one.
    auto near = static_cast<int64_t>(middle);
    auto margin = static_cast<int64_t>(std::abs(middle) * 0x1p-20) + 4;
    int64_t low = std::max(near - margin, first - 1), high = std::min(near + margin, last);
    if ((low >= first && wanted(low) >= byte) || wanted(high) < byte)
      return 0;
    while (high - low > 1) {
      int64_t half = low + (high - low) / 2;
      (wanted(half) >= byte ? high : low) = half;
    }
    steps.push_back(high);
  }
  auto isEqual = [&](float factor) {
    auto found = [&](int64_t sum) {
      return rounded(static_cast<float>(static_cast<int32_t>(sum)) * factor, result);
    };
    return std::ranges::all_of(steps,
                               [&](int64_t step) {
                                 return found(step) == wanted(step) &&
                                        (step == first || found(step - 1) == wanted(step - 1));
                               }) &&
           found(first) == wanted(first) && found(last) == wanted(last);
  };
  auto factor = static_cast<float>(double{scale} / result.scale);
  for (float near : {factor, std::nextafter(factor, 0.0F), std::nextafter(factor, most)})
    if (isEqual(near))
      return near;
  return 0;
}

} // namespace headrace
