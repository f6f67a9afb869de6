#include "transform/kernels/ProgramModel.h"

#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "runtime/system/Error.h"
#include "transform/choices/OperatorNames.h"
#include "transform/kernels/KernelGroup.h"
#include "transform/recipe/Formula.h"
#include "transform/recipe/KernelModel.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace {
namespace {

/// The slice that a value is, if it is read in place; else null.
hr::SliceOp sliceInPlace(Value value) {
  auto slice = value.getDefiningOp<hr::SliceOp>();
  return slice && isReadInPlace(slice) ? slice : hr::SliceOp();
}

bool isStage(Operation *op) {
  return isa<hr::OperatorInterface>(op) && !isa<hr::ConstantOp, hr::ReshapeOp, hr::CheckOp>(op) &&
         !sliceInPlace(op->getResult(0));
}

/// Whether others than stages use a value: it leaves the program, or is seen in another shape.
bool isNeededWhole(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    if (isa<func::ReturnOp>(user))
      return true;
    hr::SliceOp slice = sliceInPlace(user->getResult(0));
    return slice ? isNeededWhole(slice.getResult()) : !isStage(user);
  });
}

StageRead readOf(hr::OperatorInterface op, const Movement &m, unsigned operand) {
  Value value = op->getOperand(operand);
  StageRead read{programSourceName(value), {}};
  read.type = typeName(value);
  if (operand >= m.maps.size() || !m.maps[operand]) {
    read.irregular = true;
    return read;
  }
  // Parts with gaps are computed with all of what they are taken from.
  if (hr::SliceOp slice = sliceInPlace(value))
    read.irregular = llvm::any_of(slice.getSteps(), [](int64_t step) { return step != 1; });
  SymbolicShape shape = shapeOf(value);
  for (auto [size, expr] : llvm::zip(shape, m.maps[operand].getResults())) {
    std::optional<ReadDim> dim = linearTerms(expr, constantValue(size));
    read.irregular |= !dim;
    read.dims.push_back(dim.value_or(ReadDim{}));
  }
  return read;
}

Stage stageOfOperator(hr::OperatorInterface op) {
  Stage stage;
  stage.name = stageOf(op).str();
  stage.isOutput = isNeededWhole(op->getResult(0));
  if (!op.isStructured()) {
    stage.hasLoops = false;
    for (Value operand : op->getOperands())
      stage.reads.push_back({programSourceName(operand), {}, /*irregular=*/true});
    return stage;
  }
  Movement m = op.getMovement();
  for (auto [dim, size, kind] : llvm::enumerate(m.domain, m.iterators))
    stage.axes.push_back({axisName(op, dim), constantValue(size), kind == IteratorType::reduction});
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    stage.reads.push_back(readOf(op, m, i));
  for (AffineExpr expr : m.maps.back().getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    stage.result.push_back(dim ? static_cast<int>(dim.getPosition()) : -1);
  }
  stage.type = typeName(op->getResult(0));
  stage.formula = formulaOf(op);
  stage.reorderable = true; // what a kernel's operations say decides
  return stage;
}

} // namespace

std::string programSourceName(Value value) {
  if (hr::SliceOp slice = sliceInPlace(value))
    value = slice.getInput();
  if (Operation *op = value.getDefiningOp())
    return stageOf(op).empty() ? plainName(operatorName(op)) : stageOf(op).str();
  auto argument = cast<BlockArgument>(value);
  auto func = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (auto name = func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr))
    return plainName(name);
  return "in" + std::to_string(argument.getArgNumber());
}

void nameStages(func::FuncOp program) {
  llvm::StringMap<int> count;
  for (Operation &op : program.getBody().front().without_terminator()) {
    if (!isStage(&op))
      continue;
    std::string name = stageOf(&op).empty() ? plainName(operatorName(&op)) : stageOf(&op).str();
    if (int number = count[name]++)
      name += "." + std::to_string(number);
    op.setAttr(kStageAttr, StringAttr::get(op.getContext(), name));
  }
}

LoopModel modelOfProgram(func::FuncOp program) {
  std::vector<Stage> stages;
  for (Operation &op : program.getBody().front().without_terminator())
    if (isStage(&op))
      stages.push_back(stageOfOperator(cast<hr::OperatorInterface>(op)));
  return LoopModel(std::move(stages));
}

std::optional<LoopModel> scheduledProgram(func::FuncOp program) {
  auto text = program->getAttrOfType<StringAttr>(kRecipeAttr);
  if (!text)
    return std::nullopt;
  nameStages(program);
  LoopModel model = modelOfProgram(program);
  model.apply(Recipe::parse(text.getValue()));
  for (const RecipeStep &step : model.recipe().steps) {
    bool makesStage =
        step.kind == RecipeStep::Kind::CacheRead || step.kind == RecipeStep::Kind::CacheWrite;
    if (!makesStage)
      continue;
    std::string of = step.kind == RecipeStep::Kind::CacheRead ? step.target : step.stage;
    std::string name = step.names.empty() ? of + ".local" : step.names[0];
    if (!model.find(name)->place)
      throw Error(ErrorKind::InvalidArgument,
                  "recipe: '" + name + "' is a copy of its own, '" + step.text() +
                      "', and no step says inside which loop it is made (compute_at)");
  }
  return model;
}

} // namespace headrace
