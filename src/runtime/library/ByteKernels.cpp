#include "runtime/library/ByteKernels.h"

#include "runtime/library/ByteLanes.h"

#include <array>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace headrace::bytes {

namespace {

/// A kernel for any CPU. Sums wrap around.
template <int rows, int panels, bool secondIsUnsigned> void plainKernel(const Tile &tile) {
  for (int64_t p = 0; p < panels; ++p) {
    const uint8_t *panel = tile.b + p * tile.panelStride;
    int64_t columns = p + 1 == panels ? tile.columns : panelColumns;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < columns; ++j) {
        int32_t &cell = tile.c[r * tile.ldc + p * panelColumns + j];
        auto sum = static_cast<uint32_t>(tile.start ? tile.start[p * panelColumns + j] : cell);
        for (int64_t s = 0; s < tile.steps; ++s)
          for (int64_t i = 0; i < stepRows; ++i) {
            uint8_t byte = panel[s * stepBytes + j * stepRows + i];
            int32_t second = secondIsUnsigned ? byte : static_cast<int8_t>(byte);
            const auto *a = reinterpret_cast<const int16_t *>(tile.rows[static_cast<size_t>(r)] +
                                                              tile.offsets[s]);
            sum += static_cast<uint32_t>(a[i] * second);
          }
        cell = static_cast<int32_t>(sum);
      }
  }
}

#if defined(__x86_64__)
#define HEADRACE_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))
#define HEADRACE_AVX2 __attribute__((target("avx2")))
// Four bytes are loaded into all lanes at once: combined with what follows, they would be loaded
// into one and spread by a second instruction.
#define HEADRACE_LOADED(vector) __asm__("" : "+v"(vector))
// Sums stay in registers if every loop over them is written out.
#define HEADRACE_UNROLL _Pragma("clang loop unroll(full)")

/// `columns`: those of a panel that are in a vector. At most this many of the last panel are used.
template <int rows, int panels, bool secondIsUnsigned, bool flips, int columns>
HEADRACE_VNNI void dotKernel(const Tile &tile) {
  using Wide = Lanes<columns>;
  using Vector = typename Wide::Vector;
  using Mask = typename Wide::Mask;
  constexpr auto all = static_cast<Mask>((1u << columns) - 1);
  const uint8_t *b = tile.b;
  const uint8_t *a[rows];
  HEADRACE_UNROLL
  for (int r = 0; r < rows; ++r)
    a[r] = tile.rows[r];
  Vector sums[rows][panels];
  HEADRACE_UNROLL
  for (int p = 0; p < panels; ++p) {
    Vector start = tile.start ? Wide::load(tile.start + p * panelColumns) : Wide::zero();
    HEADRACE_UNROLL
    for (int r = 0; r < rows; ++r)
      sums[r][p] = start;
  }
  for (int64_t s = 0; s < tile.steps; ++s, b += stepBytes) {
    int64_t offset = tile.offsets[s];
    Vector second[panels];
    HEADRACE_UNROLL
    for (int p = 0; p < panels; ++p)
      second[p] = Wide::load(b + p * tile.panelStride);
    HEADRACE_UNROLL
    for (int r = 0; r < rows; ++r) {
      int32_t four;
      std::memcpy(&four, a[r] + offset, sizeof(four));
      Vector first = Wide::repeated(four);
      if constexpr (flips) {
        HEADRACE_LOADED(first);
        first = Wide::flipped(first);
      }
      HEADRACE_UNROLL
      for (int p = 0; p < panels; ++p)
        sums[r][p] = secondIsUnsigned ? Wide::addProducts(sums[r][p], second[p], first)
                                      : Wide::addProducts(sums[r][p], first, second[p]);
    }
  }
  auto last = static_cast<Mask>((1u << tile.columns) - 1);
  int32_t *row = tile.c;
  const int64_t ldc = tile.ldc;
  const bool adds = !tile.start;
  HEADRACE_UNROLL
  for (int r = 0; r < rows; ++r, row += ldc)
    HEADRACE_UNROLL
  for (int p = 0; p < panels; ++p) {
    int32_t *cells = row + p * panelColumns;
    Mask mask = p + 1 == panels ? last : all;
    Vector sum = sums[r][p];
    if (adds)
      sum = Wide::add(sum, Wide::load(mask, cells));
    // Stores without a mask are several times faster on some CPUs.
    if (mask == all)
      Wide::store(cells, sum);
    else
      Wide::store(mask, cells, sum);
  }
}

