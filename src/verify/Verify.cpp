#include "verify/Verify.h"

#include "driver/KernelTrace.h"
#include "driver/models/PassAnswers.h"
#include "runtime/system/Error.h"

#include "verify/Alternatives.h"
#include <algorithm>

namespace headrace::verify {

namespace {

constexpr int roundedRuns = 4;
// Runs with larger errors, which are asked once results differ.
constexpr int disturbedRuns = 8;
constexpr double disturbance = 4;

// The numbers of a value, with names that tell elements of sequences and maps apart.
void collect(const std::string &name, const RuntimeValue &value,
             std::vector<std::pair<std::string, Tensor>> &tensors) {
  if (const Tensor *tensor = value.tensor()) {
    tensors.emplace_back(name, *tensor);
  } else if (const std::vector<RuntimeValue> *elements = value.sequence()) {
    for (size_t i = 0; i < elements->size(); ++i)
      collect(name + "[" + std::to_string(i) + "]", (*elements)[i], tensors);
  } else if (const MapValue *map = value.map()) {
    collect(name + " keys", map->keys, tensors);
    collect(name + " values", map->values, tensors);
  }
}

// Compares values that are not numeric tensors: equal or not.
bool haveSameText(const RuntimeValue &a, const RuntimeValue &b) {
  if (a.kind() != b.kind())
    return false;
  if (const StringTensor *text = a.strings())
    return text->shape == b.strings()->shape && text->elements == b.strings()->elements;
  if (const std::vector<RuntimeValue> *elements = a.sequence())
    return std::equal(elements->begin(), elements->end(), b.sequence()->begin(),
                      b.sequence()->end(), haveSameText);
  if (const MapValue *map = a.map())
    return haveSameText(map->keys, b.map()->keys) && haveSameText(map->values, b.map()->values);
  return true;
}

std::vector<Tensor> asTensors(std::span<const RuntimeValue> values) {
  std::vector<Tensor> tensors;
  for (const RuntimeValue &value : values)
    tensors.push_back(value.tensor() ? *value.tensor() : Tensor());
  return tensors;
}

// The reference's answers, evaluated once they are asked for.
class Answers {
public:
  Answers(Model &model, const std::vector<RuntimeValue> &inputs) : model(model), inputs(inputs) {}

  const std::vector<RuntimeValue> &exact() {
    if (exactValues.empty())
      exactValues = model.referenceValues(inputs, /*keepDouble=*/true);
    return exactValues;
  }

  std::vector<ComparedValue> judged(std::span<const RuntimeValue> found) {
    std::vector<ComparedValue> result;
    for (size_t i = 0; i < exact().size(); ++i)
      judgeOutput(model.outputs()[i].name, i, found[i], result);
    return result;
  }

  /// Judges results of the reference itself, floats in f64.
  std::vector<ComparedValue> judgedDoubles(std::span<const Tensor> results) {
    std::vector<RuntimeValue> found;
    for (size_t i = 0; i < results.size(); ++i) {
      DType declared = model.outputs()[i].dtype;
      bool isDouble = results[i].dtype() == DType::F64;
      found.emplace_back(isDouble ? results[i].converted(declared) : results[i]);
    }
    return judged(found);
  }

private:
  void judgeOutput(const std::string &name, size_t index, const RuntimeValue &found,
                   std::vector<ComparedValue> &result) {
    std::vector<std::pair<std::string, Tensor>> ours, right;
    collect(name, found, ours);
    collect(name, exact()[index], right);
    if (!haveSameText(found, exact()[index]) || ours.size() != right.size()) {
      Judgement different;
      different.holds = false;
      different.fault =
          "expected " + describe(exact()[index]) + ", got " + describe(found) + " or other text";
      result.push_back({name, different});
      return;
    }
    for (size_t part = 0; part < ours.size(); ++part) {
      std::vector<Tensor> near = partsOf(rounded(), name, index, part);
      Judgement judgement = judge(ours[part].second, right[part].second, near);
      if (!judgement.holds)
        judgement = judge(ours[part].second, right[part].second, near,
                          partsOf(disturbed(), name, index, part));
      result.push_back({ours[part].first, judgement});
    }
  }

  using Runs = std::vector<std::vector<RuntimeValue>>;

