// RoiAlign with as many samples as a bin covers elements, which depends on the data. Compiled code
// would go through the samples of a bin as large as the image, for every bin.
//
// The weights of a sample are products of one for its row and one for its column, none of them
// negative. So rows are combined first, for the columns of the region, and columns then.
#include "runtime/operators/HostOperators.h"
#include "runtime/system/Text.h"
#include "runtime/system/ThreadPool.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headrace::operators {

using Values = std::vector<RuntimeValue>;

namespace {

/// The attributes of a node, and the sizes of its images.
struct Alignment {
  bool isMaximum, isHalfPixel;
  double scale;
  int64_t pooled[2]; // rows, columns
  int64_t size[2];
  int64_t channels;
};

/// An element of the image along an axis.
template <class T> struct Weighted {
  int64_t element;
  T weight;
};

/// What the bins of a region read along an axis.
template <class T> class Bins {
public:
  Bins(const Alignment &alignment, int axis, T first, T last)
      : isMaximum(alignment.isMaximum), size(alignment.size[axis]) {
    auto scale = static_cast<T>(alignment.scale);
    T begin = first * scale, extent = (last - first) * scale;
    if (alignment.isHalfPixel)
      begin -= T(0.5);
    else
      extent = std::max(extent, T(1));
    auto count = static_cast<T>(alignment.pooled[axis]);
    for (int64_t i = 0; i < alignment.pooled[axis]; ++i)
      addBin(begin + static_cast<T>(i) * (extent / count), extent / count);
    for (const std::vector<Weighted<T>> &bin : bins)
      for (const Weighted<T> &read : bin) {
        low = std::min(low, read.element);
        high = std::max(high, read.element + 1);
      }
    low = std::min(low, high);
  }

  const std::vector<Weighted<T>> &operator[](int64_t bin) const { return bins[bin]; }
  /// The elements from the first one read to the one after the last.
  int64_t low = std::numeric_limits<int64_t>::max(), high = 0;

private:
  /// A sample for each element that the bin covers.
  void addBin(T start, T extent) {
    constexpr T most = 1 << 30;
    std::vector<Weighted<T>> &bin = bins.emplace_back();
    if (!(extent > 0) || !std::isfinite(extent) || !std::isfinite(start))
      return;
    T count = std::min(std::ceil(extent), most), share = isMaximum ? T(1) : 1 / count;
    // Samples before and after the image are 0, which only a maximum sees.
    auto sampleAt = [&](T place, T more) {
      T at = (place - start) * count / extent + more;
      return static_cast<int64_t>(std::min(std::max(std::floor(at), T(0)), count));
    };
    int64_t from = sampleAt(-1, -2), end = sampleAt(static_cast<T>(size), 3);
    if (isMaximum && (from > 0 || static_cast<T>(end) < count))
      bin.push_back({0, T(0)});
    for (int64_t i = from; i < end; ++i)
      addSample(bin, start + (static_cast<T>(i) + T(0.5)) * extent / count, share);
  }

  /// Between two elements; next to the image at its edge.
  void addSample(std::vector<Weighted<T>> &bin, T place, T share) {
    if (!(place >= -1 && place <= static_cast<T>(size)))
      return add(bin, 0, T(0));
    place = std::max(place, T(0));
    int64_t element = std::min(static_cast<int64_t>(place), size - 1);
    T rest = element == size - 1 ? T(0) : place - static_cast<T>(element);
    add(bin, element, share - share * rest);
    add(bin, std::min(element + 1, size - 1), share * rest);
  }

  void add(std::vector<Weighted<T>> &bin, int64_t element, T weight) {
    // Samples come in order, so that one read before is among the last two.
    for (size_t i = bin.size(); !isMaximum && i > 0 && bin.size() - i < 2; --i)
      if (bin[i - 1].element == element) {
        bin[i - 1].weight += weight;
        return;
      }
    if (isMaximum || weight != 0)
      bin.push_back({element, weight});
  }

  const bool isMaximum;
  const int64_t size;
  std::vector<std::vector<Weighted<T>>> bins;
};

template <class T> struct Region {
  int64_t image;
  Bins<T> rows, columns;
};

} // namespace