/// A vector has four rows of eight columns, and of each column two sums.
template <int rows, int panels, bool secondIsUnsigned>
HEADRACE_AVX512 void widePairsKernel(const Tile &tile) {
  for (int p = 0; p < panels; ++p) {
    const uint8_t *b = tile.b + p * tile.panelStride;
    __m512i sums[rows][2];
    HEADRACE_UNROLL
    for (int r = 0; r < rows; ++r)
      sums[r][0] = sums[r][1] = _mm512_setzero_si512();
    for (int64_t s = 0; s < tile.steps; ++s, b += stepBytes) {
      int64_t offset = tile.offsets[s];
      __m512i second[2];
      HEADRACE_UNROLL
      for (int h = 0; h < 2; ++h) {
        __m256i narrow = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(b + h * 32));
        second[h] = secondIsUnsigned ? _mm512_cvtepu8_epi16(narrow) : _mm512_cvtepi8_epi16(narrow);
      }
      HEADRACE_UNROLL
      for (int r = 0; r < rows; ++r) {
        int64_t four;
        std::memcpy(&four, tile.rows[r] + offset, sizeof(four));
        __m512i first = _mm512_set1_epi64(four);
        HEADRACE_UNROLL
        for (int h = 0; h < 2; ++h)
          sums[r][h] = _mm512_add_epi32(sums[r][h], _mm512_madd_epi16(first, second[h]));
      }
    }
    int64_t columns = p + 1 == panels ? tile.columns : panelColumns;
    auto mask = static_cast<__mmask16>((1u << columns) - 1);
    HEADRACE_UNROLL
    for (int r = 0; r < rows; ++r) {
      __m256i halves[2];
      HEADRACE_UNROLL
      for (int h = 0; h < 2; ++h)
        halves[h] =
            _mm512_cvtepi64_epi32(_mm512_add_epi32(sums[r][h], _mm512_srli_epi64(sums[r][h], 32)));
      __m512i sum = _mm512_inserti64x4(_mm512_castsi256_si512(halves[0]), halves[1], 1);
      int32_t *cells = tile.c + r * tile.ldc + p * panelColumns;
      __m512i before = tile.start ? _mm512_loadu_si512(tile.start + p * panelColumns)
                                  : _mm512_maskz_loadu_epi32(mask, cells);
      _mm512_mask_storeu_epi32(cells, mask, _mm512_add_epi32(sum, before));
    }
  }
}

/// Half a panel at a time: a vector has four rows of four columns, and of each column two sums.
template <int rows, int panels, bool secondIsUnsigned>
HEADRACE_AVX2 void pairsKernel(const Tile &tile) {
  for (int half = 0; half < 2 * panels; ++half) {
    const uint8_t *b = tile.b + half / 2 * tile.panelStride + half % 2 * 32;
    __m256i sums[rows][2];
    HEADRACE_UNROLL
    for (int r = 0; r < rows; ++r)
      sums[r][0] = sums[r][1] = _mm256_setzero_si256();
    for (int64_t s = 0; s < tile.steps; ++s, b += stepBytes) {
      int64_t offset = tile.offsets[s];
      __m256i second[2];
      HEADRACE_UNROLL
      for (int q = 0; q < 2; ++q) {
        __m128i narrow = _mm_loadu_si128(reinterpret_cast<const __m128i *>(b + q * 16));
        second[q] = secondIsUnsigned ? _mm256_cvtepu8_epi16(narrow) : _mm256_cvtepi8_epi16(narrow);
      }
      HEADRACE_UNROLL
      for (int r = 0; r < rows; ++r) {
        int64_t four;
        std::memcpy(&four, tile.rows[r] + offset, sizeof(four));
        __m256i first = _mm256_set1_epi64x(four);
        HEADRACE_UNROLL
        for (int q = 0; q < 2; ++q)
          sums[r][q] = _mm256_add_epi32(sums[r][q], _mm256_madd_epi16(first, second[q]));
      }
    }
    int64_t begin = int64_t{half} * 8;
    int64_t end = half / 2 + 1 == panels ? (panels - 1) * panelColumns + tile.columns
                                         : (half / 2 + 1) * panelColumns;
    HEADRACE_UNROLL
    for (int r = 0; r < rows; ++r) {
      // Pairs of columns come out as 0 1 4 5 2 3 6 7.
      __m256i eight = _mm256_permute4x64_epi64(_mm256_hadd_epi32(sums[r][0], sums[r][1]), 0xd8);
      int32_t *cells = tile.c + r * tile.ldc + begin;
      const int32_t *before = tile.start ? tile.start + begin : cells;
      alignas(32) int32_t some[8] = {};
      if (end - begin < 8) {
        for (int64_t j = 0; j < end - begin; ++j)
          some[j] = before[j];
        before = some;
      }
      eight =
          _mm256_add_epi32(eight, _mm256_loadu_si256(reinterpret_cast<const __m256i *>(before)));
      if (end - begin >= 8) {
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(cells), eight);
        continue;
      }
      _mm256_store_si256(reinterpret_cast<__m256i *>(some), eight);
      for (int64_t j = 0; j < end - begin; ++j)
        cells[j] = some[j];
    }
  }
}

