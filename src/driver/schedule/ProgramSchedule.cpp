#include "driver/schedule/ProgramSchedule.h"

#include "driver/Contexts.h"
#include "driver/RunPasses.h"
#include "frontend/expr/ImportExpression.h"
#include "runtime/system/Error.h"
#include "targets/Host.h"
#include "transform/kernels/ProgramModel.h"

using namespace mlir;

namespace headrace {

static LoopModel modelOf(const std::vector<expr::Stage> &outputs) {
  std::shared_ptr<MLIRContext> context = contextFor(findTarget(hostTarget));
  OwningOpRef<ModuleOp> program = expr::importExpression(outputs, *context, "schedule");
  func::FuncOp entry = entryFunction(*program);
  nameStages(entry);
  return modelOfProgram(entry);
}

ProgramSchedule::ProgramSchedule(const std::vector<expr::Stage> &outputs)
    : model(modelOf(outputs)) {}

void ProgramSchedule::apply(const std::string &text) {
  LoopModel changed = model;
  changed.apply(Recipe::parse(text));
  model = std::move(changed);
}

std::vector<std::string> ProgramSchedule::stages() const {
  std::vector<std::string> result;
  for (const Stage &stage : model.getStages())
    result.push_back(stage.name);
  return result;
}

const Stage &ProgramSchedule::find(const std::string &name) const {
  if (const Stage *stage = model.find(name))
    return *stage;
  std::string known;
  for (const std::string &stage : stages())
    known += (known.empty() ? "" : ", ") + stage;
  throw Error(ErrorKind::InvalidArgument,
              "schedule: expected one of the stages " + known + ", got '" + name + "'");
}

std::vector<std::string> ProgramSchedule::loops(const std::string &stage) const {
  std::vector<std::string> result;
  for (const Loop &loop : find(stage).loops)
    result.push_back(loop.name);
  return result;
}

std::string ProgramSchedule::summary(const std::string &stage) const {
  return LoopModel::summary(find(stage));
}

} // namespace headrace
