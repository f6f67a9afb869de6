// Windows written instead of read: every element of the result sums those of the windows that
// contain it.
#include "frontend/common/Compute.h"
#include "frontend/common/Products.h"
#include "frontend/onnx/import/Operators.h"
#include "frontend/onnx/import/ops/windows/Windows.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace::onnx {

namespace {

struct TransposedAxis {
  int64_t size, stride, dilation; // of the window
  AffineExpr from, to;
  int64_t low, high; // zeros before and after the spread input; negative ones are cut off
};

/// The attributes of a transposed convolution. If sizes of the result are given, pads follow
/// from them.
SmallVector<TransposedAxis> readAxes(NodeContext &c, ArrayRef<int64_t> window) {
  size_t rank = window.size();
  SmallVector<int64_t> strides = windowNumbers(c, "strides", rank, 1, 1);
  SmallVector<int64_t> dilations = windowNumbers(c, "dilations", rank, 1, 1);
  SmallVector<int64_t> pads = windowNumbers(c, "pads", 2 * rank, 0, 0);
  SmallVector<int64_t> more = windowNumbers(c, "output_padding", rank, 0, 0);
  std::string mode = c.node.getString("auto_pad", "NOTSET");
  bool isSame = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!isSame && mode != "NOTSET" && mode != "VALID")
    c.fail(ErrorKind::InvalidModel,
           "attribute 'auto_pad': expected NOTSET, VALID, SAME_UPPER or SAME_LOWER, got {0}",
           inQuotes(mode));
  if (mode == "VALID")
    pads.assign(2 * rank, 0);
  std::vector<int64_t> sizes = c.node.getInts("output_shape");
  if (sizes.size() == rank + 2)
    sizes.erase(sizes.begin(), sizes.begin() + 2);
  if (!sizes.empty() && sizes.size() != rank)
    c.fail(ErrorKind::InvalidModel, "attribute 'output_shape': expected {0} sizes, got {1}", rank,
           sizes.size());
  SmallVector<TransposedAxis> axes;
  for (size_t i = 0; i < rank; ++i) {
    int64_t extent = (window[i] - 1) * dilations[i] + 1;
    AffineExpr from = c.shape(0)[i + 2];
    AffineExpr whole = (from - 1) * strides[i] + (extent + more[i]);
    int64_t low = pads[i];
    AffineExpr to = whole - (pads[i] + pads[rank + i]);
    if (isSame || !sizes.empty()) {
      to = sizes.empty() ? from * strides[i] : c.dim(sizes[i]);
      auto total = constantValue(normalized(whole - to));
      if (!total)
        c.fail(ErrorKind::Unsupported,
               "a given output shape over the dynamic dimension {0} is not supported",
               c.text({from}));
      int64_t cut = std::max<int64_t>(*total, 0);
      low = mode == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
    }
    auto high = constantValue(
        normalized(to + (extent - 1) - (extent - 1 - low) - ((from - 1) * strides[i] + 1)));
    axes.push_back({window[i], strides[i], dilations[i], from, to, extent - 1 - low, *high});
  }
  return axes;
}

/// The input's elements a stride apart, zeros between and around them.
Value spread(NodeContext &c, Value input, ArrayRef<TransposedAxis> axes) {
  SymbolicShape starts(2, c.dim(0)), sizes = shapeOf(input), cuts(2, c.dim(0)), kept = sizes;
  SmallVector<int64_t> steps(2, 1), ones(sizes.size(), 1);
  for (auto [i, axis] : llvm::enumerate(axes)) {
    int64_t low = std::max<int64_t>(axis.low, 0), high = std::max<int64_t>(axis.high, 0);
    AffineExpr length = (axis.from - 1) * axis.stride + 1;
    starts.push_back(c.dim(low));
    steps.push_back(axis.stride);
    sizes[i + 2] = length + (low + high);
    cuts.push_back(c.dim(std::max<int64_t>(-axis.low, 0)));
    kept[i + 2] = length + (axis.low + axis.high);
  }
  Type type = cast<RankedTensorType>(input.getType()).getElementType();
  Value placed =
      c.create<hr::PlaceOp>(c.checkedType(sizes, type), input, symbolMap(starts, c.context), steps);
  return c.slice(placed, cuts, kept, ones);
}

