#include "driver/models/PassAnswers.h"

#include "driver/Model.h"
#include "frontend/onnx/write/OnnxWriter.h"

#include "verify/Policy.h"
#include "verify/RandomValues.h"
#include <filesystem>
#include <gtest/gtest.h>

namespace headrace::verify {
namespace {

Tensor randomWeight(const Shape &shape) {
  static RandomNumbers numbers(1);
  return randomTensor(DType::F32, shape, numbers);
}

/// A normalized convolution, which several passes change.
std::filesystem::path writeConvolution() {
  onnx::Model model;
  model.irVersion = 8;
  model.opsets[""] = 17;
  model.graph.name = "convolution";
  auto value = [](const std::string &name, std::vector<onnx::Dim> shape) {
    return onnx::ValueInfo{name, DType::F32, std::move(shape), onnx::ValueInfo::Tensor};
  };
  model.graph.inputs = {value("x", {{std::nullopt, "n"}, {4, ""}, {5, ""}, {6, ""}})};
  model.graph.outputs = {value("y", {{std::nullopt, "n"}, {8, ""}, {5, ""}, {4, ""}})};
  model.graph.initializers = {{"w", randomWeight({8, 4, 1, 3})},
                              {"scale", randomWeight({8})},
                              {"bias", randomWeight({8})},
                              {"mean", randomWeight({8})},
                              {"variance", Tensor::allocate(DType::F32, {8})}};
  for (int i = 0; i < 8; ++i)
    model.graph.initializers.back().tensor.as<float>()[i] = 1.0f + static_cast<float>(i);
  model.graph.nodes = {{"conv", "Conv", "", {"x", "w"}, {"c"}, {}},
                       {"normalized",
                        "BatchNormalization",
                        "",
                        {"c", "scale", "bias", "mean", "variance"},
                        {"b"},
                        {}},
                       {"relu", "Relu", "", {"b"}, {"y"}, {}}};
  std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / "pass_answers_convolution.onnx";
  onnx::writeModel(model, path);
  return path;
}

TEST(PassAnswers, AreTheReferencesUntilAPassIsWrong) {
  std::filesystem::path path = writeConvolution();
  std::vector<Tensor> inputs{randomWeight({3, 4, 5, 6})};
  std::shared_ptr<Model> model = Model::load(path);
  Tensor exact = model->reference(inputs, /*keepDouble=*/true).front();
  Tensor rounded = model->roundedReference(inputs, 1).front();
  std::vector<std::string> passes;
  std::string opaque = visitPassAnswers(path, {}, inputs, [&](const PassAnswer &answer) {
    passes.push_back(answer.phase + "/" + answer.pass);
    Judgement judgement = judge(answer.outputs.front().converted(DType::F32), exact, {{rounded}});
    EXPECT_TRUE(judgement.holds) << answer.pass << ": " << text(judgement);
    return true;
  });
  EXPECT_EQ(opaque, "");
  EXPECT_EQ(std::count(passes.begin(), passes.end(), "simplify/fold-batch-norm"), 1);
  EXPECT_EQ(std::count(passes.begin(), passes.end(), "layout/channels-last"), 1);
  EXPECT_EQ(std::count(passes.begin(), passes.end(), "kernels/form-kernels"), 1);
  size_t all = passes.size(), visited = 0;
  visitPassAnswers(path, {}, inputs, [&](const PassAnswer &) { return ++visited < 2; });
  EXPECT_EQ(visited, 2U);
  EXPECT_GT(all, 2U);
}

} // namespace
} // namespace headrace::verify
