// Gradients of programs: uses, seeds, names, what is kept and what is computed again.
#include "driver/Compiler.h"
#include "driver/RunPasses.h"
#include "runtime/system/Error.h"

#include "GradientProgram.h"

using namespace mlir;

namespace headrace {
namespace {

using hr::ReduceKind;

TEST(GradientOfProgram, SumsOverAllUses) {
  GradientProgram p;
  Value x = p.input({3, 3}), y = p.contract("mk,kn->mn", x, x);
  Value z = p.sum({y, x, y});
  p.output(p.contract("mk,kn->mn", z, y));
  p.output(y);
  p.checkGradient();
}

TEST(GradientOfProgram, IsZeroWhereNothingDepends) {
  GradientProgram p;
  Value x = p.input({2, 2});
  p.input({3});
  p.output(p.exp(x));
  p.checkGradient();
}

TEST(GradientOfProgram, OfAnInputThatIsReturned) {
  GradientProgram p;
  Value x = p.input({2, 2});
  p.output(x);
  p.output(p.exp(x));
  p.checkGradient();
}

TEST(GradientOfProgram, OfAScalarNeedsNoSeed) {
  GradientProgram p;
  p.output(p.reduce(ReduceKind::Sum, p.exp(p.input({4})), {0}));
  LevelOneProgram joint = p.gradient();
  EXPECT_EQ(entryFunction(*joint.module).getNumArguments(), 1u);
  p.checkGradient();
}

TEST(GradientOfProgram, LeavesOutWhatIsNotAskedFor) {
  GradientProgram p;
  Value x = p.input({2, 3}), w = p.input({3, 4});
  p.output(p.contract("mk,kn->mn", x, w));
  entryFunction(p.module()).setArgAttr(1, kNameAttr, p.builder().getStringAttr("w"));
  p.options.wrt = {"w"};
  p.options.values = false;
  LevelOneProgram joint = p.gradient();
  func::FuncOp function = entryFunction(*joint.module);
  EXPECT_EQ(function.getNumResults(), 1u);
  EXPECT_EQ(std::distance(function.getOps<hr::ContractOp>().begin(),
                          function.getOps<hr::ContractOp>().end()),
            1);
  EXPECT_EQ(function.getResultAttrOfType<StringAttr>(0, kNameAttr).str(), "w.grad");
}

template <class Work> std::string messageOf(Work work) {
  try {
    work();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(GradientOfProgram, NamesWhatItCannotDo) {
  GradientProgram p;
  Value x = p.input({2, 3});
  Value i = p.CompiledProgram::input({2}, p.builder().getI64Type());
  p.output(p.add<hr::GatherOp>(x, i, 0));
  p.options.wrt = {"y"};
  EXPECT_EQ(messageOf([&] { p.gradient(); }),
            "test: expected an input or a weight to differentiate by, got 'y'; the inputs are "
            "'input0', 'input1'");
  p.options.wrt = {"input1"};
  EXPECT_EQ(messageOf([&] { p.gradient(); }), "test: expected floating-point values in 'input1' to "
                                              "differentiate by, got i64");
  p.options.wrt = {"input0", "input0"};
  EXPECT_EQ(messageOf([&] { p.gradient(); }),
            "test: expected each name to differentiate by once, got 'input0' twice");
}

TEST(GradientOfProgram, NamesTheOperatorWithoutGradient) {
  CompiledProgram p(R"(
    func.func @main(%x: tensor<1x1x2x2xf64>, %i: tensor<1x1x1x1xi32>, %d: tensor<1x1x1x1xf64>)
        -> tensor<1x1x2x2xf64> {
      %0 = hr.unpool channels_first %d at %i {window = array<i64: 2, 2>, strides = array<i64: 2, 2>,
        dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>}
        : (tensor<1x1x1x1xf64>, tensor<1x1x1x1xi32>) -> tensor<1x1x2x2xf64> loc("pick")
      return %0 : tensor<1x1x2x2xf64>
    })");
  std::shared_ptr<MLIRContext> borrowed(p.context(), [](MLIRContext *) {});
  EXPECT_EQ(messageOf([&] { differentiated({"test", borrowed, p.module().clone()}, {}); }),
            "test: operator 'pick': hr.unpool has no gradient");
}

//===----------------------------------------------------------------------------===//
// Forward and backward
//===----------------------------------------------------------------------------===//

/// A chain of products and element-wise functions.
void buildChain(GradientProgram &p, int length) {
  Value x = p.input({8, 8});
  for (int i = 0; i < length; ++i) {
    Value w = p.input({8, 8});
    Value y = p.contract("mk,kn->mn", x, w);
    x = p.map({y}, [&](OpBuilder &b, ValueRange v) -> Value {
      return b.create<arith::MulFOp>(p.loc(), v[0], b.create<math::SinOp>(p.loc(), v[0]));
    });
  }
  p.output(x);
}

DirectionPrograms splitOf(GradientProgram &p) {
  std::shared_ptr<MLIRContext> borrowed(p.context(), [](MLIRContext *) {});
  return splitByDirection({"test", borrowed, p.module().clone()}, p.options);
}

int64_t keptBytes(const DirectionPrograms &split, size_t outputs) {
  int64_t bytes = 0;
  for (const SavedTensor &kept : split.kept)
    if (kept.place == SavedTensor::Place::Output && kept.index >= outputs) {
      int64_t size = static_cast<int64_t>(sizeOf(kept.spec.dtype));
      for (const DimExpr &dim : kept.spec.dims)
        size *= dim.evaluate({});
      bytes += size;
    }
  return bytes;
}

TEST(ForwardBackward, AgreesWithTheProgramOfBoth) {
  GradientProgram p;
  buildChain(p, 4);
  p.checkSplit();
  p.options.memoryBudget = 0;
  p.checkSplit();
}

TEST(ForwardBackward, KeepsWhatTheBudgetAllows) {
  GradientProgram p;
  buildChain(p, 6);
  int64_t tensor = 8 * 8 * 8, last = -1;
  int64_t unlimited = keptBytes(splitOf(p), 1);
  EXPECT_GT(unlimited, 3 * tensor);
  for (int64_t budget : {int64_t{0}, tensor, 3 * tensor, unlimited}) {
    p.options.memoryBudget = budget;
    DirectionPrograms split = splitOf(p);
    EXPECT_LE(keptBytes(split, 1), budget);
    EXPECT_GE(keptBytes(split, 1), last);
    last = keptBytes(split, 1);
    p.checkSplit();
  }
  EXPECT_EQ(last, unlimited);
}

TEST(ForwardBackward, OfAChainOfMapsKeepsItsInputOnly) {
  GradientProgram p;
  Value x = p.input({8, 4});
  Value t = p.exp(x);
  Value u = p.map({t}, [&](OpBuilder &b, ValueRange v) -> Value {
    return b.create<math::Log1pOp>(p.loc(), v[0]);
  });
  p.output(p.map({x, u}, [&](OpBuilder &b, ValueRange v) -> Value {
    return b.create<arith::MulFOp>(p.loc(), v[0], b.create<math::TanhOp>(p.loc(), v[1]));
  }));
  DirectionPrograms split = splitOf(p);
  ASSERT_EQ(split.kept.size(), 1u);
  EXPECT_EQ(split.kept[0].place, SavedTensor::Place::Input);
  for (LevelOneProgram *program : {&split.forward, &split.backward}) {
    auto maps = entryFunction(*program->module).getOps<hr::MapOp>();
    EXPECT_EQ(std::distance(maps.begin(), maps.end()), 1);
  }
  p.checkSplit();
}

TEST(ForwardBackward, OfReluKeepsTheResult) {
  GradientProgram p;
  Value x = p.input({8, 4}), w = p.input({4, 4});
  p.output(p.relu(p.contract("mk,kn->mn", x, w)));
  DirectionPrograms split = splitOf(p);
  EXPECT_EQ(keptBytes(split, 1), 0);
  p.checkSplit();
}

TEST(ForwardBackward, BindsEverySymbol) {
  for (int64_t size : {1, 3}) {
    GradientProgram p;
    AffineExpr n = p.symbol("n");
    Value x = p.symbolicInput({n, constantDim(2, p.context())}, p.f64());
    p.output(p.reduce(ReduceKind::Sum, x, {0, 1}));
    p.checkSplit({size});
  }
}

} // namespace
} // namespace headrace
