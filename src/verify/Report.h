// The outcome of a verification.
#pragma once

#include "verify/Policy.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headrace::verify {

/// A value of the program: an output by its name, or what a step stores.
struct ComparedValue {
  std::string name;
  Judgement judgement;
};

/// A step of the compiled program that stores another value than the reference has.
struct WrongStep {
  size_t step = 0;
  std::string kernel;
  std::vector<std::string> operators; // the user's operators in it
  std::string node;                   // the user's operator whose value is wrong
  Judgement judgement;
};

/// What another system computes on the same inputs.
struct OtherSystem {
  std::string name, version;
  /// Why there are no outputs; empty otherwise.
  std::string missing;
  std::vector<ComparedValue> outputs; // against the reference, too
};

/// The report on one set of inputs.
struct CaseReport {
  /// "random", "zeros", ...; "given" for inputs of the user.
  std::string values;
  std::vector<std::pair<std::string, int64_t>> sizes;
  /// Why the program does not take these inputs, in its own words; nothing was compared then.
  std::string refused;
  std::vector<ComparedValue> outputs;
  /// How many values inside of the program were compared, and steps that store none of level 1.
  size_t stepsCompared = 0;
  std::vector<std::string> stepsLeftOut;
  /// Why no such values were compared; empty otherwise.
  std::string whyNoSteps;
  std::optional<WrongStep> firstWrong;
  /// The phase and pass after which the reference computes another result from the program, and
  /// whether that was looked for.
  std::string firstPass;
  bool isBisected = false;
  /// Choices of the compiler that give the right result instead of its own.
  std::vector<std::string> rightWith;
  /// What else is known of a difference: where it arises if no step is wrong.
  std::string note;
  std::vector<OtherSystem> others;

  bool holds() const;
};

/// The report of a verification.
struct Report {
  std::string model;
  /// The package whose code was compared with the model; empty if the model was compiled.
  std::string package;
  /// The values that results are compared with.
  std::string reference = "the reference in double precision";
  std::vector<CaseReport> cases;
  /// The file with the part of the model that shows the first difference; empty if none was asked
  /// for, or there is none.
  std::string saved;
  std::vector<std::string> savedNodes;
  /// Why there is no such file although one was asked for; empty otherwise.
  std::string notSaved;

  /// Whether all cases hold, and the program took at least one.
  bool holds() const;
};

/// Lines for people; control characters in names are left out.
std::string text(const Report &report);
/// The report as JSON.
std::string jsonText(const Report &report);

} // namespace headrace::verify
