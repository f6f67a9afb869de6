#include "runtime/library/ByteDepthwise.h"

#include "runtime/library/ByteRows.h"
#include "runtime/system/Error.h"
#include "runtime/system/Rounding.h"

#include <algorithm>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace headrace {

using namespace bytes;

namespace {

/// Channels of which the sums are finished at once.
constexpr int64_t groupChannels = maxPanels * panelColumns;

int64_t wholeChannels(int64_t channels) { return roundedUp(channels, panelColumns); }

/// Sums of sixteen channels, or the last few, for some rows.
struct Taps {
  const uint8_t *const *rows;
  int64_t count;
  const int64_t *offsets; // of each tap, with the channels' own
  int64_t taps;
  const int32_t *weights;
  int64_t weightStride; // from one tap to the next
  const int32_t *start;
  int32_t *sums;
  int64_t apart;
  int64_t channels;
  bool isUnsigned;
};

void sumPlainly(const Taps &of) {
  for (int64_t r = 0; r < of.count; ++r)
    for (int64_t c = 0; c < of.channels; ++c) {
      auto sum = static_cast<uint32_t>(of.start[c]);
      for (int64_t t = 0; t < of.taps; ++t) {
        uint8_t byte = of.rows[r][of.offsets[t] + c];
        int32_t number = of.isUnsigned ? byte : static_cast<int8_t>(byte);
        auto weight = static_cast<int16_t>(of.weights[t * of.weightStride + c]);
        sum += static_cast<uint32_t>(number * weight);
      }
      of.sums[r * of.apart + c] = static_cast<int32_t>(sum);
    }
}

#if defined(__x86_64__)
#define HEADRACE_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))
#define HEADRACE_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl")))
#define HEADRACE_UNROLL _Pragma("clang loop unroll(full)")

// A byte in 32 bits is a pair of 16, of which the weight's second is 0. Whole vectors of sums are
// stored: rows come in order, and what is written behind one is the next one's.
#define HEADRACE_SUM_TAPS(name, target, add)                                                       \
  template <int rows, int width, bool isUnsigned> target void name(const Taps &of, int64_t row) {  \
    const uint8_t *from[rows];                                                                     \
    __m512i sums[rows];                                                                            \
    auto mask = static_cast<__mmask16>((1u << of.channels) - 1);                                   \
    HEADRACE_UNROLL                                                                                \
    for (int r = 0; r < rows; ++r) {                                                               \
      from[r] = of.rows[row + r];                                                                  \
      sums[r] = _mm512_loadu_si512(of.start);                                                      \
    }                                                                                              \
    for (int64_t t = 0; t < of.taps; ++t) {                                                        \
      __m512i weight = _mm512_loadu_si512(of.weights + t * of.weightStride);                       \
      int64_t offset = of.offsets[t];                                                              \
      HEADRACE_UNROLL                                                                              \
      for (int r = 0; r < rows; ++r) {                                                             \
        __m128i narrow =                                                                           \
            width == 16  ? _mm_loadu_si128(reinterpret_cast<const __m128i *>(from[r] + offset))    \
            : width == 8 ? _mm_loadu_si64(from[r] + offset)                                        \
                         : _mm_maskz_loadu_epi8(mask, from[r] + offset);                           \
        __m512i wide = isUnsigned ? _mm512_cvtepu8_epi32(narrow) : _mm512_cvtepi8_epi32(narrow);   \
        sums[r] = add(sums[r], wide, weight);                                                      \
      }                                                                                            \
    }                                                                                              \
    HEADRACE_UNROLL                                                                                \
    for (int r = 0; r < rows; ++r)                                                                 \
      _mm512_storeu_si512(of.sums + (row + r) * of.apart, sums[r]);                                \
  }                                                                                                \
  template <int width, bool isUnsigned> target void name##Rows(const Taps &of) {                   \
    constexpr int most = 6;                                                                        \
    int64_t row = 0;                                                                               \
    for (; row + most <= of.count; row += most)                                                    \
      name<most, width, isUnsigned>(of, row);                                                      \
    for (; row < of.count; ++row)                                                                  \
      name<1, width, isUnsigned>(of, row);                                                         \
  }                                                                                                \
  template <bool isUnsigned> void name##Widths(const Taps &of) {                                   \
    if (of.channels == 16)                                                                         \
      name##Rows<16, isUnsigned>(of);                                                              \
    else if (of.channels == 8)                                                                     \
      name##Rows<8, isUnsigned>(of);                                                               \
    else                                                                                           \
      name##Rows<0, isUnsigned>(of);                                                               \
  }                                                                                                \
  void name##All(const Taps &of) { (of.isUnsigned ? name##Widths<true> : name##Widths<false>)(of); }
