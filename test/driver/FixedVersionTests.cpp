// Versions for exact sizes next to the one that serves all: when they are made, and that it does
// not show in results.
#include "driver/Model.h"
#include "runtime/system/Error.h"

#include "CompiledProgram.h"
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace headrace {
namespace {

std::shared_ptr<Model> digits(const std::string &specialize, double after = 0) {
  Settings settings;
  settings.specialize = specialize;
  settings.specializeAfter = after;
  return Model::load(HEADRACE_EXAMPLES "/digits/digits.onnx", settings);
}

std::vector<Tensor> images(const Model &model, int64_t batch) {
  std::vector<Tensor> inputs;
  for (const TensorSpec &spec : model.inputs()) {
    Shape shape;
    for (const DimExpr &dim : spec.dims)
      shape.push_back(dim.evaluate(std::vector<int64_t>{batch}));
    inputs.push_back(randomTensor(spec.dtype, shape, Fill::Uniform, static_cast<unsigned>(batch)));
  }
  return inputs;
}

void expectRight(Model &model, int64_t batch, const std::string &what) {
  std::vector<Tensor> inputs = images(model, batch);
  std::vector<Tensor> expected = model.reference(inputs, /*keepDouble=*/true);
  std::vector<Tensor> actual = model.run(inputs);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    expectClose(actual[i], expected[i], what + ", batch " + std::to_string(batch));
}

TEST(ShapeSpecializations, SizesThatAreUsedGetOneInTheBackground) {
  auto model = digits("auto");
  for (int call = 0; call < 2; ++call)
    expectRight(*model, 5, "open");
  model->finishCompiling();
  EXPECT_EQ(model->compiledVersions(), 1u) << "two calls may be chance";
  EXPECT_FALSE(model->compile(images(*model, 5))->program().symbols.empty());

  expectRight(*model, 5, "open");
  model->finishCompiling();
  EXPECT_EQ(model->compiledVersions(), 2u);
  EXPECT_TRUE(model->compile(images(*model, 5))->program().symbols.empty());
  expectRight(*model, 5, "exact");

  // Other sizes are served by the open one, which is still there.
  expectRight(*model, 7, "open");
  EXPECT_FALSE(model->compile(images(*model, 7))->program().symbols.empty());
  EXPECT_EQ(model->compiledVersions(), 2u);
}

TEST(ShapeSpecializations, PredictionsAreOfTheVersionThatRuns) {
  auto model = digits("auto");
  std::vector<Tensor> inputs = images(*model, 6);
  for (int call = 0; call < 3; ++call)
    model->run(inputs);
  model->finishCompiling();
  EXPECT_EQ(model->predict(inputs, 1).size(), model->compile(inputs)->program().steps.size());
}

TEST(ShapeSpecializations, CallsThatTookLessThanCompilingMakeNone) {
  auto model = digits("auto", /*after=*/1e9);
  for (int call = 0; call < 10; ++call)
    model->run(images(*model, 5));
  model->finishCompiling();
  EXPECT_EQ(model->compiledVersions(), 1u);
}

TEST(ShapeSpecializations, NeverAndAlwaysAreTakenAtTheirWord) {
  auto never = digits("never");
  for (int call = 0; call < 10; ++call)
    never->run(images(*never, 5));
  never->finishCompiling();
  EXPECT_EQ(never->compiledVersions(), 1u);

  auto always = digits("always");
  for (int64_t batch : {5, 7, 5, 1, 0})
    expectRight(*always, batch, "always");
  EXPECT_EQ(always->compiledVersions(), 4u);
  EXPECT_TRUE(always->compile(images(*always, 7))->program().symbols.empty());
}

TEST(ShapeSpecializations, AnUnknownSettingIsRefused) { EXPECT_THROW(digits("sometimes"), Error); }

TEST(ShapeSpecializations, FewAreKept) {
  auto model = digits("auto");
  for (int64_t batch = 2; batch < 14; ++batch) {
    for (int call = 0; call < 3; ++call)
      model->run(images(*model, batch));
    model->finishCompiling();
  }
  EXPECT_LE(model->compiledVersions(), 1u + 8u);
  for (int64_t batch = 2; batch < 14; ++batch)
    expectRight(*model, batch, "some exact");
}

TEST(ShapeSpecializations, ThreadsMayCallWhileTheyAreMade) {
  auto model = digits("auto");
  const std::vector<int64_t> batches{3, 4, 5};
  std::vector<std::vector<Tensor>> inputs;
  std::vector<Tensor> expected;
  for (int64_t batch : batches) {
    inputs.push_back(images(*model, batch));
    expected.push_back(model->reference(inputs.back(), /*keepDouble=*/true).front());
  }
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (unsigned call = 0; call < 60; ++call) {
        size_t which = (thread + call) % batches.size();
        expectClose(model->run(inputs[which]).front(), expected[which], "in threads");
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  model->finishCompiling();
  EXPECT_LE(model->compiledVersions(), 1u + batches.size());
}

TEST(ShapeSpecializations, ACallThatNeedsTheCompilerIsServedMeanwhile) {
  auto model = digits("auto");
  for (int call = 0; call < 3; ++call)
    model->run(images(*model, 9));
  expectRight(*model, 1, "a version of its own"); // whether or not the other one is under way
  expectRight(*model, 9, "open or exact");
}

TEST(ShapeSpecializations, AModelMayGoWhileOneIsMade) {
  for (int i = 0; i < 3; ++i) {
    auto model = digits("auto");
    for (int call = 0; call < 3; ++call)
      model->run(images(*model, 10 + i));
  }
}

TEST(ShapeSpecializations, AForkedChildCanCompile) {
  auto model = digits("auto");
  for (int call = 0; call < 3; ++call)
    model->run(images(*model, 20));
  pid_t child = fork(); // while the version is being made
  if (child == 0) {
    int code = 1;
    try {
      model->run(images(*model, 1)); // needs the compiler
      for (int call = 0; call < 4; ++call)
        model->run(images(*model, 21));
      model->finishCompiling();
      code = model->compile(images(*model, 21))->program().symbols.empty() ? 0 : 2;
    } catch (const std::exception &error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    _exit(code);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  expectRight(*model, 20, "in the parent");
}

} // namespace
} // namespace headrace
