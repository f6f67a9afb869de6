// Tensors made larger, smaller or partly zero, by the position of each element.
#include "frontend/onnx/import/ops/movement/Padding.h"

#include "frontend/common/Compute.h"
#include "frontend/onnx/import/Operators.h"

using namespace mlir;

namespace headrace::onnx {

/// The remainder of a division rounded down, for a divisor above 0.
static Value floorMod(PointMath &m, Value a, Value b) {
  Value rest = m.remainder(a, b);
  return m.select(m.isNegative(rest), m.add(rest, b), rest);
}

static Value insideIndex(PointMath &m, StringRef mode, Value at, AffineExpr dim) {
  Value size = m.size(dim), one = m.integer(1);
  if (mode == "wrap")
    return floorMod(m, at, m.max(size, one));
  if (mode != "reflect")
    return at; // beyond the end counts as the end
  Value last = m.sub(size, one);
  Value around = floorMod(m, at, m.max(m.add(last, last), one));
  return m.select(m.less(last, around), m.sub(m.add(last, last), around), around);
}

Value padByReading(NodeContext &c, Value input, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                   StringRef mode, Value value) {
  SymbolicShape from = shapeOf(input), domain = from;
  for (auto [i, size] : llvm::enumerate(domain))
    size = size + (low[i] + high[i]);
  bool fills = mode == "constant";
  if (!fills && llvm::any_of(from, [](AffineExpr size) { return constantValue(size) == 0; }))
    c.fail(ErrorKind::ShapeMismatch, "expected elements to repeat, got {0}", c.text(from));
  Compute compute{domain, 0, {}, {}, {input}};
  if (fills)
    compute.reads.push_back({c.reshape(value, {}), {}});
  return writeCompute(c, compute, [&](PointMath &m) {
    SmallVector<Value> place;
    Value isInside;
    for (auto [i, size] : llvm::enumerate(from)) {
      Value at = m.position(i);
      if (low[i] != 0)
        at = m.sub(at, m.integer(low[i]));
      if (fills && (low[i] != 0 || high[i] != 0)) {
        Value here = m.isInside(at, m.size(size));
        isInside = isInside ? m.both(isInside, here) : here;
      }
      place.push_back(low[i] == 0 && high[i] == 0 ? at : insideIndex(m, mode, at, size));
    }
    Value element = m.element(0, place);
    return isInside ? m.select(isInside, element, m.read(0)) : element;
  });
}

/// The middle of the input, or the input in the middle of zeros; an odd element is at the end.
static void importCenterCropPad(NodeContext &c) {
  Value input = c.input(0);
  SymbolicShape shape = c.shape(0), wanted = c.sizes(1).elements;
  std::vector<int64_t> given = c.node.getInts("axes");
  SmallVector<int64_t> axes = c.axes(given, c.rank(0));
  if (given.empty())
    axes = llvm::to_vector(llvm::seq<int64_t>(0, c.rank(0)));
  if (wanted.size() != axes.size())
    c.fail(ErrorKind::InvalidModel, "{0}: expected {1} sizes, got {2}", c.nameOfInput(1),
           axes.size(), wanted.size());
  SymbolicShape starts(shape.size(), c.dim(0)), sizes = shape;
  SmallVector<int64_t> low(shape.size(), 0), high(shape.size(), 0);
  for (auto [axis, size] : llvm::zip(axes, wanted)) {
    auto more = constantValue(normalized(size - shape[axis]));
    if (!more && c.decideNonNegative(shape[axis] - size, "size less the middle of it")) {
      starts[axis] = (shape[axis] - size).floorDiv(2);
      sizes[axis] = size;
      continue;
    }
    if (!more)
      c.fail(ErrorKind::Unsupported, "expected sizes at a known distance, got {0} and {1}",
             c.text({shape[axis]}), c.text({size}));
    if (*more < 0) {
      starts[axis] = c.dim(-*more / 2);
      sizes[axis] = size;
    } else {
      low[axis] = *more / 2;
      high[axis] = *more - *more / 2;
    }
  }
  Value cut = c.slice(input, starts, sizes, SmallVector<int64_t>(shape.size(), 1));
  Type type = c.type(0).getElementType();
  TypedAttr zero = cast<TypedAttr>(c.builder.getZeroAttr(type));
  bool grows = llvm::any_of(high, [](int64_t pad) { return pad > 0; });
  c.result(grows ? c.infer<hr::PadOp>(cut, low, high, zero) : cut);
}

/// One triangle of the matrices; the diagonal that ends it may be known only as the model runs.
static void importTrilu(NodeContext &c) {
  Value input = c.input(0);
  SymbolicShape shape = c.shape(0);
  auto rank = static_cast<unsigned>(shape.size());
  if (rank < 2)
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected rank 2 or more, got {1}", c.nameOfInput(0),
           c.text(shape));
  bool upper = c.node.getInt("upper", 1) != 0;
  Compute compute{shape, 0, {}, {{input, dimensions(c, 0, rank)}}, {}};
  if (c.has(1))
    compute.reads.push_back({c.reshape(c.input(1, Accepts::Integers), {}), {}});
  Type type = c.type(0).getElementType();
  c.result(writeCompute(c, compute, [&](PointMath &m) {
    Value diagonal = m.sub(m.position(rank - 1), m.position(rank - 2));
    Value end = c.has(1) ? m.toInteger(m.read(1)) : m.integer(0);
    Value isOutside = upper ? m.less(diagonal, end) : m.less(end, diagonal);
    return m.select(isOutside, m.numberOf(type, 0), m.read(0));
  }));
}

static void importEyeLike(NodeContext &c) {
  c.checkRank(0, 2);
  Type type = c.node.find("dtype") ? c.elementType("dtype", 0) : c.type(0).getElementType();
  int64_t diagonal = c.node.getInt("k", 0);
  c.result(writeCompute(c, {c.shape(0), 0, {}, {}, {}}, [&](PointMath &m) {
    Value distance = m.sub(m.position(1), m.position(0));
    return m.select(m.equal(distance, m.integer(diagonal)), m.numberOf(type, 1),
                    m.numberOf(type, 0));
  }));
}

OperatorFamily paddingOperators() {
  static const Operator table[] = {
      {"CenterCropPad", 18, importCenterCropPad},
      {"Trilu", 14, importTrilu},
      {"EyeLike", 9, importEyeLike},
  };
  return table;
}

} // namespace headrace::onnx
