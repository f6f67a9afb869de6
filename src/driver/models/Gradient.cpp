#include "driver/models/Gradient.h"

#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "driver/Phases.h"
#include "driver/ProgramBuilder.h"
#include "driver/RecipePhases.h"
#include "driver/RunPasses.h"
#include "runtime/system/Error.h"
#include "transform/choices/Choices.h"
#include "transform/gradient/Gradient.h"

using namespace mlir;

namespace headrace {
namespace {

/// Weights that stand as arguments while the program is differentiated.
class LiftedWeights {
public:
  explicit LiftedWeights(func::FuncOp function)
      : function(function), first(function.getNumArguments()) {}

  /// The number of the new argument.
  unsigned add(hr::ConstantOp weight, StringRef name) {
    OpBuilder b(function.getContext());
    unsigned position = function.getNumArguments();
    auto attribute = b.getDictionaryAttr(b.getNamedAttr(kNameAttr, b.getStringAttr(name)));
    function.insertArgument(position, weight.getType(), attribute, weight.getLoc());
    weights.emplace_back(weight.getValue(), weight.getLoc());
    weight.getResult().replaceAllUsesWith(function.getArgument(position));
    weight.erase();
    return position;
  }

  void putBack() {
    OpBuilder b = OpBuilder::atBlockBegin(&function.getBody().front());
    for (auto [i, weight] : llvm::enumerate(weights)) {
      Value constant = b.create<hr::ConstantOp>(weight.second, weight.first);
      function.getArgument(first + i).replaceAllUsesWith(constant);
    }
    for (size_t i = weights.size(); i-- > 0;)
      function.eraseArgument(first + i);
    auto counts = function->getAttrOfType<DenseI64ArrayAttr>(kGradientAttr);
    function->setAttr(kGradientAttr, b.getDenseI64ArrayAttr({first, counts[1]}));
  }

private:
  func::FuncOp function;
  unsigned first;
  std::vector<std::pair<ElementsAttr, Location>> weights;
};

std::string namesOf(const std::vector<TensorSpec> &specs) {
  std::string names;
  for (const TensorSpec &spec : specs)
    names += (names.empty() ? "'" : ", '") + spec.name + "'";
  return names;
}

hr::ConstantOp findWeight(func::FuncOp function, StringRef name) {
  for (auto constant : function.getOps<hr::ConstantOp>())
    if (operatorName(constant) == name)
      return constant;
  return {};
}

void checkFloat(const std::string &model, const std::string &name, Value value) {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  if (!isa<FloatType>(element))
    throw Error(ErrorKind::TypeMismatch, model + ": expected floating-point values in '" + name +
                                             "' to differentiate by, got " +
                                             std::string(nameOf(toDType(element))));
}

SmallVector<int64_t> findInputs(func::FuncOp function, const std::string &model,
                                const std::vector<std::string> &names, LiftedWeights &weights) {
  std::vector<TensorSpec> inputs = inputSpecs(function);
  SmallVector<int64_t> found;
  for (const std::string &name : names) {
    auto at = llvm::find_if(inputs, [&](const TensorSpec &spec) { return spec.name == name; });
    int64_t index = at - inputs.begin();
    if (at == inputs.end()) {
      hr::ConstantOp weight = findWeight(function, name);
      if (!weight)
        throw Error(ErrorKind::InvalidArgument,
                    (Twine(model) + ": expected an input or a weight to differentiate by, got '" +
                     name + "'; the inputs are " + namesOf(inputs))
                        .str());
      checkFloat(model, name, weight);
      index = weights.add(weight, name);
    } else {
      checkFloat(model, name, function.getArgument(index));
    }
    if (llvm::is_contained(found, index))
      throw Error(
          ErrorKind::InvalidArgument,
          (Twine(model) + ": expected each name to differentiate by once, got '" + name + "' twice")
              .str());
    found.push_back(index);
  }
  return found;
}

void dropValues(func::FuncOp function) {
  auto counts = function->getAttrOfType<DenseI64ArrayAttr>(kGradientAttr);
  auto outputs = static_cast<unsigned>(counts[1]);
  llvm::BitVector dropped(function.getNumResults());
  dropped.set(0, outputs);
  auto ret = cast<func::ReturnOp>(function.getBody().front().getTerminator());
  ret->eraseOperands(dropped);
  function.eraseResults(dropped);
}

/// The phases of the program's gradient. Weights are arguments while it is differentiated, so that
/// nothing folds them away.
std::vector<Phase> phasesOf(LevelOneProgram &program, const GradientOptions &options,
                            Direction direction, const std::string &target = hostTarget) {
  func::FuncOp function = entryFunction(*program.module);
  auto weights = std::make_shared<LiftedWeights>(function);
  GradientPasses passes;
  passes.inputs = findInputs(function, program.name, options.wrt, *weights);
  passes.seedScalars = direction == Direction::Joint;
  passes.budget = options.memoryBudget.value_or(-1);
  passes.target = target;
  if (options.wrt.empty() && llvm::none_of(function.getArgumentTypes(), [](Type type) {
        return isa<FloatType>(cast<RankedTensorType>(type).getElementType());
      }))
    throw Error(ErrorKind::InvalidArgument,
                program.name + ": expected an input of floating-point type to differentiate by, "
                               "got none; name weights instead");
  bool dropsValues = direction == Direction::Joint && !options.values;
  passes.afterwards = [weights, function, dropsValues](ModuleOp) {
    weights->putBack();
    if (dropsValues)
      dropValues(function);
  };
  return gradientPhases(passes, direction == Direction::Apart);
}

/// A program of one function of the module, as its entry.
LevelOneProgram extracted(LevelOneProgram &program, StringRef name) {
  LevelOneProgram result{
      program.name + " (" + name.str() + ")", program.context, {}, program.files};
  result.module = ModuleOp::create(program.module->getLoc());
  result.contextLock = program.contextLock;
  auto function = program.module->lookupSymbol<func::FuncOp>(name).clone();
  function.setName("main");
  result.module->push_back(function);
  return result;
}

/// Operators that stand in both functions, other than constants and views.
std::vector<std::string> commonOperators(func::FuncOp forward, func::FuncOp backward) {
  llvm::StringSet<> names;
  for (Operation &op : forward.getBody().front().without_terminator())
    if (!isa<hr::ConstantOp>(op))
      names.insert(operatorName(&op));
  std::vector<std::string> common;
  for (Operation &op : backward.getBody().front().without_terminator()) {
    std::string name = operatorName(&op);
    if (!isa<hr::ConstantOp, hr::ReshapeOp, hr::BroadcastOp, hr::CheckOp>(op) &&
        names.contains(name) && !llvm::is_contained(common, name))
      common.push_back(name);
  }
  return common;
}

} // namespace

LevelOneProgram differentiated(LevelOneProgram program, const GradientOptions &options) {
  runPhases(phasesOf(program, options, Direction::Joint), *program.module, program.name);
  return program;
}

std::optional<LevelOneProgram>
afterGradientPhase(LevelOneProgram program, const GradientOptions &options, Direction direction,
                   StringRef phase, const std::string &target, const std::string &recipe) {
  if (llvm::none_of(gradientPhases({}, direction == Direction::Apart),
                    [&](const Phase &known) { return known.name == phase; }))
    return std::nullopt;
  std::vector<Phase> phases = phasesOf(program, options, direction, target);
  giveSplitRecipe(*program.module, recipe);
  runPhases(phases, *program.module, program.name, phase);
  return program;
}

std::vector<std::pair<std::string, LevelOneProgram>> programsByDirection(LevelOneProgram program) {
  std::vector<std::pair<std::string, LevelOneProgram>> programs;
  for (const char *name : {"forward", "backward"})
    if (program.module->lookupSymbol<func::FuncOp>(name))
      programs.emplace_back(name, extracted(program, name));
  if (programs.empty())
    programs.emplace_back("", std::move(program));
  return programs;
}

DirectionPrograms splitByDirection(LevelOneProgram joint, const GradientOptions &options,
                                   const std::string &target, const std::string &recipe) {
  std::vector<Phase> phases = phasesOf(joint, options, Direction::Apart, target);
  giveSplitRecipe(*joint.module, recipe);
  runPhases(phases, *joint.module, joint.name);
  DirectionPrograms result{extracted(joint, "forward"), extracted(joint, "backward"), {}, {}, {}};
  func::FuncOp forward = entryFunction(*result.forward.module);
  func::FuncOp backward = entryFunction(*result.backward.module);
  result.computedAgain = commonOperators(forward, backward);
  result.choices = choicesText(backward, kSplitChoicesAttr);
  backward->removeAttr(kSplitChoicesAttr);
  std::vector<TensorSpec> taken = inputSpecs(backward);
  auto places = backward->getAttrOfType<DenseI64ArrayAttr>(kKeptAttr);
  for (auto [i, place] : llvm::enumerate(places.asArrayRef())) {
    bool isInput = place >= 0;
    result.kept.push_back({isInput ? SavedTensor::Place::Input : SavedTensor::Place::Output,
                           static_cast<size_t>(isInput ? place : -1 - place), taken[i]});
  }
  return result;
}

} // namespace headrace
