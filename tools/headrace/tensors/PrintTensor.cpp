#include "tensors/PrintTensor.h"

#include "tensors/Element.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>

namespace headrace::cli {

namespace {

constexpr int64_t maxShownWhole = 200;
constexpr size_t lineWidth = 100;
constexpr int64_t gap = -1; // stands for the indices left out

class ValuesPrinter {
public:
  explicit ValuesPrinter(const Tensor &tensor) : tensor(tensor), rank(tensor.shape().size()) {}

  std::string print() {
    chooseFormat();
    return text(0, 0);
  }

private:
  // The indices to show along a dimension.
  std::vector<int64_t> shown(size_t dim) const {
    int64_t size = tensor.shape()[dim];
    int64_t edge = rank <= 3 ? 3 : rank <= 5 ? 2 : 1;
    bool whole = tensor.elements() <= maxShownWhole || size <= 2 * edge;
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < size; ++i) {
      if (!whole && i == edge) {
        indices.push_back(gap);
        i = size - edge;
      }
      indices.push_back(i);
    }
    return indices;
  }

  void forEachShown(size_t dim, int64_t offset, const std::function<void(int64_t)> &visit) const {
    if (dim == rank)
      return visit(offset);
    for (int64_t i : shown(dim))
      if (i != gap)
        forEachShown(dim + 1, offset * tensor.shape()[dim] + i, visit);
  }

  // NumPy's rule: exponents if the magnitudes are far apart or far from 1.
  void chooseFormat() {
    long double smallest = INFINITY, largest = 0;
    bool fractions = false;
    forEachShown(0, 0, [&](int64_t i) {
      long double magnitude = std::abs(elementAt(tensor, i));
      if (!std::isfinite(magnitude) || magnitude == 0)
        return;
      smallest = std::min(smallest, magnitude);
      largest = std::max(largest, magnitude);
      fractions |= magnitude != std::floor(magnitude);
    });
    if (isFloat(tensor.dtype()) && largest > 0) {
      exponents = largest >= 1e8L || smallest < 1e-4L || largest / smallest > 1e5L;
      decimals = fractions || exponents ? 4 : 1;
    }
    forEachShown(0, 0, [&](int64_t i) { width = std::max(width, element(i).size()); });
  }

  std::string element(int64_t i) const {
    long double value = elementAt(tensor, i);
    if (tensor.dtype() == DType::Bool)
      return value != 0 ? "true" : "false";
    if (!isFloat(tensor.dtype()))
      return fmt::format("{:.0f}", value);
    if (!std::isfinite(value))
      return fmt::format("{}", static_cast<double>(value));
    return exponents ? fmt::format("{:.{}e}", value, decimals)
                     : fmt::format("{:.{}f}", value, decimals);
  }

  std::string text(size_t dim, int64_t offset) const {
    if (dim == rank)
      return element(offset);
    return dim + 1 == rank ? rowText(dim, offset) : blockText(dim, offset);
  }

  // The last dimension: values side by side, in lines of bounded width.
  std::string rowText(size_t dim, int64_t offset) const {
    std::string row = "[";
    size_t column = dim + 1;
    std::vector<int64_t> indices = shown(dim);
    for (size_t n = 0; n < indices.size(); ++n) {
      std::string item =
          indices[n] == gap
              ? "..."
              : fmt::format("{:>{}}", element(offset * tensor.shape()[dim] + indices[n]), width);
      if (n > 0 && column + 1 + item.size() > lineWidth - rank) {
        row += "\n" + std::string(dim + 1, ' ');
        column = dim + 1;
      } else if (n > 0) {
        row += ' ';
        ++column;
      }
      row += item;
      column += item.size();
    }
    return row + "]";
  }

  std::string blockText(size_t dim, int64_t offset) const {
    std::string separator = std::string(rank - dim - 1, '\n') + std::string(dim + 1, ' ');
    std::string block = "[";
    std::vector<int64_t> indices = shown(dim);
    for (size_t n = 0; n < indices.size(); ++n) {
      block += n ? separator : "";
      block += indices[n] == gap ? "..." : text(dim + 1, offset * tensor.shape()[dim] + indices[n]);
    }
    return block + "]";
  }

  const Tensor &tensor;
  size_t rank;
  bool exponents = false;
  int decimals = 1;
  size_t width = 0;
};

} // namespace

std::string valuesText(const Tensor &tensor) {
  // Sizes before a zero would print as many empty brackets.
  return tensor.elements() == 0 ? "[]" : ValuesPrinter(tensor).print();
}

} // namespace headrace::cli
