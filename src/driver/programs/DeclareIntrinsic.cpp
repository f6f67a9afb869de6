#include "driver/programs/DeclareIntrinsic.h"

#include "driver/Contexts.h"
#include "driver/RunPasses.h"
#include "frontend/expr/ImportExpression.h"
#include "runtime/system/Error.h"
#include "targets/Host.h"
#include "transform/kernels/ProgramModel.h"
#include "transform/recipe/Intrinsic.h"

#include <dlfcn.h>

using namespace mlir;

namespace headrace {
namespace {

[[noreturn]] void refuse(const std::string &name, const std::string &reason) {
  throw Error(ErrorKind::InvalidArgument, "intrinsic '" + name + "': " + reason);
}

Stage patternOf(const std::string &name, const expr::Stage &stage) {
  std::shared_ptr<MLIRContext> context = contextFor(findTarget(hostTarget));
  OwningOpRef<ModuleOp> program = expr::importExpression({stage}, *context, name);
  func::FuncOp entry = entryFunction(*program);
  nameStages(entry);
  std::vector<Stage> stages = modelOfProgram(entry).getStages();
  if (stages.size() != 1 || !stages[0].hasLoops)
    refuse(name, "expected one stage over placeholders, got " + std::to_string(stages.size()));
  return stages[0];
}

/// Never unloaded: code that calls it may live as long as the process.
void *findFunction(const std::string &name, const std::string &library, const std::string &symbol) {
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    refuse(name, std::string("cannot load its library: ") + dlerror());
  void *function = dlsym(handle, symbol.c_str());
  if (!function)
    refuse(name, library + " has no symbol '" + symbol + "'");
  return function;
}

} // namespace

void declareIntrinsic(const std::string &name, const expr::Stage &stage, const std::string &library,
                      const std::string &symbol) {
  Intrinsic intrinsic{name, patternOf(name, stage)};
  if (!library.empty())
    intrinsic.function = findFunction(name, library, symbol.empty() ? name : symbol);
  else if (!symbol.empty())
    refuse(name, "expected the library of its symbol '" + symbol + "'");
  declareIntrinsic(std::move(intrinsic));
}

} // namespace headrace
