#pragma once

#include "adaptive/VersionStore.h"
#include "script/Interpreter.h"
#include "script/language/Analysis.h"

namespace headrace::script {

/// Calls of functions whose names a script computes: eval, evalList, paramserv. Each is a small
/// program of its own, which is kept with its plans and code.
class DynamicCalls {
public:
  /// `program`, the script that calls, must live as long as this.
  DynamicCalls(const Program &program, AnalysisOptions options, const ScriptSettings &settings,
               Statistics &statistics);

  using Entries = std::vector<std::pair<std::string, Value>>;

  /// The results of the function, with their names. It may be one of the script's, of a file that
  /// the script loads, of the script path, or of the language. Arguments with names are those
  /// parameters; a list as the only argument stands for its entries, unless the function takes one
  /// list.
  Entries call(const std::string &function, Entries arguments, HostContext &context);

  /// The files of these programs.
  std::vector<std::shared_ptr<const Script>> scripts() const;

private:
  struct Prepared {
    Program program;
    std::vector<std::string> results;               ///< as the function names them
    const FunctionDefinition *definition = nullptr; ///< null if the language has it
    std::vector<std::unique_ptr<Interpreter>> idle;
  };
  void run(Prepared &target, Environment &variables, HostContext &context);
  std::shared_ptr<Prepared> prepare(const std::string &function, const Entries &arguments);
  Program analyzeCall(const std::string &function, const Entries &arguments, size_t results) const;
  /// The definition in a file that the program has loaded; null if there is none.
  const Script *fileOf(const std::string &function) const;

  const Program &program;
  AnalysisOptions options;
  const ScriptSettings &settings;
  Statistics &statistics;
  adaptive::VersionStore<std::string, Prepared> prepared; ///< by function and types
  int depth = 0;                                          ///< of calls within calls
};

} // namespace headrace::script
