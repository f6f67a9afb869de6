// Host operators run on plain nodes: neither a model's file nor a compiler is needed.
#include "runtime/operators/HostOperators.h"

#include "runtime/operators/TensorParts.h"

#include <gtest/gtest.h>

namespace headrace::operators {
namespace {

std::vector<RuntimeValue> run(const HostNode &node, const std::vector<RuntimeValue> &inputs,
                              decltype(HostCall::runBody) runBody = {}) {
  const HostOperator *found = findHostOperator(node.domain, node.opType, node.version);
  if (!found)
    throw Error(ErrorKind::Unsupported, node.describe());
  Prepared prepared;
  int64_t iterationsLeft = 5;
  HostCall call{node, {}, prepared, iterationsLeft, std::move(runBody)};
  for (const RuntimeValue &input : inputs)
    call.inputs.push_back(&input);
  return found->function(call);
}

HostNode nodeOf(const std::string &opType, std::vector<Attribute> attributes = {},
                const std::string &domain = "") {
  return {"n", opType, domain, 21, {"a", "b", "c"}, {"y"}, std::move(attributes), {}};
}

TEST(HostOperators, NonZeroListsPositions) {
  Tensor positions = *run(nodeOf("NonZero"), {tensorOf({3, 0, 4})}).front().tensor();
  EXPECT_EQ(positions.shape(), (Shape{1, 2}));
  EXPECT_EQ(positions.as<int64_t>()[1], 2);
}

TEST(HostOperators, CastNamesItsType) {
  StringTensor texts{{2}, {"7", "-1"}};
  Tensor numbers =
      *run(nodeOf("Cast", {{"to", std::string("i32")}}), {RuntimeValue(texts)}).front().tensor();
  EXPECT_EQ(numbers.dtype(), DType::I32);
  EXPECT_EQ(numbers.as<int32_t>()[1], -1);
  EXPECT_THROW(run(nodeOf("Cast", {{"to", std::string("f128")}}), {RuntimeValue(texts)}), Error);
}

TEST(HostOperators, ZipMapTakesListsOfAttributes) {
  Tensor scores = Tensor::allocate(DType::F32, {1, 2});
  scores.as<float>()[0] = 0.25F;
  scores.as<float>()[1] = 0.75F;
  std::vector<Attribute> labels = {{"classlabels_strings", std::vector<std::string>{"cat", "dog"}}};
  RuntimeValue maps = run(nodeOf("ZipMap", labels, "ai.onnx.ml"), {scores}).front();
  const MapValue &map = *maps.sequence()->front().map();
  EXPECT_EQ(map.keys.strings()->elements[1], "dog");
  EXPECT_EQ(map.values.tensor()->as<float>()[1], 0.75F);
}

TEST(HostOperators, LoopsRunTheirBodiesAndEnd) {
  HostNode loop = nodeOf("Loop");
  loop.bodies["body"] = {{"more", DType::Bool, false, {}}, {"out", DType::I64, false, {}}};
  auto body = [](const std::string &, std::span<const RuntimeValue> inputs) {
    return std::vector<RuntimeValue>{scalarOf(true), inputs[0]};
  };
  Tensor indices = *run(loop, {scalarOf(int64_t{3}), scalarOf(true)}, body).front().tensor();
  EXPECT_EQ(indices.shape(), Shape{3});
  EXPECT_THROW(run(loop, {scalarOf(int64_t{100}), scalarOf(true)}, body), Error);
}

TEST(HostOperators, AttributesOfAnotherTypeAreNamed) {
  try {
    run(nodeOf("Unique", {{"sorted", std::string("yes")}}), {tensorOf({1})});
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "node 'n' (Unique): attribute 'sorted': expected a value of type "
                               "int, got string");
  }
}

} // namespace
} // namespace headrace::operators
