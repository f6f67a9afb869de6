#include "optimize/StepCheck.h"

#include "runtime/system/Error.h"
#include "verify/Verify.h"

namespace headrace::optimize {

namespace {

/// The reference evaluates programs of at most this many operations within about a second.
constexpr int64_t kReferenceOperations = 8'000'000;

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

[[noreturn]] void fail(const std::string &step, const std::string &what) {
  throw Error(ErrorKind::InvalidArgument,
              "step '" + step + "': the program would compute another result: " + what);
}

void compareWithReference(Model &after, const std::string &step, verify::Options options) {
  verify::Report report = verify::verifyModel(after, nullptr, options);
  for (const verify::CaseReport &each : report.cases) {
    if (each.firstWrong)
      fail(step, "kernel '" + each.firstWrong->kernel + "': " +
                     verify::text(each.firstWrong->judgement));
    for (const verify::ComparedValue &output : each.outputs)
      if (!output.judgement.holds)
        fail(step, "output '" + output.name + "': " + verify::text(output.judgement));
  }
}

void compareWithBefore(Model &before, Model &after, const std::string &step,
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
      fail(step, "output '" + after.outputs()[i].name + "': " + verify::text(judgement));
  }
}

} // namespace

void checkStep(const std::string &step, CheckedProgram before, CheckedProgram after,
               const Settings &settings, int64_t operations) {
  verify::Options options;
  options.settings = withRecipe(settings, after.recipe);
  Model made(std::move(after.program), options.settings);
  options.inputs = verify::makeCases(made, options).front().inputs;
  if (operations <= kReferenceOperations)
    return compareWithReference(made, step, options);
  Model known(std::move(before.program), withRecipe(settings, before.recipe));
  compareWithBefore(known, made, step, options.inputs);
}

} // namespace headrace::optimize
