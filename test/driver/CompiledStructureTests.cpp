// Programs by how their values are used: inputs, outputs, diamonds, long chains.
#include "runtime/system/Error.h"

#include "CompiledProgram.h"

using namespace mlir;

namespace headrace {
namespace {

TEST(CompiledStructure, AnInputIsReturned) {
  CompiledProgram p;
  Value x = p.input({3, 5});
  p.output(x);
  p.output(p.reshape(x, {15}));
  p.output(x);
  p.check();
}

TEST(CompiledStructure, AConstantIsReturned) {
  CompiledProgram p;
  Value c = p.constant({3, 5});
  p.output(c);
  p.output(c);
  p.output(p.exp(c));
  p.check();
}

TEST(CompiledStructure, AValueIsReturnedTwice) {
  CompiledProgram p;
  Value y = p.exp(p.input({3, 5}));
  p.output(y);
  p.output(y);
  p.output(p.reshape(y, {15}));
  p.check();
}

TEST(CompiledStructure, AnOutputIsAnIntermediateToo) {
  CompiledProgram p;
  Value x = p.exp(p.input({17, 33}));
  Value y = p.contract("mk,kn->mn", x, p.constant({33, 16}));
  Value z = p.reduce(hr::ReduceKind::Sum, y, {1}, true);
  p.output(x);
  p.output(p.sum({y, z}));
  p.output(z);
  p.output(y);
  p.check();
}

TEST(CompiledStructure, UnusedInputsAndValues) {
  CompiledProgram p;
  p.input({7});
  Value x = p.input({3});
  p.input({0, 4}, p.builder().getI64Type());
  p.exp(x);
  p.output(p.relu(x));
  p.check();
}

TEST(CompiledStructure, NoInputs) {
  CompiledProgram p;
  p.output(p.exp(p.constant({5})));
  p.check();
}

TEST(CompiledStructure, NoOutputs) {
  CompiledProgram p;
  p.exp(p.input({5}));
  p.check();
}

TEST(CompiledStructure, Scalars) {
  CompiledProgram p;
  Value a = p.scalar(), b = p.scalar(p.builder().getI64Type());
  p.output(p.exp(a));
  p.output(p.sum({a, p.constant({})}));
  p.output(p.sum({b, b}));
  p.output(p.reduce(hr::ReduceKind::Sum, a, {}));
  p.output(p.reshape(a, {1, 1}));
  p.output(p.add<hr::BroadcastOp>(RankedTensorType::get({3, 7}, p.f32()), a));
  p.output(p.sum({p.reduce(hr::ReduceKind::Max, p.input({131}), {0}), a}));
  p.check();
}

TEST(CompiledStructure, Diamonds) {
  CompiledProgram p;
  Value x = p.input({17, 33});
  Value shared = p.exp(x);
  Value left = p.reduce(hr::ReduceKind::Sum, shared, {0});
  Value right = p.transpose(shared, {1, 0});
  p.output(p.sum({left, shared}));
  p.output(p.contract("mk,kn->mn", right, shared));
  // Both sides of a diamond come together again.
  Value y = p.relu(x);
  p.output(p.sum({p.exp(y), y, p.reduce(hr::ReduceKind::Max, y, {1}, true)}));
  p.check();
}

TEST(CompiledStructure, OneValueReadInTwoWays) {
  CompiledProgram p;
  Value x = p.input({17, 17}), v = p.input({17});
  p.output(p.sum({x, p.transpose(x, {1, 0})}));
  p.output(p.sum({p.exp(x), p.transpose(p.exp(x), {1, 0})}));
  // A vector along the columns and, reshaped, along the rows.
  p.output(p.sum({v, p.reshape(v, {17, 1})}));
  p.output(p.sum({p.input({17, 1}), p.input({1, 17}), v}));
  Value row = p.reduce(hr::ReduceKind::Sum, x, {1}, true);
  p.output(p.sum({x, row, p.reshape(row, {1, 17})}));
  p.check();
}

TEST(CompiledStructure, DeepChains) {
  CompiledProgram p;
  Value x = p.input({16, 24});
  for (int i = 0; i < 12; ++i) {
    Value product = p.contract("mk,kn->mn", x, p.constant({24, 24}));
    Value scaled = p.add<hr::SoftmaxOp>(product, 1, false);
    x = p.relu(p.sum({scaled, x}));
  }
  p.output(x);
  p.check();
}

TEST(CompiledStructure, RepeatedBlocksShareTheirCode) {
  CompiledProgram p;
  Value x = p.input({16, 24});
  for (int i = 0; i < 5; ++i)
    x = p.reduce(hr::ReduceKind::Sum,
                 p.add<hr::ConcatOp>(
                     ValueRange{p.reshape(x, {1, 16, 24}), p.reshape(p.exp(x), {1, 16, 24})}, 0),
                 {0});
  p.output(x);
  p.check();
}

TEST(CompiledStructure, NamesThatAreNoSymbols) {
  CompiledProgram p(R"(
    func.func @main(%a: tensor<4xf32> {hr.name = "in put/0"}) -> (tensor<4xf32> {hr.name = "π"}) {
      %0 = hr.map(%a) : (tensor<4xf32>) -> tensor<4xf32> {
      ^bb0(%x: f32):
        %y = math.exp %x : f32
        hr.yield %y : f32
      } loc("/block.0/Exp (π) \"quoted\"")
      %1 = hr.reduce sum %0 axes [0] {keep_dims = true} : (tensor<4xf32>) -> tensor<1xf32> loc("")
      %2 = hr.broadcast %1 : (tensor<1xf32>) -> tensor<4xf32>
      return %2 : tensor<4xf32>
    })");
  p.check();
}

} // namespace
} // namespace headrace
