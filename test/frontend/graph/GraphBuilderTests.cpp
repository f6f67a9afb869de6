#include "driver/programs/GraphModel.h"
#include "runtime/system/Error.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

using graph::GraphBuilder;
using graph::Node;
using graph::OpenSize;
using graph::Size;

std::unique_ptr<GraphBuilder> builder() { return makeGraphBuilder("net", {}); }

Tensor tensor(Shape shape, std::vector<double> values) {
  Tensor result = Tensor::allocate(DType::F64, std::move(shape));
  std::copy(values.begin(), values.end(), result.as<double>());
  return result;
}

std::vector<double> valuesOf(const Tensor &tensor) {
  return {tensor.as<double>(), tensor.as<double>() + tensor.elements()};
}

template <class Work> std::string messageOf(Work work) {
  try {
    work();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(GraphBuilder, ADenseLayerOfAnyBatch) {
  auto b = builder();
  OpenSize batch = b->symbol("batch");
  Node x = b->input("x", DType::F64, {batch, 2});
  Node w = b->constant(tensor({2, 2}, {1, -1, 2, 3}));
  Node y = b->elementwise("relu", {b->matrixProduct(x, w)});
  b->output("y", y);
  std::shared_ptr<Model> model = makeModel(*b, {});
  EXPECT_EQ(model->symbols(), std::vector<std::string>{"batch"});
  std::vector<Tensor> inputs{tensor({2, 2}, {1, 1, -1, 0})};
  EXPECT_EQ(valuesOf(model->run(inputs)[0]), (std::vector<double>{3, 2, 0, 1}));
  EXPECT_EQ(valuesOf(model->reference(inputs)[0]), (std::vector<double>{3, 2, 0, 1}));
}

TEST(GraphBuilder, SizesAreComputedWith) {
  auto b = builder();
  Size n = b->symbol("n");
  Node x = b->input("x", DType::F32, {n, 6});
  Size flat = b->arithmetic("mul", n, int64_t(6));
  EXPECT_EQ(std::get<int64_t>(b->arithmetic("sub", flat, flat)), 0);
  EXPECT_EQ(std::get<int64_t>(b->arithmetic("floordiv", int64_t(7), int64_t(2))), 3);
  Node y = b->reshape(x, {flat});
  EXPECT_EQ(b->shape(y).size(), 1u);
  EXPECT_EQ(b->dtype(y), DType::F32);
  EXPECT_NE(messageOf([&] { b->arithmetic("mod", flat, n); }), "");
}

TEST(GraphBuilder, SizesBeyond64BitsAreRefusedAndNameTheNode) {
  auto b = builder();
  b->at("flatten");
  Size large = b->arithmetic("mul", b->symbol("n"), int64_t(1) << 40);
  EXPECT_EQ(messageOf([&] { b->arithmetic("mul", large, int64_t(1) << 40); }),
            "net: 'flatten': a size computed from the input sizes exceeds 64 bits");
}

TEST(GraphBuilder, NoGradientGoesThroughDetach) {
  auto b = builder();
  Node x = b->input("x", DType::F64, {3});
  Node product = b->elementwise("mul", {x, b->detach(x)});
  b->output("y", b->reduce("sum", product, {0}, false));
  std::shared_ptr<Model> gradient = makeModel(*b, {})->withGradient();
  std::vector<Tensor> inputs{tensor({3}, {1, -2, 5})};
  std::vector<Tensor> results = gradient->run(inputs);
  EXPECT_EQ(valuesOf(results[0]), (std::vector<double>{30}));
  EXPECT_EQ(valuesOf(results[1]), (std::vector<double>{1, -2, 5}));
}

TEST(GraphBuilder, ConstantsAreUsedInPlace) {
  auto b = builder();
  std::vector<double> numbers(1000, 2); // small constants are copied
  numbers.front() = 1;
  Tensor weights = tensor({1000}, numbers);
  b->output("y", b->constant(weights));
  long before = weights.owner().use_count();
  std::shared_ptr<Model> model = makeModel(*b, {});
  EXPECT_GT(before, 1);
  EXPECT_EQ(valuesOf(model->run({})[0]), numbers);
}

TEST(GraphBuilder, ErrorsNameTheNode) {
  auto b = builder();
  Node x = b->input("x", DType::F64, {2, 3}), i = b->input("i", DType::I64, {2, 3});
  b->at("scores");
  EXPECT_EQ(messageOf([&] { b->matrixProduct(x, x); }),
            "net: 'scores': matrices 2 x 3 and 2 x 3 cannot be multiplied");
  EXPECT_EQ(messageOf([&] { b->elementwise("add", {x, i}); }),
            "net: 'scores': add: expected operands of one type, got f64 and i64");
  EXPECT_EQ(messageOf([&] { b->elementwise("exp", {i}); }),
            "net: 'scores': exp: expected floating-point values, got i64");
  EXPECT_EQ(messageOf([&] { b->elementwise("add", {x}); }),
            "net: 'scores': add: expected 2 operands, got 1");
  EXPECT_EQ(messageOf([&] { b->reshape(x, {int64_t(4)}); }),
            "net: 'scores': 2 x 3 cannot take the shape 4");
}

} // namespace
} // namespace headrace
