#include "verify/ScriptVerification.h"

#include "runtime/system/Error.h"

#include "verify/RandomValues.h"
#include <cmath>

namespace headrace::verify {

namespace {

using script::Value;
using Variables = script::ScriptSession::Variables;

// Both ways compute in f64, and sum in another order: about sqrt(n) units for n values.
constexpr double unitsOfSums = 64 * 0x1p-52;
constexpr int movedRuns = 4;

// Variables by their names, written values by the names of their files.
using Results = std::map<std::string, Value>;

Results resultsOf(const ScriptRun &run, const Variables &inputs, script::CompileWhen when) {
  Results results;
  script::ScriptOptions options = run.options;
  options.settings.compile = when;
  options.print = [](const std::string &) {};
  options.takeWritten = [&](const std::filesystem::path &path, const Value &value) {
    results["written " + path.string()] = value;
  };
  Variables left = run.open(std::move(options))->run(inputs, run.arguments);
  for (const auto &[name, value] : left)
    if (!run.inputs.contains(name))
      results[name] = value;
  return results;
}

Tensor numbersOf(const Value &value) {
  if (value.matrix())
    return value.dense("a variable");
  Tensor number = Tensor::allocate(DType::F64, {});
  *number.as<double>() = value.number("a variable");
  return number;
}

Tensor moved(const Tensor &values, double most, bool isOfWhole, RandomNumbers &numbers) {
  Tensor result = Tensor::allocate(DType::F64, values.shape());
  long double squares = 0;
  const double *from = values.as<double>();
  for (int64_t i = 0; i < values.elements(); ++i)
    squares += std::isfinite(from[i]) ? static_cast<long double>(from[i]) * from[i] : 0;
  double whole =
      values.elements() == 0
          ? 0
          : static_cast<double>(std::sqrt(squares / static_cast<long double>(values.elements())));
  for (int64_t i = 0; i < values.elements(); ++i) {
    double random = static_cast<double>(numbers.bits(53)) * 0x1p-52 - 1;
    result.as<double>()[i] = from[i] + most * random * (isOfWhole ? whole : std::abs(from[i]));
  }
  return result;
}

// Inputs one unit in the last place apart: how steep the script is where it runs.
Variables movedInputs(const Variables &inputs, RandomNumbers &numbers) {
  Variables result = inputs;
  for (auto &[name, value] : result)
    if (value.matrix() && !value.sparse())
      value = moved(value.dense(name.c_str()), 0x1p-52, /*isOfWhole=*/false, numbers);
    else if (auto *real = value.as<double>())
      value = *real * (1 + 0x1p-52);
  return result;
}

std::optional<Judgement> judged(const std::string &name, const Value &found, const Results &host,
                                const std::vector<Results> &others) {
  auto right = host.find(name);
  Judgement different;
  different.holds = false;
  if (right == host.end() || right->second.data.index() != found.data.index()) {
    // A matrix may be dense in one way and sparse in the other; numbers are numbers.
    bool areNumbers = right != host.end() && found.isNumber() && right->second.isNumber();
    if (!areNumbers) {
      different.fault = "expected " +
                        (right == host.end() ? "no such value" : describe(right->second)) +
                        ", got " + describe(found);
      return different;
    }
  }
  const Value &exact = right->second;
  if (found.isString()) {
    different.holds = found.text("a variable") == exact.text("a variable");
    different.fault = different.holds ? "" : "expected another text";
    return different;
  }
  if (!found.matrix() && !found.isNumber())
    return std::nullopt;
  Tensor expected = numbersOf(exact);
  RandomNumbers numbers(1);
  std::vector<Tensor> rounded;
  bool isReal = exact.matrix() || exact.as<double>();
  for (int i = 0; i < movedRuns && isReal; ++i)
    rounded.push_back(moved(expected, unitsOfSums, /*isOfWhole=*/true, numbers));
  for (const Results &run : others)
    if (auto other = run.find(name);
        other != run.end() && (other->second.matrix() != nullptr) == (exact.matrix() != nullptr))
      if (other->second.matrix() || other->second.isNumber())
        rounded.push_back(numbersOf(other->second));
  return judge(numbersOf(found), expected, rounded);
}

} // namespace

Report verifyScript(const ScriptRun &run) {
  Report report;
  report.model = run.name;
  report.reference = "its evaluation on the host";
  Results compiled = resultsOf(run, run.inputs, script::CompileWhen::Always);
  Results host = resultsOf(run, run.inputs, script::CompileWhen::Never);
  std::vector<Results> others;
  RandomNumbers numbers(0);
  for (int i = 0; i < movedRuns && !run.inputs.empty(); ++i)
    try {
      others.push_back(
          resultsOf(run, movedInputs(run.inputs, numbers), script::CompileWhen::Never));
    } catch (const Error &) { // a check of the script's own on its inputs
    }
  CaseReport &all = report.cases.emplace_back();
  all.values = "compiled";
  for (const auto &[name, value] : compiled)
    if (std::optional<Judgement> judgement = judged(name, value, host, others))
      all.outputs.push_back({name, *judgement});
  for (const auto &[name, value] : host)
    if (!compiled.contains(name)) {
      Judgement missing;
      missing.holds = false;
      missing.fault = "expected " + describe(value) + ", got no such value";
      all.outputs.push_back({name, missing});
    }
  return report;
}

} // namespace headrace::verify
