#pragma once

#include "script/language/Analysis.h"
#include "script/language/Parser.h"
#include "script/language/Printer.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace headrace::script {

inline Script parsed(const std::string &text) {
  return parse(std::make_shared<Source>("test.dml", text));
}

inline Program analyzed(const std::string &text, const AnalysisOptions &options = {}) {
  return analyze(parsed(text), options);
}

/// The expression with every operator in parentheses.
inline std::string grouped(const std::string &expression) {
  Script script = parsed("x = " + expression);
  return print(*script.statements.front()->as<Assign>()->value, Parentheses::Full);
}

/// The message of the Error that `act` must throw.
template <typename Act> std::string errorOf(Act act) {
  try {
    act();
  } catch (const Error &error) {
    return error.what();
  }
  ADD_FAILURE() << "expected an error";
  return "";
}

inline std::string parseError(const std::string &text) {
  return errorOf([&] { parsed(text); });
}

inline std::string analysisError(const std::string &text, const AnalysisOptions &options = {}) {
  return errorOf([&] { analyzed(text, options); });
}

/// A directory of its own that goes when the test ends.
class ScriptFolder {
public:
  ScriptFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "script-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      throw std::runtime_error("cannot make a temporary folder");
    path = pattern;
  }
  ~ScriptFolder() { std::filesystem::remove_all(path); }
  ScriptFolder(const ScriptFolder &) = delete;
  ScriptFolder &operator=(const ScriptFolder &) = delete;

  std::filesystem::path write(const std::string &name, const std::string &text) const {
    std::filesystem::path file = path / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
  }
  Program analyze(const std::string &name, AnalysisOptions options = {}) const {
    return script::analyze(parse(std::make_shared<Source>(Source::read(path / name))), options);
  }

  std::filesystem::path path;
};

} // namespace headrace::script
