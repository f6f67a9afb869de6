#include "driver/programs/LevelOneProgram.h"

#include "driver/Contexts.h"
#include "driver/ProgramBuilder.h"
#include "driver/RunPasses.h"
#include "frontend/onnx/import/Importer.h"
#include "runtime/system/Error.h"
#include "runtime/system/ForkSafety.h"
#include "runtime/system/Listing.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace {

static std::string choices(std::vector<std::string> names) {
  names.insert(names.begin(), "auto");
  return listed(names);
}

std::string expansionChoices() { return choices(expansionNames()); }

void checkSettings(const Settings &settings) {
  if (const std::string &when = settings.specialize;
      when != "auto" && when != "always" && when != "never")
    throw Error(ErrorKind::InvalidArgument,
                "specialize: expected auto, always or never, got " + inQuotes(when));
  const std::string &wanted = settings.expansion;
  std::vector<std::string> names = expansionNames(findTarget(settings.target));
  if (wanted == "auto" || llvm::is_contained(names, wanted))
    return;
  std::string expected = choices(names);
  bool isKnown = llvm::is_contained(expansionNames(), wanted);
  throw Error(ErrorKind::InvalidArgument,
              isKnown ? "expansion '" + wanted + "': there is none on target '" + settings.target +
                            "'; expected " + expected
                      : "unknown expansion '" + wanted + "'; expected " + expected);
}

static LevelOneProgram importInto(const std::shared_ptr<MLIRContext> &context,
                                  const onnx::Model &file, const std::string &name,
                                  const SizeRanges &sizes) {
  CompilerSection section;
  LevelOneProgram program{name, context, onnx::importModel(file, *context, name, sizes)};
  std::vector<Tensor> weights;
  for (const onnx::Initializer &initializer : file.graph.initializers)
    weights.push_back(initializer.tensor);
  program.files = filesHolding(weights);
  return program;
}

LevelOneProgram importModel(const std::shared_ptr<const onnx::Model> &file, const std::string &name,
                            const Settings &settings) {
  std::shared_ptr<MLIRContext> context = contextFor(findTarget(settings.target));
  LevelOneProgram program = importInto(context, *file, name, {});
  // What was read is kept for those alone that need it again.
  auto isGuarded = [](const Symbol &symbol) { return symbol.min > 0 || symbol.max < INT64_MAX; };
  if (llvm::any_of(program.interface().symbols, isGuarded))
    program.importFor = [context, file, name](const SizeRanges &sizes) {
      return importInto(context, *file, name, sizes);
    };
  return program;
}

Program LevelOneProgram::interface() const {
  func::FuncOp main = entryFunction(*module);
  Program result;
  result.name = name;
  result.inputs = inputSpecs(main);
  result.outputs = outputSpecs(main);
  result.symbols = symbolGuards(main, /*least=*/0);
  return result;
}

} // namespace headrace
