// Scripts in tests: run from text, output collected.
#pragma once

#include "driver/programs/SegmentCompiler.h"

#include "script/ScriptSession.h"
#include <gtest/gtest.h>

namespace headrace::script {

struct Ran {
  ScriptSession::Variables variables;
  std::string output;
  Statistics statistics;

  double number(const std::string &name) const { return variables.at(name).number(name.c_str()); }
  Tensor dense(const std::string &name) const { return variables.at(name).dense(name.c_str()); }
  std::vector<double> cells(const std::string &name) const {
    Tensor tensor = dense(name);
    return {tensor.as<double>(), tensor.as<double>() + tensor.elements()};
  }
};

inline Ran runScript(const std::string &text, CompileWhen compile = CompileWhen::Worthwhile,
                     const ScriptSession::Variables &inputs = {}) {
  Ran ran;
  ScriptOptions options;
  options.settings.compile = compile;
  options.settings.code = makeSegmentCompiler({});
  options.print = [&](const std::string &line) { ran.output += line + "\n"; };
  ScriptSession session("test.dml", text, options);
  ran.variables = session.run(inputs);
  ran.statistics = session.statistics();
  return ran;
}

inline std::string errorOf(const std::string &text) {
  try {
    runScript(text);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

inline Tensor matrixOf(int64_t rows, int64_t cols, std::vector<double> cells) {
  Tensor result = newMatrix(rows, cols);
  std::copy(cells.begin(), cells.end(), result.as<double>());
  return result;
}

} // namespace headrace::script
