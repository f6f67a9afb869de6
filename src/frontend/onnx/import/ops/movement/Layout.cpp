// The same elements under another shape or order, and repeated elements.
#include "frontend/onnx/import/ops/Composing.h"

using namespace mlir;

namespace headrace::onnx {

//===--------------------------------------------------------------------------===//
// Reshape and its kin: each is a rule for the result's shape
//===--------------------------------------------------------------------------===//

using ShapeRule = SymbolicShape (*)(NodeContext &);

template <ShapeRule rule> static void reshapeBy(NodeContext &c) {
  SymbolicShape dims = rule(c);
  c.result(c.reshape(c.input(0), dims));
}
template <ShapeRule rule> static std::optional<SymbolicValue> evaluateBy(NodeContext &c) {
  return shapes::reshaped(c, rule(c));
}

/// The size that -1 stands for: the elements that the other sizes leave.
static AffineExpr inferredSize(NodeContext &c, ArrayRef<AffineExpr> input,
                               ArrayRef<AffineExpr> others) {
  auto impossible = [&] {
    c.fail(ErrorKind::ShapeMismatch,
           "the size for -1 is not determined: {0} elements do not divide into {1}",
           c.text({c.product(input)}), c.text(others));
  };
  // Equal sizes cancel first, so that dynamic dimensions need no division.
  SymbolicShape have(input), want;
  for (AffineExpr size : others) {
    auto *equal = llvm::find_if(have, [&](AffineExpr dim) { return sameSize(dim, size); });
    if (constantValue(size) != 0 && equal != have.end())
      have.erase(equal);
    else
      want.push_back(size);
  }
  AffineExpr total = c.product(have), taken = c.product(want);
  auto totalNumber = constantValue(total), takenNumber = constantValue(taken);
  if (takenNumber == 0 || (totalNumber && takenNumber && *totalNumber % *takenNumber != 0))
    impossible();
  auto quotient = exactQuotient(total, taken);
  if (!quotient)
    impossible();
  return *quotient;
}

static SymbolicShape reshapedShape(NodeContext &c) {
  SymbolicShape input = c.shape(0), result, others;
  bool keepZero = c.node.getInt("allowzero", 0) != 0;
  std::optional<size_t> inferred;
  // Before version 5 the shape is an attribute.
  SymbolicShape target;
  if (c.opset >= 5)
    target = c.sizes(1).elements;
  else
    for (int64_t size : c.node.getInts("shape"))
      target.push_back(c.dim(size));
  for (auto [i, size] : llvm::enumerate(target)) {
    auto number = constantValue(size);
    if (number == -1) {
      if (inferred)
        c.fail(ErrorKind::InvalidModel, "expected one -1 at most in the shape");
      inferred = i;
    } else if (number == 0 && !keepZero) {
      if (i >= input.size())
        c.fail(ErrorKind::ShapeMismatch, "size {0} is copied from {1}, which has no such dimension",
               i, c.text(input));
      size = input[i];
    } else if (number && *number < -1) {
      c.fail(ErrorKind::InvalidModel, "expected sizes of -1 or more, got {0}", *number);
    }
    result.push_back(size);
    if (inferred != i)
      others.push_back(size);
  }
  c.checkedType(others, c.type(0).getElementType());
  if (inferred)
    result[*inferred] = inferredSize(c, input, others);
  return result;
}

static SymbolicShape flattenedShape(NodeContext &c) {
  SymbolicShape input = c.shape(0);
  int64_t rank = input.size(), axis = c.node.getInt("axis", 1);
  axis = axis == rank ? rank : c.axis(axis, rank);
  return {c.product(ArrayRef(input).take_front(axis)), c.product(ArrayRef(input).drop_front(axis))};
}

/// Without axes all sizes of 1 go: free ones are restricted to those that stay.
static SymbolicShape squeezedShape(NodeContext &c) {
  SymbolicShape input = c.shape(0), result;
  auto list = c.integersOf("axes", 1);
  SmallVector<int64_t> axes;
  if (list)
    axes = c.axes(*list, input.size());
  for (auto [i, dim] : llvm::enumerate(input)) {
    bool isOne = constantValue(dim) == 1;
    bool named = llvm::is_contained(axes, static_cast<int64_t>(i));
    if (named && !isOne)
      c.fail(ErrorKind::ShapeMismatch, "axis {0}: expected size 1, got {1}", i, c.text({dim}));
    if (!list && !constantValue(dim))
      c.requireNonNegative(dim - 2, "a size less the two that keep its axis");
    if (list ? !named : !isOne)
      result.push_back(dim);
  }
  return result;
}

static SymbolicShape unsqueezedShape(NodeContext &c) {
  SymbolicShape input = c.shape(0), result;
  auto list = c.integersOf("axes", 1);
  if (!list)
    c.fail(ErrorKind::MissingInput, "the axes are missing");
  int64_t rank = input.size() + list->size();
  SmallVector<int64_t> axes = c.axes(*list, rank);
  auto *next = input.begin();
  for (int64_t i = 0; i < rank; ++i)
    result.push_back(llvm::is_contained(axes, i) ? c.dim(1) : *next++);
  return result;
}

//===--------------------------------------------------------------------------===//
// Order of elements
//===--------------------------------------------------------------------------===//

static void importTranspose(NodeContext &c) {
  Value input = c.input(0);
  int64_t rank = c.rank(0);
  auto reversed = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank)));
  std::vector<int64_t> permutation = c.node.getInts("perm", {reversed.begin(), reversed.end()});
  c.result(c.transpose(input, permutation));
}

