#include "target/coarse/write/TermWriter.h"

#include "dialect/SymbolicShape.h"
#include "dialect/scalar/Formulas.h"
#include "rewrite/accelerator/HardwareOperators.h"
#include "rewrite/tensor/TensorFacts.h"
#include "runtime/system/Error.h"
#include "transform/common/OperatorBuilders.h"

#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace headrace::coarse {

namespace {

using rewrite::Shape;
using rewrite::TermId;

class TermWriter {
public:
  TermWriter(OpBuilder &b, const MappedPiece &mapped, ArrayRef<Value> inputs,
             const BatchAxis &batch, const rewrite::Terms &terms)
      : b(b), mapped(mapped), inputs(inputs), batch(batch), terms(terms),
        shapes(terms, rewrite::allOperators()), root(mapped.piece.root()), loc(root->getLoc()) {}

  Value write() {
    for (TermId id : terms.reachableFrom(mapped.mapping.term))
      written[id] = writeOperator(id);
    Written result = written[mapped.mapping.term];
    Value wanted = root->getResult(0);
    // Values that are the same for all elements of a batch are computed once.
    if (batch.leads(wanted) && !result.leads)
      return b.create<hr::BroadcastOp>(loc, wanted.getType(), result.value);
    return reshaped(b, loc, result.value, shapeOf(wanted));
  }

private:
  /// The value of a term. Those that depend on the batch have its axis before those of the term.
  struct Written {
    Value value;
    bool leads = false;
  };

  Written writeOperator(TermId id) {
    StringRef name = terms.vocabulary().text(terms.opOf(id).name);
    loc = NameLoc::get(b.getStringAttr(operatorName(root) + ":" + name));
    rewrite::OperatorCall call = callOf(terms.opOf(id), terms.vocabulary());
    SmallVector<Written> operands;
    bool leads = false;
    for (TermId operand : terms[id].operands) {
      operands.push_back(written[operand]);
      leads |= operands.back().leads;
    }
    if (name == "tensor")
      return input(call.names[0]);
    return {valueOf(id, name, call.numbers, operands, leads), leads};
  }

  Value valueOf(TermId id, StringRef name, ArrayRef<int64_t> numbers, ArrayRef<Written> operands,
                bool leads) {
    Value x = operands[0].value;
    auto isOneOf = [&](ArrayRef<StringRef> names) { return llvm::is_contained(names, name); };
    if (isOneOf({"toChip", "toDram", "toOutput"}))
      return x;
    if (isOneOf({"split", "join"}))
      return reshaped(b, loc, x, dimsOf(id, leads));
    if (name == "transpose")
      return transpose(x, numbers[0], numbers[1]);
    if (name == "repeat")
      return repeat(operands[0], terms[id].operands[0], numbers[0], dimsOf(id, leads));
    if (name == "slice")
      return slice(x, dimOf(x, numbers[0]), numbers[1], numbers[2]);
    if (name == "slide")
      return slide(x, dimOf(x, numbers[0]), numbers[1], numbers[2], dimsOf(id, leads));
    if (name == "pad")
      return pad(x, dimOf(x, numbers[0]), numbers[1], numbers[2]);
    if (name == "concat")
      return concat(operands, dimsOf(id, leads), numbers[0]);
    if (name == "MVMul")
      return product(operands, leads, {{Rows, Summed}, {Summed}, {Rows}});
    if (name == "MMMul")
      return product(operands, leads, {{Rows, Summed}, {Others, Summed}, {Rows, Others}});
    if (name == "MVAdd") // the vector for every row
      return map(name, {x, repeat(operands[1], terms[id].operands[1], 2, {})});
    return map(name, llvm::map_to_vector(operands, [](const Written &w) { return w.value; }));
  }

  Written input(StringRef name) {
    for (auto [input, value] : llvm::zip_equal(mapped.piece.inputs, inputs)) {
      if (input.name != name)
        continue;
      SymbolicShape dims = withBatch(input.shape, input.leads);
      if (value)
        return {reshaped(b, loc, value, dims), input.leads};
      auto type = tensorType(dims, b.getF32Type());
      auto number = DenseElementsAttr::get(type, static_cast<float>(input.number));
      return {b.create<hr::ConstantOp>(loc, number)};
    }
    throw InternalError("the term reads '" + name.str() + "', which is not an input");
  }

  //===------------------------------------------------------------------------===//
  // Shapes
  //===------------------------------------------------------------------------===//

  SymbolicShape withBatch(const Shape &inner, bool leads) const {
    SymbolicShape dims;
    if (leads)
      dims.push_back(batch.size());
    for (int64_t size : inner)
      dims.push_back(constantDim(size, b.getContext()));
    return dims;
  }
  SymbolicShape dimsOf(TermId id, bool leads) const { return withBatch(shapes.shapeOf(id), leads); }

  /// The dimension of a value that is an axis of its term.
  static int64_t dimOf(Value value, int64_t axis) { return rankOf(value) - axis; }
  static int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

  //===------------------------------------------------------------------------===//
  // Movement
  //===------------------------------------------------------------------------===//

