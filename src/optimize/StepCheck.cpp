#include "optimize/StepCheck.h"

#include "driver/programs/LevelOneProgram.h"
#include "driver/Specialize.h"
#include "runtime/system/Error.h"
#include "verify/Verify.h"

namespace headrace::optimize {

namespace {

/// The reference evaluates programs of at most this many operations within about a second.
constexpr int64_t kReferenceOperations = 8'000'000;

/// The model for these values of its dynamic dimensions, for which the recipe was made.
LevelOneProgram programFor(const Model &model, const Sizes &sizes) {
  LevelOneProgram program = model.copyOfProgram();
  program.module = specializeProgram(*program.module, sizes);
  program.importFor = nullptr;
  return program;
}

Settings withRecipe(Settings settings, const std::string &recipe) {
  settings.recipe = recipe;
  settings.specialize = "never";
  return settings;
}

/// The relative error within which two ways to compute the same agree, in the root mean square.
double toleranceOf(DType type) {
  switch (type) {
  case DType::F64:
    return 1e-10;
  case DType::F32:
    return 1e-4;
  default:
    return sizeOf(type) == 2 ? 0.05 : 0;
  }
}

[[noreturn]] void fail(const Transformation &done, const std::string &what) {
  throw Error(ErrorKind::InvalidArgument,
              "step '" + done.step + "': the program would compute another result: " + what);
}

void compareWithReference(Model &after, const Transformation &done, verify::Options options) {
  verify::Report report = verify::verifyModel(after, nullptr, options);
  for (const verify::CaseReport &each : report.cases) {
    if (each.firstWrong)
      fail(done, "kernel '" + each.firstWrong->kernel + "': " +
                     verify::text(each.firstWrong->judgement));
    for (const verify::ComparedValue &output : each.outputs)
      if (!output.judgement.holds)
        fail(done, "output '" + output.name + "': " + verify::text(output.judgement));
  }
}

void compareWithBefore(Model &before, Model &after, const Transformation &done,
                       const std::vector<RuntimeValue> &inputs) {
  std::vector<RuntimeValue> expected = before.runValues(inputs), found = after.runValues(inputs);
  for (size_t i = 0; i < expected.size(); ++i) {
    const Tensor *right = expected[i].tensor(), *ours = found[i].tensor();
    if (!right || !ours)
      continue;
    Tensor exact = right->converted(DType::F64);
    double tolerance = toleranceOf(right->dtype());
    verify::Judgement judgement = verify::judge(*ours, exact, {});
    bool holds = judgement.fault.empty() && judgement.error <= tolerance * judgement.scale;
    if (!holds && !judgement.holds)
      fail(done, "output '" + after.outputs()[i].name + "': " + verify::text(judgement));
  }
}

} // namespace

void checkStep(const Model &model, const Settings &settings, const Sizes &sizes,
               const Transformation &done, const std::string &recipeBefore) {
  Model after(programFor(model, sizes), withRecipe(settings, done.recipe));
  verify::Options options;
  options.settings = withRecipe(settings, done.recipe);
  options.inputs = verify::makeCases(after, options).front().inputs;
  if (done.after.operations <= kReferenceOperations)
    return compareWithReference(after, done, options);
  Model before(programFor(model, sizes), withRecipe(settings, recipeBefore));
  compareWithBefore(before, after, done, options.inputs);
}

} // namespace headrace::optimize