/// [C, M/groups, window...] as the filter [M, C/groups, window...] that reads backwards.
Value turnedFilter(NodeContext &c, Value filter, int64_t groups) {
  SymbolicShape shape = shapeOf(filter);
  AffineExpr count = c.dim(groups), channels = *exactQuotient(shape[0], count);
  SymbolicShape apart{count, channels};
  apart.append(shape.begin() + 1, shape.end());
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, apart.size()));
  std::swap(order[1], order[2]);
  SymbolicShape together{c.product({count, shape[1]}), channels}, starts(2, c.dim(0));
  SmallVector<int64_t> steps(2, 1);
  for (AffineExpr size : ArrayRef<AffineExpr>(shape).drop_front(2)) {
    together.push_back(size);
    starts.push_back(size - 1);
    steps.push_back(-1);
  }
  Value turned = c.reshape(c.transpose(c.reshape(filter, apart), order), together);
  return c.slice(turned, starts, together, steps);
}

/// Whether windows neither overlap nor leave gaps.
bool areSideBySide(ArrayRef<TransposedAxis> axes) {
  return llvm::all_of(axes, [](const TransposedAxis &axis) {
    return axis.size == axis.stride && (axis.dilation == 1 || axis.size == 1) &&
           axis.low == (axis.size - 1) * axis.dilation &&
           sameSize(axis.to, axis.from * axis.stride);
  });
}

/// Each element of the input gives a window of its own: a product of matrices, channels last, whose
/// columns are the window's elements.
class WindowsByProduct {
public:
  WindowsByProduct(NodeContext &c, ArrayRef<TransposedAxis> axes) : c(c), axes(axes) {}

  Value run(Value input, Value filter) {
    size_t rank = axes.size();
    SmallVector<int64_t> toLast{0}, toFirst{0, static_cast<int64_t>(rank) + 1};
    for (size_t i = 0; i < rank; ++i) {
      toLast.push_back(static_cast<int64_t>(i) + 2);
      toFirst.push_back(static_cast<int64_t>(i) + 1);
    }
    toLast.push_back(1);
    Value image = c.transpose(input, toLast), columns = c.transpose(filter, toLast);
    SymbolicShape shape{shapeOf(image).front()};
    for (const TransposedAxis &axis : axes)
      shape.push_back(axis.to);
    shape.push_back(shapeOf(columns).back());
    // The elements of the last dimension's window lie side by side in the result, too.
    constexpr int64_t kFullVector = 16;
    bool isInOrder = *constantValue(shape.back()) * axes.back().size >= kFullVector;
    Value windows = isInOrder ? inOrder(image, columns) : reordered(image, columns);
    return c.transpose(c.reshape(windows, shape), toFirst);
  }

private:
  /// The product as it is in the result: [N, size, window, ..., last size, last window * M].
  Value inOrder(Value image, Value columns) {
    std::string rows = "n", weights = "c", result = "n";
    SymbolicShape from = shapeOf(columns), packed{from.front()};
    for (size_t i = 0; i < axes.size(); ++i) {
      char size = static_cast<char>('p' + i), window = static_cast<char>('P' + i);
      rows += size;
      result += size;
      if (i + 1 == axes.size())
        break;
      weights += window;
      result += window;
      packed.push_back(from[1 + i]);
    }
    packed.push_back(c.product(ArrayRef<AffineExpr>(from).take_back(2)));
    return contract(c, image, c.reshape(columns, packed), rows + "c", weights + "m", result + "m");
  }

  /// Few columns, all in one product, and then in the result's order.
  Value reordered(Value image, Value columns) {
    std::string rows = "n";
    SymbolicShape from = shapeOf(columns), apart = shapeOf(image);
    apart.pop_back();
    apart.append(from.begin() + 1, from.end());
    SmallVector<int64_t> order{0};
    auto rank = static_cast<int64_t>(axes.size());
    for (int64_t i = 0; i < rank; ++i) {
      rows += static_cast<char>('p' + i);
      order.append({1 + i, 1 + rank + i});
    }
    order.push_back(2 * rank + 1);
    AffineExpr count = c.product(ArrayRef<AffineExpr>(from).drop_front());
    Value product =
        contract(c, image, c.reshape(columns, {from.front(), count}), rows + "c", "cm", rows + "m");
    return c.transpose(c.reshape(product, apart), order);
  }

  NodeContext &c;
  ArrayRef<TransposedAxis> axes;
};

} // namespace