template <bool isUnsigned>
HEADRACE_AVX2 void widenSteps(const uint8_t *row, int64_t steps, int64_t stepNumbers, int16_t *to) {
  int64_t s = 0;
  for (; s + 4 <= steps; s += 4, to += 4 * stepNumbers) {
    __m128i narrow = _mm_loadu_si128(reinterpret_cast<const __m128i *>(row + s * stepRows));
    __m256i wide = isUnsigned ? _mm256_cvtepu8_epi16(narrow) : _mm256_cvtepi8_epi16(narrow);
    __m128i low = _mm256_castsi256_si128(wide), high = _mm256_extracti128_si256(wide, 1);
    auto put = [&](int64_t step, int64_t four) __attribute__((target("avx2"))) {
      std::memcpy(to + step * stepNumbers, &four, sizeof(four));
    };
    put(0, _mm_cvtsi128_si64(low));
    put(1, _mm_extract_epi64(low, 1));
    put(2, _mm_cvtsi128_si64(high));
    put(3, _mm_extract_epi64(high, 1));
  }
  for (; s < steps; ++s, to += stepNumbers)
    for (int64_t i = 0; i < stepRows; ++i) {
      uint8_t byte = row[s * stepRows + i];
      to[i] = isUnsigned ? int16_t{byte} : int16_t{static_cast<int8_t>(byte)};
    }
}
#endif

using Table = std::array<std::array<Kernel, maxPanels>, maxRows>;

/// kernels<...>[rows - 1][panels - 1]
template <template <int, int> class Of, size_t... rows, size_t... panels>
constexpr Table tableOf(std::index_sequence<rows...>, std::index_sequence<panels...>) {
  auto row = [](auto r) {
    constexpr int count = decltype(r)::value + 1;
    return std::array<Kernel, maxPanels>{Of<count, static_cast<int>(panels) + 1>::kernel...};
  };
  return Table{row(std::integral_constant<int, static_cast<int>(rows)>{})...};
}

template <template <int, int> class Of> constexpr Table tableOf() {
  return tableOf<Of>(std::make_index_sequence<maxRows>{}, std::make_index_sequence<maxPanels>{});
}

#define HEADRACE_KERNELS(name, function)                                                           \
  template <int rows, int panels> struct name##Signed {                                            \
    static constexpr Kernel kernel = function<rows, panels, false>;                                \
  };                                                                                               \
  template <int rows, int panels> struct name##Unsigned {                                          \
    static constexpr Kernel kernel = function<rows, panels, true>;                                 \
  };
