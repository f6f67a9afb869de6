#include "script/language/Analysis.h"

#include "script/language/Flow.h"
#include "script/language/Lowering.h"

namespace headrace::script {

Program analyze(Script script, const AnalysisOptions &options) {
  Program program;
  Loader loader(std::move(script), options.scriptPath, options.files);
  Lowering(loader, options, program).run();

  followUses(program.main, options.keepAll ? assignedVariables(program.main) : options.outputs);
  followTypes(program.main, options.inputs);
  for (const auto &function : program.functions) {
    std::map<std::string, Type> parameters;
    for (const TypedName &input : function->definition->inputs)
      parameters.emplace(input.name, input.type);
    std::vector<std::string> results;
    for (const TypedName &output : function->definition->outputs)
      results.push_back(output.name);
    followUses(*function, results);
    followTypes(*function, parameters);
  }
  return program;
}

} // namespace headrace::script