/// The bins of a region in one channel of its image.
template <class T>
static void poolRegion(const Alignment &alignment, const Region<T> &region, const T *image,
                       T *out) {
  int64_t low = region.columns.low, width = region.columns.high - low;
  T none = alignment.isMaximum ? -std::numeric_limits<T>::infinity() : T(0);
  std::vector<T> row(width);
  for (int64_t i = 0; i < alignment.pooled[0]; ++i) {
    std::fill(row.begin(), row.end(), none);
    for (const Weighted<T> &read : region.rows[i]) {
      const T *from = image + read.element * alignment.size[1] + low;
      if (alignment.isMaximum)
        for (int64_t x = 0; x < width; ++x)
          row[x] = std::max(row[x], read.weight * from[x]);
      else
        for (int64_t x = 0; x < width; ++x)
          row[x] += read.weight * from[x];
    }
    for (int64_t j = 0; j < alignment.pooled[1]; ++j) {
      T sum = none;
      for (const Weighted<T> &read : region.columns[j]) {
        T value = read.weight * row[read.element - low];
        sum = alignment.isMaximum ? std::max(sum, value) : sum + value;
      }
      bool isEmpty = region.rows[i].empty() || region.columns[j].empty();
      *out++ = isEmpty ? T(0) : sum;
    }
  }
}

template <class T>
static Tensor align(HostCall &c, const Alignment &alignment, const Tensor &images,
                    const Tensor &corners) {
  std::vector<Region<T>> regions;
  const T *at = corners.as<T>();
  for (int64_t image : c.integers(2)) {
    if (image < 0 || image >= images.shape()[0])
      c.fail(ErrorKind::OutOfRange, c.nameOfInput(2) + ": index " + std::to_string(image) +
                                        " is outside a size of " +
                                        std::to_string(images.shape()[0]));
    regions.push_back({image, {alignment, 0, at[1], at[3]}, {alignment, 1, at[0], at[2]}});
    at += 4;
  }
  auto count = static_cast<int64_t>(regions.size());
  int64_t bins = alignment.pooled[0] * alignment.pooled[1];
  Tensor result = Tensor::allocate(
      images.dtype(), {count, alignment.channels, alignment.pooled[0], alignment.pooled[1]});
  T *out = result.as<T>();
  const T *data = images.as<T>();
  int64_t imageSize = alignment.size[0] * alignment.size[1];
  ThreadPool::global().parallelFor(
      count * alignment.channels, 4, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
          const Region<T> &region = regions[i / alignment.channels];
          int64_t plane = region.image * alignment.channels + i % alignment.channels;
          poolRegion(alignment, region, data + plane * imageSize, out + i * bins);
        }
      });
  return result;
}

static Alignment alignmentOf(HostCall &c) {
  const Shape &images = c.tensor(0).shape(), &corners = c.tensor(1).shape();
  const Shape &places = c.tensor(2).shape();
  if (images.size() != 4 || corners.size() != 2 || corners[1] != 4 || places != Shape{corners[0]})
    c.fail(ErrorKind::ShapeMismatch,
           "expected images of rank 4, 4 values and an image index per region, got " +
               describe(c.input(0)) + ", " + describe(c.input(1)) + " and " + describe(c.input(2)));
  std::string mode = c.node.getString("mode", "avg");
  std::string transform = c.node.getString("coordinate_transformation_mode", "half_pixel");
  int64_t height = c.node.getInt("output_height", 1), width = c.node.getInt("output_width", 1);
  constexpr int64_t most = 1 << 16;
  if ((mode != "avg" && mode != "max") || height < 1 || width < 1 || height > most || width > most)
    c.fail(ErrorKind::InvalidModel, "expected the mode avg or max and an output size, got " +
                                        inQuotes(mode) + " and " + std::to_string(height) + "x" +
                                        std::to_string(width));
  return {mode == "max",
          c.node.version >= 16 && transform == "half_pixel",
          c.node.getFloat("spatial_scale", 1),
          {height, width},
          {images[2], images[3]},
          images[1]};
}

static Values roiAlign(HostCall &c) {
  DType dtype = c.tensor(0).dtype();
  if (dtype < DType::F16 || dtype >= DType::I4 || c.tensor(1).dtype() != dtype)
    c.fail(ErrorKind::TypeMismatch, "expected images and regions of one floating-point type, got " +
                                        describe(c.input(0)) + " and " + describe(c.input(1)));
  Alignment alignment = alignmentOf(c);
  if (alignment.size[0] * alignment.size[1] == 0)
    c.fail(ErrorKind::ShapeMismatch,
           c.nameOfInput(0) + ": expected images with elements, got " + describe(c.input(0)));
  if (dtype == DType::F64)
    return {align<double>(c, alignment, c.tensor(0), c.tensor(1))};
  return {align<float>(c, alignment, c.tensor(0).converted(DType::F32),
                       c.tensor(1).converted(DType::F32))
              .converted(dtype)};
}

/// Whether the number of samples depends on the regions.
static bool isAdaptive(const HostNode &node) { return node.getInt("sampling_ratio", 0) == 0; }

HostFamily regionOperators() {
  static const HostOperator table[] = {{"", "RoiAlign", 10, roiAlign, std::nullopt, isAdaptive}};
  return table;
}

} // namespace headrace::operators