#define HEADRACE_MADD(sums, a, b) _mm512_add_epi32(sums, _mm512_madd_epi16(a, b))
HEADRACE_SUM_TAPS(sumByDots, HEADRACE_VNNI, _mm512_dpwssd_epi32)
HEADRACE_SUM_TAPS(sumByPairs, HEADRACE_AVX512, HEADRACE_MADD)
#endif

void sumTaps(const Taps &of, Kind kind) {
#if defined(__x86_64__)
  if (kind == Kind::DotProducts)
    return sumByDotsAll(of);
  if (kind == Kind::WidePairs)
    return sumByPairsAll(of);
#endif
  sumPlainly(of);
}

std::vector<int64_t> tapOffsets(const BytePatches &patches) {
  const auto &[channels, in, out, window, stride, dilation] = patches;
  std::vector<int64_t> offsets;
  for (int64_t z = 0; z < window[0]; ++z)
    for (int64_t y = 0; y < window[1]; ++y)
      for (int64_t x = 0; x < window[2]; ++x)
        offsets.push_back(((z * dilation[0] * in[1] + y * dilation[1]) * in[2] + x * dilation[2]) *
                          channels);
  return offsets;
}

} // namespace

int64_t packedTapBytes(const ByteDepthwise &depthwise) {
  return depthwise.taps() * wholeChannels(depthwise.patches.channels) * int64_t{4};
}

Tensor packedTaps(const ByteDepthwise &depthwise, const uint8_t *filter) {
  int64_t channels = depthwise.patches.channels;
  Tensor packed = Tensor::allocate(DType::I8, {packedTapBytes(depthwise)});
  std::memset(packed.data(), 0, packed.bytes());
  auto *to = reinterpret_cast<uint32_t *>(packed.as<uint8_t>());
  for (int64_t t = 0; t < depthwise.taps(); ++t, to += wholeChannels(channels), filter += channels)
    for (int64_t c = 0; c < channels; ++c)
      to[c] = static_cast<uint16_t>(
          depthwise.unsignedFilter ? int16_t{filter[c]} : int16_t{static_cast<int8_t>(filter[c])});
  return packed;
}

void convolveToBytes(const ByteDepthwise &depthwise, const Int8EpilogueWriter &finisher,
                     const BytePlaces &places, const uint8_t *image, const uint8_t *taps,
                     const uint8_t *other, uint8_t *to, ThreadPool &pool, Kind kind) {
  int64_t channels = depthwise.patches.channels, rows = depthwise.rows;
  if (rows == 0 || channels == 0)
    return;
  places.writeBorders(rows, channels, to, pool);
  PatchGatherer finder(depthwise.patches, image, depthwise.patches.runBytes());
  const std::vector<int64_t> offsets = tapOffsets(depthwise.patches);
  const auto *weights = reinterpret_cast<const int32_t *>(taps);
  double each = 2.0 * static_cast<double>(blockRows * channels * depthwise.taps());
  constexpr double worthSharing = 1e5;
  auto grain = static_cast<int64_t>(worthSharing / each) + 1;
  const int64_t apart =
      channels <= panelColumns ? Int8EpilogueWriter::rowsApart(channels) : groupChannels;
  pool.parallelFor(dividedUp(rows, blockRows), grain, [&](int64_t begin, int64_t end, int) {
    std::array<const uint8_t *, blockRows> from, others;
    std::array<uint8_t *, blockRows> results;
    alignas(memoryAlignment) std::array<int32_t, blockRows * groupChannels + panelColumns> sums;
    for (int64_t row = begin * blockRows; row < std::min(end * blockRows, rows); row += blockRows) {
      int64_t count = std::min(blockRows, rows - row);
      for (int64_t c = 0; c < channels; c += groupChannels) {
        int64_t some = std::min(groupChannels, channels - c);
        finder.findRows(row, count, from.data());
        for (int64_t r = 0; r < count; ++r)
          from[static_cast<size_t>(r)] += c;
        for (int64_t part = 0; part < some; part += panelColumns) {
          sumTaps({from.data(), count, offsets.data(), depthwise.taps(), weights + c + part,
                   wholeChannels(channels), finisher.addends(c + part), sums.data() + part, apart,
                   std::min(panelColumns, some - part), depthwise.unsignedImage},
                  kind);
          for (int64_t r = 0; r < count; ++r)
            from[static_cast<size_t>(r)] += panelColumns;
        }
        places.findRows(row, count, channels, to, results.data());
        for (int64_t r = 0; r < count; ++r) {
          results[static_cast<size_t>(r)] += c;
          others[static_cast<size_t>(r)] = other ? other + (row + r) * channels + c : nullptr;
        }
        finisher.finishAs(kind, sums.data(), apart, count, c, some, others.data(), results.data());
      }
    }
  });
}

} // namespace headrace