  Value transpose(Value x, int64_t a, int64_t c) {
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)));
    std::swap(order[dimOf(x, a)], order[dimOf(x, c)]);
    return transposed(b, loc, x, order);
  }

  /// With a new axis, of one element if `dims` are not given.
  Value repeat(const Written &x, TermId term, int64_t axis, const SymbolicShape &dims) {
    Shape shape = shapes.shapeOf(term);
    shape.insert(shape.end() - (axis - 1), 1);
    Value one = reshaped(b, loc, x.value, withBatch(shape, x.leads));
    auto type = dims.empty() ? one.getType() : tensorType(dims, b.getF32Type());
    return type == one.getType() ? one : b.create<hr::BroadcastOp>(loc, type, one);
  }

  Value slice(Value x, int64_t dim, int64_t from, int64_t size) {
    SymbolicShape dims = shapeOf(x);
    SmallVector<AffineExpr> starts(dims.size(), constantDim(0, b.getContext()));
    starts[dim] = constantDim(from, b.getContext());
    dims[dim] = constantDim(size, b.getContext());
    return b.create<hr::SliceOp>(loc, tensorType(dims, b.getF32Type()), x,
                                 symbolMap(starts, b.getContext()),
                                 SmallVector<int64_t>(dims.size(), 1));
  }

  Value slide(Value x, int64_t dim, int64_t size, int64_t step, const SymbolicShape &dims) {
    // Windows that follow each other are parts of the axis.
    if (size == step)
      return reshaped(b, loc, slice(x, dim, 0, *constantValue(dims[dim]) * size), dims);
    SmallVector<AffineExpr> at;
    for (int64_t i = 0, rank = rankOf(x); i < rank; ++i)
      at.push_back(b.getAffineDimExpr(i < dim ? i : i + 1));
    at[dim] = at[dim] + b.getAffineDimExpr(dim) * step;
    AffineMap read = AffineMap::get(dims.size(), 0, at, b.getContext());
    auto windows = b.create<hr::ComputeOp>(loc, tensorType(dims, b.getF32Type()), ValueRange(x),
                                           ValueRange(), symbolMap(dims, b.getContext()),
                                           b.getAffineMapArrayAttr({read}), 0, TypedAttr());
    OpBuilder::InsertionGuard guard(b);
    Block *body = b.createBlock(&windows.getBody(), {}, {b.getF32Type()}, {loc});
    b.create<hr::YieldOp>(loc, body->getArgument(0));
    return windows;
  }

  Value pad(Value x, int64_t dim, int64_t before, int64_t after) {
    SmallVector<int64_t> low(rankOf(x), 0), high(rankOf(x), 0);
    low[dim] = before;
    high[dim] = after;
    return b.create<hr::PadOp>(loc, x, low, high, b.getF32FloatAttr(0));
  }

  Value concat(ArrayRef<Written> parts, const SymbolicShape &result, int64_t axis) {
    bool leads = llvm::any_of(parts, [](const Written &part) { return part.leads; });
    SmallVector<Value> values;
    for (const Written &part : parts) {
      Value value = part.value;
      if (leads && !part.leads) {
        SymbolicShape dims = shapeOf(value);
        dims.insert(dims.begin(), batch.size());
        value = b.create<hr::BroadcastOp>(loc, tensorType(dims, b.getF32Type()), value);
      }
      values.push_back(value);
    }
    return b.create<hr::ConcatOp>(loc, values, static_cast<int64_t>(result.size()) - axis);
  }

  //===------------------------------------------------------------------------===//
  // Computation
  //===------------------------------------------------------------------------===//

  enum Role { Rows, Others, Summed };

  /// A sum of products. `roles` are those of the last axes of the operands and of the result; all
  /// three have the axes before those in common.
  Value product(ArrayRef<Written> operands, bool leads, ArrayRef<SmallVector<Role, 2>> roles) {
    int64_t common = rankOf(operands[0].value) - operands[0].leads - 2;
    SmallVector<AffineMap> maps;
    bool lead[] = {operands[0].leads, operands[1].leads, leads};
    for (auto [last, leading] : llvm::zip_equal(roles, lead)) {
      SmallVector<AffineExpr> dims;
      for (int64_t i = leading ? 0 : 1; i <= common; ++i)
        dims.push_back(b.getAffineDimExpr(i));
      for (Role role : last)
        dims.push_back(b.getAffineDimExpr(common + 1 + role));
      maps.push_back(AffineMap::get(common + 4, 0, dims, b.getContext()));
    }
    // Only dimensions that exist: the batch may be missing, and operands may be vectors.
    maps = compressUnusedDims(maps);
    return b.create<hr::ContractOp>(loc, operands[0].value, operands[1].value,
                                    b.getAffineMapArrayAttr(maps), TypeAttr(), UnitAttr(),
                                    UnitAttr());
  }

  Value map(StringRef name, ArrayRef<Value> operands) {
    const NamedFormula *formula = findFormula(rewrite::functionOf(std::string_view(name)));
    if (!formula || formula->operands != operands.size())
      throw InternalError("no operator of level 1 is known for '" + name.str() + "'");
    return createMap(b, loc, operands, [&](OpBuilder &inner, ValueRange x) {
      ScalarMath math(inner, loc);
      return formula->write(math, x);
    });
  }

  OpBuilder &b;
  const MappedPiece &mapped;
  ArrayRef<Value> inputs;
  const BatchAxis &batch;
  const rewrite::Terms &terms;
  rewrite::TermShapes shapes;
  Operation *root;
  Location loc;
  llvm::DenseMap<TermId, Written> written;
};

} // namespace

Value writeTerm(OpBuilder &builder, const MappedPiece &mapped, ArrayRef<Value> inputs,
                const BatchAxis &batch, const rewrite::Terms &terms) {
  return TermWriter(builder, mapped, inputs, batch, terms).write();
}

} // namespace headrace::coarse