/// A convolution of the input spread by the strides with the filter turned around; a product if
/// windows are side by side.
static void importConvTranspose(NodeContext &c) {
  Value input = c.input(0, Accepts::Floats), filter = c.input(1);
  c.checkSameType(0, 1);
  size_t spatial = spatialRank(c);
  c.checkRank(1, c.rank(0));
  if (!c.type(1).hasStaticShape())
    c.fail(ErrorKind::Unsupported, "{0}: expected a constant shape, got {1}", c.nameOfInput(1),
           c.text(c.shape(1)));
  int64_t groups = c.node.getInt("group", 1);
  ArrayRef<int64_t> shape = c.type(1).getShape();
  if (groups < 1 || shape[0] % groups != 0 || !sameSize(c.shape(0)[1], c.shape(1)[0]) ||
      llvm::is_contained(shape, 0))
    c.fail(ErrorKind::ShapeMismatch,
           "{0}: expected a filter of {1} channels in {2} groups, got {3}", c.nameOfInput(1),
           c.text({c.shape(0)[1]}), groups, c.text(c.shape(1)));
  SmallVector<TransposedAxis> axes = readAxes(c, shape.drop_front(2));
  SmallVector<int64_t> ones(spatial, 1), none(2 * spatial, 0), dilations;
  for (const TransposedAxis &axis : axes)
    dilations.push_back(axis.dilation);
  bool isProduct = groups == 1 && areSideBySide(axes);
  Value result =
      isProduct
          ? WindowsByProduct(c, axes).run(input, filter)
          : c.infer<hr::ConvOp>(spread(c, input, axes), turnedFilter(c, filter, groups), ones,
                                dilations, none, groups, hr::ChannelLayout::First, TypeAttr());
  if (c.has(2)) {
    c.checkSameType(0, 2);
    c.checkRank(2, 1);
    Value bias = perFeature(c, c.input(2), static_cast<int64_t>(spatial));
    result = c.map({result, bias}, [](ScalarMath &m, ValueRange x) { return m.add(x[0], x[1]); });
  }
  c.result(result);
}

/// [N, C * window, windows]: each element of the image sums those of the windows that contain it.
static void importCol2Im(NodeContext &c) {
  Value input = c.input(0, Accepts::Numbers);
  c.checkRank(0, 3);
  SymbolicShape image = c.sizes(1).elements;
  std::vector<int64_t> window = c.integers(2);
  auto rank = static_cast<unsigned>(window.size());
  if (rank == 0 || image.size() != rank || llvm::any_of(window, [](int64_t k) { return k < 1; }))
    c.fail(ErrorKind::InvalidModel, "expected an image and a window of one rank, got {0} and {1}",
           image.size(), rank);
  SmallVector<int64_t> strides = windowNumbers(c, "strides", rank, 1, 1);
  SmallVector<int64_t> dilations = windowNumbers(c, "dilations", rank, 1, 1);
  SmallVector<int64_t> pads = windowNumbers(c, "pads", 2 * rank, 0, 0);
  int64_t elements = 1;
  for (int64_t size : window)
    if (llvm::MulOverflow(elements, size, elements))
      c.fail(ErrorKind::InvalidModel, "the window is too large");
  auto channels = exactQuotient(c.shape(0)[1], c.dim(elements));
  SymbolicShape windows;
  for (unsigned i = 0; i < rank; ++i) {
    AffineExpr room = image[i] + (pads[i] + pads[rank + i] - (window[i] - 1) * dilations[i] - 1);
    windows.push_back(normalized(room.floorDiv(strides[i]) + 1));
  }
  if (!channels || !sameSize(c.product(windows), c.shape(0)[2]))
    c.fail(ErrorKind::ShapeMismatch,
           "{0}: expected channels times {1} along dimension 1 and {2} windows, got {3}",
           c.nameOfInput(0), elements, c.text({c.product(windows)}), c.text(c.shape(0)));
  SymbolicShape apart{c.shape(0)[0], *channels}, domain{c.shape(0)[0], *channels};
  domain.append(image);
  for (int64_t size : window) {
    apart.push_back(c.dim(size));
    domain.push_back(c.dim(size));
  }
  apart.append(windows);
  Compute compute{domain, rank, hr::ReduceKind::Sum, {}, {c.reshape(input, apart)}};
  Type type = c.type(0).getElementType();
  c.result(writeCompute(c, compute, [&](PointMath &m) {
    SmallVector<Value> place{m.position(0), m.position(1)}, starts;
    Value isRead;
    for (unsigned i = 0; i < rank; ++i) {
      Value tap = m.position(2 + rank + i), stride = m.integer(strides[i]);
      Value distance =
          m.sub(m.add(m.position(2 + i), m.integer(pads[i])), m.mul(tap, m.integer(dilations[i])));
      Value start = m.div(distance, stride);
      Value isThere =
          m.both(m.equal(m.mul(start, stride), distance), m.isInside(start, m.size(windows[i])));
      isRead = isRead ? m.both(isRead, isThere) : isThere;
      place.push_back(tap);
      starts.push_back(start);
    }
    place.append(starts);
    return m.select(isRead, m.element(0, place), m.numberOf(type, 0));
  }));
}

OperatorFamily transposedWindowOperators() {
  static const Operator table[] = {
      {"ConvTranspose", 7, importConvTranspose},
      {"Col2Im", 18, importCol2Im},
  };
  return table;
}

} // namespace headrace::onnx
