// Compiled data movement and the shapes programs take, against the reference.
#include "CompiledProgram.h"

using namespace mlir;

namespace headrace {
namespace {

Value slice(CompiledProgram &p, Value input, ArrayRef<int64_t> starts, ArrayRef<int64_t> steps,
            ArrayRef<int64_t> sizes) {
  SmallVector<AffineExpr> exprs;
  for (int64_t start : starts)
    exprs.push_back(constantDim(start, p.context()));
  Type element = cast<RankedTensorType>(input.getType()).getElementType();
  return p.add<hr::SliceOp>(RankedTensorType::get(sizes, element), input,
                            AffineMap::get(0, 0, exprs, p.context()), steps);
}

Value pad(CompiledProgram &p, Value input, ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
  Type element = cast<RankedTensorType>(input.getType()).getElementType();
  TypedAttr value = isa<FloatType>(element) ? TypedAttr(p.builder().getFloatAttr(element, 0.5))
                                            : TypedAttr(p.builder().getIntegerAttr(element, 1));
  return p.add<hr::PadOp>(input, low, high, value);
}

Value gather(CompiledProgram &p, Value data, Value indices, int64_t axis) {
  return p.add<hr::GatherOp>(data, indices, axis);
}

TEST(CompiledMovement, EveryTransposeOfRank2To4) {
  for (std::vector<int64_t> shape : {std::vector<int64_t>{17, 97}, std::vector<int64_t>{5, 7, 33},
                                     std::vector<int64_t>{2, 3, 5, 17}}) {
    CompiledProgram p;
    Value x = p.input(shape);
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
    do
      p.output(p.transpose(x, order));
    while (std::next_permutation(order.begin(), order.end()));
    p.check();
  }
}

TEST(CompiledMovement, TransposesOfOtherShapesAndTypes) {
  CompiledProgram p;
  Value x = p.input({2, 3, 4, 5, 7});
  p.output(p.transpose(x, {4, 3, 2, 1, 0}));
  p.output(p.transpose(x, {0, 2, 1, 4, 3}));
  p.output(p.transpose(x, {1, 2, 3, 4, 0}));
  p.output(p.transpose(p.input({131, 1, 7}), {2, 1, 0}));
  p.output(p.transpose(p.input({0, 7}), {1, 0}));
  p.output(p.transpose(p.input({300, 257}), {1, 0}));
  p.output(p.transpose(p.input({17, 33}, p.builder().getI1Type()), {1, 0}));
  p.output(p.transpose(p.input({17, 33}, p.builder().getI64Type()), {1, 0}));
  p.output(p.transpose(p.input({17, 33}, p.builder().getF64Type()), {1, 0}));
  p.output(p.exp(p.transpose(p.input({17, 33}), {1, 0})));
  p.output(p.sum({p.transpose(p.input({17, 33}), {1, 0}), p.input({33, 17})}));
  p.check();
}

TEST(CompiledMovement, TransposesOfSquaresOfVectors) {
  CompiledProgram p;
  p.output(p.transpose(p.input({32, 48}), {1, 0}));
  p.output(p.transpose(p.input({16, 16}), {1, 0}));
  p.output(p.transpose(p.input({2, 64, 3, 16}), {0, 3, 2, 1}));
  p.output(p.transpose(p.input({16, 3, 32}), {2, 1, 0}));
  p.output(p.transpose(p.input({64, 80}, p.builder().getI32Type()), {1, 0}));
  p.output(p.exp(p.transpose(p.input({32, 64}), {1, 0})));
  p.check();
}

/// Which dimensions a view drops is not told by its strides if it takes steps.
TEST(CompiledMovement, SlicesOfSingleElementsWithSteps) {
  for (Type element : {Type(), Type(Float64Type::get(CompiledProgram().context()))}) {
    CompiledProgram p;
    Value x = p.input({5, 3, 3, 3}, element);
    p.output(p.transpose(slice(p, x, {4, 0, 0, 0}, {1, 1, 3, 1}, {1, 3, 1, 3}), {0, 3, 1, 2}));
    p.output(p.transpose(slice(p, x, {0, 2, 0, 0}, {1, 1, 1, 1}, {5, 1, 1, 3}), {3, 1, 2, 0}));
    p.output(p.transpose(slice(p, x, {1, 0, 2, 0}, {3, 2, 1, 2}, {1, 2, 1, 2}), {3, 2, 1, 0}));
    p.output(p.transpose(slice(p, x, {0, 0, 1, 2}, {4, 9, 1, 1}, {2, 1, 2, 1}), {2, 1, 0, 3}));
    Value y = p.input({4, 3, 7}, element);
    p.output(p.transpose(slice(p, y, {1, 1, 0}, {1, 1, 3}, {1, 1, 3}), {2, 1, 0}));
    p.output(p.transpose(slice(p, y, {0, 1, 0}, {3, 3, 3}, {2, 1, 3}), {2, 0, 1}));
    p.output(p.transpose(slice(p, y, {0, 0, 1}, {1, 2, 7}, {4, 2, 1}), {1, 2, 0}));
    p.check();
  }
}

TEST(CompiledMovement, Slices) {
  CompiledProgram p;
  Value x = p.input({17, 97});
  p.output(slice(p, x, {0, 0}, {1, 1}, {17, 97}));
  p.output(slice(p, x, {3, 5}, {1, 1}, {7, 64}));
  p.output(slice(p, x, {0, 1}, {2, 3}, {9, 32}));
  p.output(slice(p, x, {16, 96}, {-1, -1}, {17, 97}));
  p.output(slice(p, x, {16, 0}, {-3, 2}, {6, 49}));
  p.output(slice(p, x, {0, 96}, {1, -5}, {17, 20}));
  p.output(slice(p, x, {4, 4}, {1, 1}, {0, 5}));
  p.output(slice(p, x, {16, 96}, {1, 1}, {1, 1}));
  p.output(p.exp(slice(p, p.relu(x), {1, 1}, {2, 2}, {8, 48})));
  p.output(slice(p, p.input({9, 5}, p.builder().getI1Type()), {8, 1}, {-2, 2}, {5, 2}));
  p.check();
}

TEST(CompiledMovement, SlicesFromSymbolicStarts) {
  CompiledProgram p;
  AffineExpr length = p.symbol("length");
  auto fixed = [&](int64_t size) { return constantDim(size, p.context()); };
  Value x = p.symbolicInput({length, fixed(5)});
  auto sliced = [&](AffineExpr start, int64_t step, AffineExpr size) {
    p.output(p.add<hr::SliceOp>(tensorType({size, fixed(5)}, p.f32()), x,
                                AffineMap::get(0, 1, {start, fixed(0)}, p.context()),
                                ArrayRef<int64_t>{step, 1}));
  };
  sliced(length - 1, 1, fixed(1));
  sliced(length - 1, -1, length);
  sliced(length - 2, 1, fixed(2));
  sliced(fixed(1), 1, length - 1);
  sliced(fixed(0), 2, (length + 1).floorDiv(2));
  for (int64_t size : {2, 3, 17, 97})
    p.check({size});
}

TEST(CompiledMovement, Concatenations) {
  CompiledProgram p;
  SmallVector<Value> rows, columns;
  for (int64_t size : {3, 1, 17, 0, 5}) {
    rows.push_back(p.input({size, 33}));
    columns.push_back(p.input({7, size}));
    p.output(p.add<hr::ConcatOp>(rows, 0));
    p.output(p.add<hr::ConcatOp>(columns, 1));
  }
  Value x = p.input({2, 3, 5}), y = p.exp(x);
  p.output(p.add<hr::ConcatOp>(ValueRange{x, x}, 1));
  p.output(p.add<hr::ConcatOp>(ValueRange{y, x, y}, 2));
  p.output(p.relu(p.add<hr::ConcatOp>(ValueRange{x, y}, 0)));
  Value flags = p.input({3, 5}, p.builder().getI1Type());
  p.output(p.add<hr::ConcatOp>(ValueRange{flags, flags}, 1));
  p.check();
}

TEST(CompiledMovement, Pads) {
  CompiledProgram p;
  p.output(pad(p, p.input({7}), {2}, {3}));
  p.output(pad(p, p.input({7, 17}), {0, 1}, {2, 0}));
  p.output(pad(p, p.input({3, 5, 7}), {1, 2, 3}, {3, 2, 1}));
  p.output(pad(p, p.input({2, 5, 7, 3}), {0, 1, 1, 0}, {0, 1, 1, 0}));
  p.output(pad(p, p.input({0, 3}), {2, 0}, {1, 0}));
  p.output(pad(p, p.input({3, 3}), {0, 0}, {0, 0}));
  p.output(pad(p, p.scalar(), {}, {}));
  p.output(pad(p, p.input({9, 9}), {-1, 0}, {0, -3}));
  p.output(pad(p, p.input({9, 9}), {-1, 2}, {3, -3}));
  p.output(pad(p, p.input({3, 3}, p.builder().getI64Type()), {1, 1}, {1, 1}));
  p.output(pad(p, p.input({3, 3}, p.builder().getI1Type()), {1, 1}, {1, 1}));
  p.output(p.exp(pad(p, p.relu(p.input({3, 3})), {1, 1}, {1, 1})));
  p.check();
}

TEST(CompiledMovement, GathersStayInside) {
  // Indices are in [-7, 7]: negative ones count from the end, the rest is clamped.
  CompiledProgram p;
  Type i64 = p.builder().getI64Type(), i32 = p.builder().getI32Type();
  Value table = p.input({8, 17}), indices = p.input({3, 5}, i64);
  for (int64_t axis : {0, 1}) {
    p.output(gather(p, table, indices, axis));
    p.output(gather(p, table, p.scalar(i64), axis));
    p.output(gather(p, table, p.input({131}, i32), axis));
    p.output(gather(p, table, p.input({0}, i64), axis));
  }
  p.output(gather(p, p.input({8}), indices, 0));
  p.output(gather(p, p.input({2, 8, 3}), p.input({4}, i64), 1));
  p.output(gather(p, p.input({8, 5}, p.builder().getI1Type()), p.input({4}, i64), 0));
  p.output(gather(p, p.constant({8, 33}), p.input({17}, i64), 0));
  p.output(p.sum({gather(p, table, p.input({4}, i64), 0), p.input({17})}));
  p.check();
}

TEST(CompiledMovement, Reshapes) {
  CompiledProgram p;
  Value x = p.input({6, 35});
  p.output(p.reshape(x, {210}));
  p.output(p.reshape(p.exp(x), {2, 3, 5, 7}));
  p.output(p.exp(p.reshape(p.relu(x), {35, 6})));
  p.output(p.sum({p.reshape(p.transpose(x, {1, 0}), {6, 35}), x}));
  p.output(p.reshape(p.reduce(hr::ReduceKind::Sum, x, {0, 1}), {1, 1, 1}));
  p.output(p.reshape(p.input({0, 5}), {5, 0}));
  p.check();
}

TEST(CompiledMovement, SymbolicSizes) {
  CompiledProgram p;
  AffineExpr batch = p.symbol("batch");
  auto fixed = [&](int64_t size) { return constantDim(size, p.context()); };
  Value x = p.symbolicInput({batch, fixed(5), fixed(7)});
  p.output(p.transpose(x, {2, 0, 1}));
  p.output(p.transpose(x, {0, 2, 1}));
  p.output(p.add<hr::ConcatOp>(ValueRange{x, x, p.input({3, 5, 7})}, 0));
  p.output(p.add<hr::ConcatOp>(ValueRange{x, p.symbolicInput({batch, fixed(2), fixed(7)})}, 1));
  p.output(pad(p, x, {1, 0, 2}, {0, 3, 1}));
  p.output(gather(p, x, p.input({4}, p.builder().getI64Type()), 1));
  p.output(
      gather(p, p.input({9, 7}), p.symbolicInput({batch, fixed(2)}, p.builder().getI64Type()), 0));
  p.output(p.add<hr::ReshapeOp>(tensorType({batch * 5, fixed(7)}, p.f32()), x));
  p.output(p.add<hr::BroadcastOp>(tensorType({batch, fixed(7)}, p.f32()), p.input({7})));
  for (int64_t size : {0, 1, 2, 7, 33})
    p.check({size});
}

TEST(CompiledMovement, PartsArePickedWhereTheyAreJoined) {
  for (const char *target : {"cpu", "cpu:x86-64-v3"})
    for (int64_t width : {64, 27, 3, 300}) {
      CompiledProgram p;
      p.target = target;
      Type i64 = p.builder().getI64Type();
      AffineExpr batch = p.symbol("batch");
      auto fixed = [&](int64_t size) { return constantDim(size, p.context()); };
      Value numbers = p.symbolicInput({batch, fixed(1)}, i64);
      Value x = p.symbolicInput({batch, fixed(1), fixed(width)});
      Value part =
          p.add<hr::SliceOp>(tensorType({batch, fixed(1), fixed(width)}, p.f32()),
                             p.symbolicInput({batch, fixed(3), fixed(width)}),
                             AffineMap::get(0, 0, {fixed(0), fixed(2), fixed(0)}, p.context()),
                             ArrayRef<int64_t>{1, 1, 1});
      p.output(p.add<hr::ConcatOp>(ValueRange{x, gather(p, p.input({9, width}), numbers, 0), part,
                                              gather(p, p.constant({8, width}), numbers, 0)},
                                   1));
      for (int64_t size : {0, 1, 2, 33, 500})
        p.check({size});
      EXPECT_EQ(p.kernels(), 1);
    }
}

TEST(CompiledMovement, RunsOfKnownNumbers) {
  CompiledProgram p;
  Value x = p.input({300, 40});
  std::vector<int64_t> numbers;
  for (int64_t row = 1; row < 8; ++row)
    for (int64_t i = 0; i < row; ++i)
      numbers.push_back(5 * row + i);
  auto type =
      RankedTensorType::get({static_cast<int64_t>(numbers.size())}, p.builder().getI64Type());
  Value pairs = p.add<hr::ConstantOp>(DenseIntElementsAttr::get(type, numbers));
  p.output(p.add<hr::ConcatOp>(ValueRange{p.input({300, 7}), gather(p, x, pairs, 1)}, 1));
  p.check();
  EXPECT_EQ(p.kernels(), 1);
}

} // namespace
} // namespace headrace