HEADRACE_KERNELS(Plain, plainKernel)
#if defined(__x86_64__)
template <int rows, int panels, bool secondIsUnsigned>
constexpr Kernel dotKernelAsIs = dotKernel<rows, panels, secondIsUnsigned, false, 16>;
template <int rows, int panels, bool secondIsUnsigned>
constexpr Kernel dotKernelFlipping = dotKernel<rows, panels, secondIsUnsigned, true, 16>;
template <int rows, int panels, bool secondIsUnsigned>
constexpr Kernel narrowDotKernelAsIs = dotKernel<rows, 1, secondIsUnsigned, false, 8>;
template <int rows, int panels, bool secondIsUnsigned>
constexpr Kernel narrowDotKernelFlipping = dotKernel<rows, 1, secondIsUnsigned, true, 8>;
HEADRACE_KERNELS(Dot, dotKernelAsIs)
HEADRACE_KERNELS(FlippingDot, dotKernelFlipping)
HEADRACE_KERNELS(NarrowDot, narrowDotKernelAsIs)
HEADRACE_KERNELS(FlippingNarrowDot, narrowDotKernelFlipping)
HEADRACE_KERNELS(WidePairs, widePairsKernel)
HEADRACE_KERNELS(Pairs, pairsKernel)
#endif
#undef HEADRACE_KERNELS

constexpr std::array<Table, 2> plainKernels = {tableOf<PlainSigned>(), tableOf<PlainUnsigned>()};
#if defined(__x86_64__)
constexpr std::array<Table, 2> dotKernels = {tableOf<DotSigned>(), tableOf<DotUnsigned>()};
constexpr std::array<Table, 2> narrowDotKernels = {tableOf<NarrowDotSigned>(),
                                                   tableOf<NarrowDotUnsigned>()};
constexpr std::array<Table, 2> flippingNarrowDotKernels = {tableOf<FlippingNarrowDotSigned>(),
                                                           tableOf<FlippingNarrowDotUnsigned>()};
constexpr std::array<Table, 2> flippingDotKernels = {tableOf<FlippingDotSigned>(),
                                                     tableOf<FlippingDotUnsigned>()};
constexpr std::array<Table, 2> widePairsKernels = {tableOf<WidePairsSigned>(),
                                                   tableOf<WidePairsUnsigned>()};
constexpr std::array<Table, 2> pairsKernels = {tableOf<PairsSigned>(), tableOf<PairsUnsigned>()};
#endif

const std::array<Table, 2> &tablesOf(Kind kind, bool flips, bool isNarrow) {
  switch (kind) {
#if defined(__x86_64__)
  case Kind::DotProducts:
    if (isNarrow)
      return flips ? flippingNarrowDotKernels : narrowDotKernels;
    return flips ? flippingDotKernels : dotKernels;
  case Kind::WidePairs:
    return widePairsKernels;
  case Kind::Pairs:
    return pairsKernels;
#endif
  default:
    return plainKernels;
  }
}

} // namespace

bool hasKind(Kind kind) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512vl");
  switch (kind) {
  case Kind::DotProducts:
    return wide && __builtin_cpu_supports("avx512vnni");
  case Kind::WidePairs:
    return wide;
  case Kind::Pairs:
    return __builtin_cpu_supports("avx2");
  case Kind::Plain:
    return true;
  }
#endif
  return kind == Kind::Plain;
}

bool hasWideVectors() {
#if defined(__x86_64__)
  static const bool isHere = [] {
    __builtin_cpu_init();
    return hasKind(Kind::WidePairs) && __builtin_cpu_supports("avx512dq");
  }();
  return isHere;
#else
  return false;
#endif
}

Kind bestKind() {
  static const Kind best = [] {
    for (Kind kind : {Kind::DotProducts, Kind::WidePairs, Kind::Pairs})
      if (hasKind(kind))
        return kind;
    return Kind::Plain;
  }();
  return best;
}

void widenRow(const uint8_t *row, int64_t steps, int64_t stepNumbers, bool isUnsigned,
              int16_t *to) {
#if defined(__x86_64__)
  (isUnsigned ? widenSteps<true> : widenSteps<false>)(row, steps, stepNumbers, to);
#endif
}

Kernel kernelFor(Kind kind, bool secondIsUnsigned, bool flips, int64_t rows, int64_t panels,
                 int64_t columns) {
  bool isNarrow = panels == 1 && columns <= panelColumns / 2;
  return tablesOf(kind, flips, isNarrow)[secondIsUnsigned ? 1 : 0][static_cast<size_t>(rows - 1)]
                                        [static_cast<size_t>(panels - 1)];
}

} // namespace headrace::bytes
