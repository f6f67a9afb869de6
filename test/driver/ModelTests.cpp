// A model from file to result, and what became of it.
#include "driver/Model.h"

#include "CompiledProgram.h"

namespace headrace {
namespace {

TEST(Model, DigitsMatchTheReferenceForEveryBatch) {
  auto model = Model::load(HEADRACE_EXAMPLES "/digits/digits.onnx");
  for (int64_t batch : {0, 1, 2, 17}) {
    std::vector<Tensor> inputs;
    for (const TensorSpec &spec : model->inputs()) {
      Shape shape;
      for (const DimExpr &dim : spec.dims)
        shape.push_back(dim.evaluate(std::vector<int64_t>{batch}));
      inputs.push_back(randomTensor(spec.dtype, shape, Fill::Uniform, 3));
    }
    std::vector<Tensor> expected = model->reference(inputs, /*keepDouble=*/true);
    std::vector<Tensor> actual = model->run(inputs);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i)
      expectClose(actual[i], expected[i], "batch " + std::to_string(batch));
  }
  // 0 and 1 are programs of their own, all other sizes share one.
  EXPECT_EQ(model->compiledVersions(), 3u);
}

TEST(Model, EveryRecipeOfDigitsFits) {
  auto model = Model::load(HEADRACE_EXAMPLES "/digits/digits.onnx");
  for (std::optional<int64_t> batch : {std::optional<int64_t>(), std::optional<int64_t>(1)})
    for (const KernelReport &kernel : model->explain({batch}).kernels)
      EXPECT_EQ(kernel.schedule.find("refused"), std::string::npos)
          << kernel.name << ": " << kernel.schedule;
}

} // namespace
} // namespace headrace