/// [N, C, H, W] whose channels or positions are blocks, for the two operators below.
static int64_t blockSize(NodeContext &c) {
  c.checkRank(0, 4);
  int64_t block = c.node.getInt("blocksize", 0);
  if (block < 1 || block > (1 << 15))
    c.fail(ErrorKind::InvalidModel, "attribute 'blocksize': expected 1 to 32768, got {0}", block);
  return block;
}

static AffineExpr quotient(NodeContext &c, AffineExpr size, int64_t divisor) {
  auto result = exactQuotient(size, c.dim(divisor));
  if (!result)
    c.fail(ErrorKind::ShapeMismatch, "expected a size that {0} divides, got {1}", divisor,
           c.text({size}));
  return *result;
}

static void importDepthToSpace(NodeContext &c) {
  Value input = c.input(0);
  int64_t block = blockSize(c);
  SymbolicShape s = c.shape(0);
  AffineExpr b = c.dim(block), depth = quotient(c, s[1], block * block);
  bool columnFirst = c.node.getString("mode", "DCR") == "CRD";
  Value split = columnFirst ? c.reshape(input, {s[0], depth, b, b, s[2], s[3]})
                            : c.reshape(input, {s[0], b, b, depth, s[2], s[3]});
  Value moved =
      columnFirst ? c.transpose(split, {0, 1, 4, 2, 5, 3}) : c.transpose(split, {0, 3, 4, 1, 5, 2});
  c.result(c.reshape(moved, {s[0], depth, s[2] * block, s[3] * block}));
}

static void importSpaceToDepth(NodeContext &c) {
  Value input = c.input(0);
  int64_t block = blockSize(c);
  SymbolicShape s = c.shape(0);
  AffineExpr b = c.dim(block);
  AffineExpr height = quotient(c, s[2], block), width = quotient(c, s[3], block);
  Value split = c.reshape(input, {s[0], s[1], height, b, width, b});
  bool columnFirst = c.node.getString("mode", "DCR") == "CRD";
  Value moved =
      columnFirst ? c.transpose(split, {0, 1, 3, 5, 2, 4}) : c.transpose(split, {0, 3, 5, 1, 2, 4});
  c.result(c.reshape(moved, {s[0], s[1] * (block * block), height, width}));
}

//===--------------------------------------------------------------------------===//
// Repetition
//===--------------------------------------------------------------------------===//

static void importExpand(NodeContext &c) {
  Value input = c.input(0);
  c.checkedType(c.sizes(1).elements, c.type(0).getElementType());
  auto dims = broadcastShapes(c.shape(0), c.sizes(1).elements);
  if (!dims)
    c.fail(ErrorKind::ShapeMismatch, "{0} cannot be expanded to {1}", c.text(c.shape(0)),
           c.text(c.sizes(1).elements));
  c.result(c.broadcast(input, *dims));
}

/// Before version 6: how often, and along which axis.
static SymbolicShape repeatsOf(NodeContext &c) {
  if (c.opset >= 6)
    return c.sizes(1).elements;
  std::vector<int64_t> along = c.integers(2);
  if (c.sizes(1).elements.size() != 1 || along.size() != 1)
    c.fail(ErrorKind::InvalidModel, "expected one number of repeats and one axis");
  return withDim(SymbolicShape(c.rank(0), c.dim(1)), c.axis(along[0], c.rank(0)),
                 c.sizes(1).elements[0]);
}

/// [a, b] -> [1, a, 1, b] -> [r0, a, r1, b] -> [r0 * a, r1 * b].
static void importTile(NodeContext &c) {
  Value input = c.input(0);
  SymbolicShape shape = c.shape(0), repeats = repeatsOf(c);
  if (repeats.size() != shape.size())
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1} repeats, got {2}", c.nameOfInput(1),
           shape.size(), repeats.size());
  c.checkedType(repeats, c.type(0).getElementType());
  SymbolicShape split, repeated, result;
  for (auto [dim, repeat] : llvm::zip(shape, repeats)) {
    if (constantValue(repeat) != 1) {
      split.push_back(c.dim(1));
      repeated.push_back(repeat);
    }
    split.push_back(dim);
    repeated.push_back(dim);
    result.push_back(dim * repeat);
  }
  c.checkedType(result, c.type(0).getElementType());
  c.result(c.reshape(c.broadcast(c.reshape(input, split), repeated), result));
}

OperatorFamily layoutOperators() {
  static const Operator table[] = {
      {"Reshape", 7, reshapeBy<reshapedShape>, evaluateBy<reshapedShape>},
      {"Flatten", 7, reshapeBy<flattenedShape>, evaluateBy<flattenedShape>},
      {"Squeeze", 7, reshapeBy<squeezedShape>, evaluateBy<squeezedShape>},
      {"Unsqueeze", 7, reshapeBy<unsqueezedShape>, evaluateBy<unsqueezedShape>},
      {"Transpose", 7, importTranspose, shapes::transpose},
      {"DepthToSpace", 7, importDepthToSpace},
      {"SpaceToDepth", 7, importSpaceToDepth},
      {"Expand", 8, importExpand, shapes::expand},
      {"Tile", 7, importTile},
  };
  return table;
}

} // namespace headrace::onnx
