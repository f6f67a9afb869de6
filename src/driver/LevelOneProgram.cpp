#include "driver/LevelOneProgram.h"

#include "driver/ProgramBuilder.h"
#include "driver/RunPasses.h"
#include "runtime/system/Error.h"
#include "runtime/system/Listing.h"
#include "runtime/system/Text.h"
#include "target/Target.h"

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