  static std::vector<Tensor> partsOf(const Runs &runs, const std::string &name, size_t output,
                                     size_t part) {
    std::vector<Tensor> parts;
    for (const std::vector<RuntimeValue> &run : runs) {
      std::vector<std::pair<std::string, Tensor>> tensors;
      collect(name, run[output], tensors);
      if (part < tensors.size())
        parts.push_back(tensors[part].second);
    }
    return parts;
  }

  const Runs &rounded() { return filled(roundedValues, roundedRuns, 1, 1); }
  const Runs &disturbed() {
    return filled(disturbedValues, disturbedRuns, roundedRuns + 1, disturbance);
  }

  const Runs &filled(Runs &runs, int count, int firstSeed, double scale) {
    for (int i = static_cast<int>(runs.size()); i < count; ++i)
      runs.push_back(
          model.roundedReferenceValues(inputs, static_cast<uint64_t>(firstSeed + i), scale));
    return runs;
  }

  Model &model;
  const std::vector<RuntimeValue> &inputs;
  std::vector<RuntimeValue> exactValues;
  Runs roundedValues, disturbedValues;
};

class Verification {
public:
  Verification(Model &model, Model *package, const Options &options)
      : model(model), package(package), options(options) {}

  CaseReport compare(const Case &given) {
    CaseReport report;
    report.values = given.values;
    report.sizes = given.sizes;
    Answers answers(model, given.inputs);
    std::vector<RuntimeValue> found;
    std::optional<Error> failed = failureOf([&] { found = compiled().runValues(given.inputs); });
    std::optional<Error> unanswered = failureOf([&] { (void)answers.exact(); });
    if (!failed && unanswered && unanswered->kind() == ErrorKind::Unsupported)
      throw *unanswered; // a package, which has no reference
    if (failed || unanswered) {
      noteFailure(report, failed, unanswered);
      return report;
    }
    report.outputs = answers.judged(found);
    compareSteps(report, given);
    if (!options.bisected.empty() && !model.isSplit())
      bisect(report, given, answers);
    askPeers(report, given, answers);
    return report;
  }

private:
  Model &compiled() { return package ? *package : model; }

  template <class Function> static std::optional<Error> failureOf(Function function) {
    try {
      function();
    } catch (const Error &error) {
      return error;
    }
    return std::nullopt;
  }

  // Inputs that neither accepts are not inputs of the program. An error of the compiler that
  // something is not supported is not a wrong answer either.
  void noteFailure(CaseReport &report, const std::optional<Error> &failed,
                   const std::optional<Error> &unanswered) {
    bool isRefused = failed && (unanswered || failed->kind() == ErrorKind::Unsupported);
    if (isRefused) {
      report.refused = failed->what();
      return;
    }
    Judgement different;
    different.holds = false;
    different.fault =
        failed ? "expected the reference's result, got the error: " + std::string(failed->what())
               : "expected the reference's error, got a result: " + std::string(unanswered->what());
    report.outputs.push_back({model.name(), different});
  }

  void compareSteps(CaseReport &report, const Case &given) {
    if (!options.comparesSteps)
      return;
    if (model.isSplit()) {
      report.whyNoSteps = "the model is split into several programs, because shapes, control flow "
                          "or values depend on data";
      return;
    }
    std::vector<Tensor> inputs = asTensors(given.inputs);
    KernelTrace trace = model.traceKernels(inputs, {roundedRuns, 0, disturbance}, package);
    report.whyNoSteps = trace.unsupportedReason;
    report.stepsLeftOut = trace.untraced;
    report.stepsCompared = trace.values.size();
    report.firstWrong = firstWrong(trace);
    if (report.firstWrong) // unless the program is steep there
      report.firstWrong = firstWrong(
          model.traceKernels(inputs, {roundedRuns, disturbedRuns, disturbance}, package));
    if (!report.holds() && !report.firstWrong && trace.unsupportedReason.empty())
      report.note = withoutWrongStep(trace);
  }

  static std::optional<WrongStep> firstWrong(const KernelTrace &trace) {
    for (const TracedValue &value : trace.values) {
      Judgement judgement = judge(value.found, value.exact, value.rounded, value.disturbed);
      if (!judgement.holds)
        return WrongStep{value.step, value.kernel, value.operators, value.node, judgement};
    }
    return std::nullopt;
  }

