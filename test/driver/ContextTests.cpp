// Contexts are handed on, and no program can tell.
#include "dialect/ConstantData.h"
#include "driver/Contexts.h"
#include "driver/Model.h"
#include "runtime/system/Error.h"

#include "CompiledProgram.h"
#include <atomic>
#include <cstring>
#include <set>
#include <thread>

using namespace mlir;

namespace headrace {
namespace {

const char *const kDigits = HEADRACE_EXAMPLES "/digits/digits.onnx";

/// Marks a context, and says whether it was marked before.
bool wasSeen(MLIRContext &context) {
  bool before = context.allowsUnregisteredDialects();
  context.allowUnregisteredDialects();
  return before;
}

/// Takes the contexts that are idle and keeps them: the next one is new.
std::vector<std::shared_ptr<MLIRContext>> takeAllIdle() {
  std::vector<std::shared_ptr<MLIRContext>> taken;
  for (int i = 0; i < 16; ++i)
    taken.push_back(contextFor(findTarget("cpu")));
  return taken;
}

Tensor digitsOf(const std::shared_ptr<Model> &model) {
  return model->run({{randomTensor(DType::F32, {3, 1, 8, 8}, Fill::Uniform, 3)}}).front();
}

TEST(Contexts, AreUsedAgain) {
  MLIRContext *first = contextFor(findTarget("cpu")).get();
  EXPECT_EQ(contextFor(findTarget("cpu")).get(), first);
}

TEST(Contexts, BelongToOneProgramAtATime) {
  std::set<MLIRContext *> distinct;
  auto taken = takeAllIdle();
  for (const auto &context : taken)
    distinct.insert(context.get());
  EXPECT_EQ(distinct.size(), taken.size());
}

TEST(Contexts, AreNotUsedForEver) {
  int seen = 0, count = 100;
  for (int i = 0; i < count; ++i)
    seen += wasSeen(*contextFor(findTarget("cpu"))) ? 1 : 0;
  EXPECT_GT(seen, count / 2);
  EXPECT_LT(seen, count - 1);
}

TEST(Contexts, FewAreKept) {
  auto held = takeAllIdle();
  for (const auto &context : held)
    wasSeen(*context);
  held.clear();
  int seen = 0;
  for (const auto &context : takeAllIdle())
    seen += wasSeen(*context) ? 1 : 0;
  EXPECT_GT(seen, 0);
  EXPECT_LE(seen, 4);
}

TEST(Contexts, WithTheDialectsOfAnotherTargetAreNotUsedAgain) {
  auto held = takeAllIdle();
  {
    auto context = contextFor(findTarget("cpu"));
    wasSeen(*context);
    addTarget(*context, findTarget("cuda:sm_90a"));
  }
  EXPECT_FALSE(wasSeen(*contextFor(findTarget("cpu"))));
}

TEST(Contexts, KeepNoConstants) {
  std::weak_ptr<const void> owner;
  {
    auto context = contextFor(findTarget("cpu"));
    Tensor weights = randomTensor(DType::F32, {64, 64}, Fill::Uniform, 1);
    owner = weights.owner();
    tensorAttribute(weights, RankedTensorType::get({64, 64}, Float32Type::get(context.get())));
    weights = {};
    EXPECT_FALSE(owner.expired());
  }
  EXPECT_TRUE(owner.expired());
}

TEST(Contexts, ProgramsAreTheSameInANewOne) {
  for (const char *phase : {"import", "kernels", "schedule", "llvm"}) {
    Model::load(kDigits)->ir(phase);
    std::string used = Model::load(kDigits)->ir(phase);
    auto held = takeAllIdle();
    EXPECT_EQ(Model::load(kDigits)->ir(phase), used) << phase;
  }
}

TEST(Contexts, AFailedCompilationLeavesTheNextAlone) {
  std::string expected = Model::load(kDigits)->ir("llvm");
  for (int i = 0; i < 3; ++i) {
    Settings settings;
    settings.recipe = "no_such_stage: split i by 4\n";
    try {
      Model::load(kDigits, settings)->ir("llvm");
      FAIL() << "a recipe of stages that are not there was taken";
    } catch (const Error &error) {
      EXPECT_NE(std::string(error.what()).find("no_such_stage"), std::string::npos) << error.what();
    }
    EXPECT_EQ(Model::load(kDigits)->ir("llvm"), expected);
  }
}

TEST(Contexts, ResultsOutliveTheModelThatMadeThem) {
  auto model = Model::load(kDigits);
  std::vector<Tensor> inputs{randomTensor(DType::F32, {3, 1, 8, 8}, Fill::Uniform, 3)};
  std::shared_ptr<const Executable> executable = model->compile(inputs);
  Tensor expected = executable->run(inputs).front();
  model.reset();
  for (int i = 0; i < 3; ++i)
    digitsOf(Model::load(kDigits));
  Tensor again = executable->run(inputs).front();
  EXPECT_EQ(std::memcmp(again.data(), expected.data(), expected.bytes()), 0);
}

TEST(Contexts, ServeSeveralThreads) {
  Tensor expected = digitsOf(Model::load(kDigits));
  std::atomic<int> equal = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 4; ++j) {
        Tensor found = digitsOf(Model::load(kDigits));
        equal += std::memcmp(found.data(), expected.data(), expected.bytes()) == 0;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(equal, 16);
}

} // namespace
} // namespace headrace
