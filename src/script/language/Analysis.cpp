#include "script/language/Analysis.h"

#include "script/language/Flow.h"
#include "script/language/Lowering.h"
#include <optional>
#include <set>
#include <utility>

namespace headrace::script {

namespace {

/// Finds what every function must compute: of its results, those that some call's caller reads.
class ResultFlow {
public:
  explicit ResultFlow(Program &program) : program(program) {
    for (const auto &function : program.functions)
      functions[function.get()] = {function.get(), {}, false};
  }

  void run(const std::vector<std::string> &kept) {
    followUses(program.main, kept);
    noteCalls(program.main.body);
    settle();
    // What nothing calls is only checked.
    for (auto &[key, entry] : functions)
      if (!entry.seen)
        for (size_t i = 0; i < entry.function->definition->outputs.size(); ++i)
          want(entry, i);
    settle();
  }

private:
  struct Entry {
    Function *function = nullptr;
    std::set<size_t> wanted;
    bool seen = false;
  };

  void settle() {
    while (!pending.empty()) {
      Entry &entry = *pending.back();
      pending.pop_back();
      std::vector<std::string> results;
      for (size_t i : entry.wanted)
        results.push_back(entry.function->definition->outputs[i].name);
      followUses(*entry.function, results);
      noteCalls(entry.function->body);
    }
  }

  void want(Entry &entry, std::optional<size_t> result) {
    bool more = result && entry.wanted.insert(*result).second;
    if (!std::exchange(entry.seen, true) || more)
      pending.push_back(&entry);
  }

  void noteCalls(const BlockList &blocks) {
    for (const Block &block : blocks) {
      if (auto *branch = block.as<IfBlock>()) {
        noteCalls(branch->then);
        noteCalls(branch->otherwise);
      } else if (auto *loop = block.as<WhileBlock>()) {
        noteCalls(loop->header);
        noteCalls(loop->body);
      } else if (auto *loop = block.as<ForBlock>()) {
        noteCalls(loop->body);
      } else if (auto *call = block.as<CallBlock>()) {
        for (const Function *callee : {call->callee, call->ofScalar})
          if (callee)
            noteCall(*call, functions.at(callee));
      }
    }
  }

  void noteCall(const CallBlock &call, Entry &callee) {
    want(callee, std::nullopt);
    for (size_t i = 0; i < call.wanted.size(); ++i)
      if (call.wanted[i])
        want(callee, i);
  }

  Program &program;
  std::map<const Function *, Entry> functions;
  std::vector<Entry *> pending;
};

} // namespace

Program analyze(Script script, const AnalysisOptions &options) {
  Program program;
  Loader loader(std::move(script), options.scriptPath, options.files);
  Lowering(loader, options, program).run();

  ResultFlow(program).run(options.keepAll ? assignedVariables(program.main) : options.outputs);
  followTypes(program.main, options.inputs);
  for (const auto &function : program.functions) {
    std::map<std::string, Type> parameters;
    for (const TypedName &input : function->definition->inputs)
      parameters.emplace(input.name, input.type);
    followTypes(*function, parameters);
  }
  return program;
}

} // namespace headrace::script