  // Where a difference arises that no step shows.
  std::string withoutWrongStep(const KernelTrace &trace) const {
    std::vector<RuntimeValue> kept(trace.outputs.begin(), trace.outputs.end());
    bool isRight = !trace.exactOutputs.empty();
    for (size_t i = 0; i < trace.exactOutputs.size() && i < trace.outputs.size(); ++i)
      isRight &= judge(trace.outputs[i], trace.exactOutputs[i], {}).error <=
                 1e-5 * judge(trace.outputs[i], trace.exactOutputs[i], {}).scale;
    if (isRight && !trace.taken.empty())
      return "the reference takes the result of '" + trace.taken.front() +
             (trace.taken.size() > 1 ? "' and " + std::to_string(trace.taken.size() - 1) + " others"
                                     : "'") +
             " from the program, because an accelerator or a library computes it: the difference "
             "arises there, if no pass changes the result";
    return isRight ? "all steps compute what the program after the phase 'layout' says: an earlier "
                     "phase changes the result, or temporaries overlap"
                   : "all steps that were compared agree: the difference arises after them";
  }

  void bisect(CaseReport &report, const Case &given, Answers &answers) {
    report.isBisected = true;
    std::string opaque = visitPassAnswers(
        options.bisected, options.settings, asTensors(given.inputs), [&](const PassAnswer &answer) {
          std::vector<ComparedValue> outputs = answers.judgedDoubles(answer.outputs);
          bool holds = std::ranges::all_of(
              outputs, [](const ComparedValue &output) { return output.judgement.holds; });
          if (!holds)
            report.firstPass = "pass '" + answer.pass + "' of phase '" + answer.phase + "'";
          return holds;
        });
    if (!opaque.empty())
      report.note = "passes after '" + opaque +
                    "' were not looked at, as an accelerator computes part of the program from "
                    "there on";
    bool isOutputWrong = std::ranges::any_of(
        report.outputs, [](const ComparedValue &output) { return !output.judgement.holds; });
    if (report.firstPass.empty() && !package && isOutputWrong)
      tryAlternatives(report, given, answers);
  }

  // If no pass is to blame, the choices of the phases after them are tried one by one.
  void tryAlternatives(CaseReport &report, const Case &given, Answers &answers) {
    for (const Alternative &alternative : alternatives(options.settings, model.explain().recipe)) {
      std::vector<ComparedValue> outputs;
      auto failed = failureOf([&] {
        auto other = Model::load(options.bisected, alternative.settings);
        outputs = answers.judged(other->runValues(given.inputs));
      });
      if (!failed && std::ranges::all_of(outputs, [](const ComparedValue &output) {
            return output.judgement.holds;
          }))
        report.rightWith.push_back(alternative.name);
    }
  }

  void askPeers(CaseReport &report, const Case &given, Answers &answers) {
    for (const Peer &peer : options.peers) {
      OtherSystem other{peer.name, "", "", {}};
      try {
        auto [version, theirs] = peer.run(asTensors(given.inputs));
        other.version = version;
        if (theirs.size() != answers.exact().size())
          throw Error(ErrorKind::InvalidArgument, "it has another number of outputs");
        std::vector<RuntimeValue> values(theirs.begin(), theirs.end());
        other.outputs = answers.judged(values);
      } catch (const Error &error) {
        other.missing = error.what();
      }
      report.others.push_back(std::move(other));
    }
  }

  Model &model;
  Model *package;
  const Options &options;
};

} // namespace

bool agrees(Model &model, const std::vector<RuntimeValue> &inputs) {
  std::vector<RuntimeValue> found = model.runValues(inputs);
  std::vector<ComparedValue> outputs = Answers(model, inputs).judged(found);
  return std::ranges::all_of(outputs,
                             [](const ComparedValue &output) { return output.judgement.holds; });
}

Report verifyModel(Model &model, Model *package, const Options &options) {
  Report report;
  report.model = model.name();
  if (package)
    report.package = package->name();
  Verification verification(model, package, options);
  for (const Case &each : makeCases(model, options)) {
    if (options.progress)
      options.progress("verifying " + model.name() + ": " + each.values);
    report.cases.push_back(verification.compare(each));
  }
  return report;
}

} // namespace headrace::verify
