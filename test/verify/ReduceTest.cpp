#include "verify/Reduce.h"

#include "runtime/system/Error.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace headrace::verify {
namespace {

Tensor vector(std::vector<float> values) {
  Tensor tensor = Tensor::allocate(DType::F32, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.as<float>());
  return tensor;
}

onnx::ValueInfo info(const std::string &name) {
  return {name, DType::F32, std::vector<onnx::Dim>{{std::nullopt, "n"}}, onnx::ValueInfo::Tensor};
}

// y = neg(abs(x)) + w, z = relu(y), t = neg(z): one node after the other, except for the weights.
onnx::Model chain() {
  onnx::Model model;
  model.irVersion = 8;
  model.opsets[""] = 17;
  model.graph.name = "chain";
  auto node = [](const std::string &op, std::vector<std::string> inputs, const std::string &out) {
    return onnx::Node{out + "_node", op, "", std::move(inputs), {out}, {}};
  };
  // In no order of dependence, as files may have them.
  model.graph.nodes = {node("Neg", {"z"}, "t"), node("Abs", {"x"}, "a"), node("Neg", {"a"}, "b"),
                       node("Add", {"b", "w"}, "y"), node("Relu", {"y"}, "z")};
  model.graph.initializers = {{"w", vector({5, -5, 1})}};
  model.graph.inputs = {info("x")};
  model.graph.outputs = {info("t"), info("b")};
  return model;
}

bool has(const ReducedModel &part, const std::string &node) {
  std::vector<std::string> names = part.nodeNames();
  return std::ranges::find(names, node) != names.end();
}

TEST(Reduce, LeavesTheNodeThatDiffersWithTheValuesItReads) {
  auto differs = [](const ReducedModel &part) { return has(part, "y_node"); };
  for (const std::vector<std::string> &suspects :
       {std::vector<std::string>{"y_node"}, {"b_node", "z_node"}, {}}) {
    ReducedModel part = reduced(chain(), {{"x", vector({1, -2, 3})}}, suspects, differs);
    EXPECT_EQ(part.nodeNames(), std::vector<std::string>{"y_node"});
    ASSERT_TRUE(part.inputs.contains("b"));
    EXPECT_EQ(part.inputs.at("b").as<float>()[1], -2);
    // The weights stay weights, the other values are inputs with initializers.
    ASSERT_EQ(part.model.graph.inputs.size(), 1U);
    EXPECT_EQ(part.model.graph.outputs.front().dtype, DType::F32);
    EXPECT_EQ(part.withValues().graph.initializers.size(), 2U);
  }
}

TEST(Reduce, KeepsNodesThatDifferOnlyTogether) {
  auto differs = [](const ReducedModel &part) {
    return has(part, "b_node") && has(part, "z_node");
  };
  ReducedModel part = reduced(chain(), {{"x", vector({1, -2, 3})}}, {"z_node"}, differs);
  EXPECT_EQ(part.nodeNames(), (std::vector<std::string>{"b_node", "y_node", "z_node"}));
}

TEST(Reduce, RefusesAModelThatDoesNotDiffer) {
  auto differs = [](const ReducedModel &) { return false; };
  EXPECT_THROW(reduced(chain(), {{"x", vector({1})}}, {}, differs), Error);
}

} // namespace
} // namespace headrace::verify
