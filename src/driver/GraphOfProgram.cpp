#include "driver/GraphOfProgram.h"

#include "analysis/OperatorWork.h"
#include "dialect/ops/Operands.h"
#include "driver/Predict.h"
#include "driver/ProgramBuilder.h"
#include "driver/RunPasses.h"
#include "transform/choices/Choices.h"
#include "transform/choices/Verbs.h"
#include "transform/kernels/ProgramModel.h"
#include "transform/recipe/KernelModel.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace headrace {
namespace {

/// The phase whose kernels cost models know.
constexpr StringLiteral kPredictedPhase = "schedule";

class GraphBuilder {
public:
  GraphBuilder(ModuleOp program, const Targets &targets, bool predictsKernels,
               const std::string &codeOf)
      : program(program), entry(entryFunction(program)), targets(targets),
        names(entry.getBody().front()), sizes(sizeHints(entry)), codeOf(codeOf) {
    if (predictsKernels)
      predictKernels();
  }

  ProgramGraph build() {
    graph.symbols = symbolNames(entry);
    std::vector<TensorSpec> inputs = inputSpecs(entry), outputs = outputSpecs(entry);
    for (auto [argument, spec] : llvm::zip(entry.getArguments(), inputs))
      ids[argument] = add({unique("input:" + spec.name), "input"}).id;
    for (Operation &op : entry.getBody().front().without_terminator())
      visit(&op);
    Operation *ret = entry.getBody().front().getTerminator();
    for (auto [value, spec] : llvm::zip(ret->getOperands(), outputs))
      connect(value, add({unique("output:" + spec.name), "output"}).id);
    return std::move(graph);
  }

private:
  GraphNode &add(GraphNode node) { return graph.nodes.emplace_back(std::move(node)); }

  /// At the size hints, on one thread. Of the steps, those that are operations are in their order.
  void predictKernels() {
    Program steps = buildProgram(entry);
    std::vector<int64_t> symbols;
    for (auto [i, symbol] : llvm::enumerate(steps.symbols))
      symbols.push_back(std::max(symbol.min, sizes.of(static_cast<unsigned>(i))));
    nominalSymbols.assign(symbols.begin(), symbols.end());
    std::vector<StepPrediction> predicted =
        predictSteps(steps, program, targets, symbols, /*threads=*/1);
    auto step = steps.steps.begin();
    for (Operation &op : entry.getBody().front()) {
      if (!isa<hr::LaunchOp, hr::LibraryOp, hr::CheckOp>(op))
        continue;
      while (step->kind == Step::Kind::Transfer)
        ++step;
      predictions[&op] = std::move(predicted[step++ - steps.steps.begin()]);
    }
  }

  std::optional<double> predicted(Operation *op) const {
    auto found = predictions.find(op);
    return found == predictions.end() ? std::nullopt
                                      : std::optional(found->second.estimate.microseconds);
  }

  std::string unique(std::string id) {
    std::string plain = id;
    for (int number = 1; !taken.insert(id).second; ++number)
      id = plain + "." + std::to_string(number);
    return id;
  }

  void connect(Value value, const std::string &to) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    auto from = ids.find(value);
    if (!type || from == ids.end())
      return;
    GraphEdge edge{from->second, to, typeName(value), {}};
    if (type.hasStaticShape() || type.getEncoding()) {
      for (AffineExpr size : shapeOf(type))
        edge.shape.push_back(toDimExpr(size));
      edge.bytes = toDimExpr(byteCount(type));
    }
    graph.edges.push_back(std::move(edge));
  }

  void visit(Operation *op) {
    GraphNode node;
    if (auto kernel = dyn_cast<hr::KernelOp>(op))
      node = nodeOf(kernel, kernelNameOf(op), "kernel");
    else if (auto launch = dyn_cast<hr::LaunchOp>(op))
      node = ofLaunch(launch);
    else if (auto call = dyn_cast<hr::LibraryOp>(op))
      node = ofCall(call);
    else
      node = ofOperator(op);
    std::string id = place(op, std::move(node));
    if (auto kernel = dyn_cast<hr::KernelOp>(op))
      addStages(kernel.getBody().front(), id);
  }

  /// Adds the operation's node, with what it reads; returns its id.
  std::string place(Operation *op, GraphNode node) {
    std::string id = node.id = unique(node.id);
    if (codeOf == "*" || codeOf == id)
      node.code = codeOfOperation(op);
    add(std::move(node));
    for (Value operand : op->getOperands())
      connect(operand, id);
    for (Value result : op->getResults())
      ids[result] = id;
    return id;
  }

  /// The operation as text; of a launch, the kernel that is launched, if it is in the program.
  std::string codeOfOperation(Operation *op) {
    std::string text = printed(op);
    if (auto launch = dyn_cast<hr::LaunchOp>(op))
      if (auto kernel = program.lookupSymbol<ModuleOp>(launch.getKernel()))
        text += "\n\n" + printed(kernel);
    return text;
  }

  /// Kernels, launches and calls carry their costs.
  template <class Op> GraphNode nodeOf(Op op, const std::string &id, const std::string &kind) {
    GraphNode node{id, kind};
    for (auto name : op.getOperators().template getAsValueRange<StringAttr>())
      node.operators.push_back(name.str());
    AffineMap cost = op.getCost();
    node.bytesRead = toDimExpr(cost.getResult(0));
    node.bytesWritten = toDimExpr(cost.getResult(1));
    node.operations = toDimExpr(cost.getResult(2));
    node.microseconds = predicted(op);
    return node;
  }

  GraphNode ofCall(hr::LibraryOp call) {
    std::string name = kernelNameOf(call);
    GraphNode node =
        nodeOf(call, name.empty() ? plainName(call.getName()) : name, call.getRoutine().str());
    if (auto recipe = call->getAttrOfType<StringAttr>(kRecipeAttr))
      node.recipe = recipe.str();
    if (auto space = targets.wanted.schedulesOfCall(call))
      for (const ScheduleRecord &other : space->alternatives())
        node.alternatives.push_back({space->recipe(other)});
    return node;
  }

  GraphNode ofLaunch(hr::LaunchOp launch) {
    GraphNode node = nodeOf(launch, kernelNameOf(launch), "kernel");
    auto module = program.lookupSymbol<ModuleOp>(launch.getKernel());
    if (!module)
      return node;
    node.recipe = textAttribute(module, kRecipeAttr);
    const Target &target = targets.of(module);
    auto known = predictions.find(launch);
    double operations = known == predictions.end()
                            ? 0
                            : static_cast<double>(node.operations.evaluate(
                                  {nominalSymbols.data(), nominalSymbols.size()}));
    for (const std::unique_ptr<ScheduleSpace> &space : target.schedules(module))
      for (const ScheduleRecord &other : space->alternatives()) {
        AlternativeStep &step =
            node.alternatives.emplace_back(AlternativeStep{space->recipe(other)});
        if (known == predictions.end())
          continue;
        if (auto work = target.workUnder(module, other, nominalSymbols, operations)) {
          llvm::append_range(work->streams, known->second.accesses);
          step.microseconds = target.costModel().microseconds(*work);
        }
      }
    return node;
  }

  GraphNode ofOperator(Operation *op) {
    std::string name = names.of(op).str();
    GraphNode node{name.empty() ? plainName(operatorName(op)) : name,
                   op->getName().stripDialect().str()};
    node.operators.push_back(operatorName(op));
    auto structured = dyn_cast<hr::OperatorInterface>(op);
    if (!structured || isa<hr::ConstantOp>(op))
      return node;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      node.bytesRead = node.bytesRead + toDimExpr(bytesRead(structured, i, sizes));
    node.bytesWritten = toDimExpr(byteCount(hr::typeOf(op->getResult(0))));
    if (structured.getFusionRole() == FusionRole::View) {
      node.bytesRead = node.bytesWritten = DimExpr::constant(0);
      return node;
    }
    node.operations = toDimExpr(structured.getMovement().operations(op->getContext()));
    const Target &target = targets.wanted;
    node.microseconds = target.costModel().microseconds(workOf(structured, sizes));
    for (const Expansion *expansion : target.expansions())
      if (expansion->applies(op, target.machine()))
        node.alternatives.push_back(
            {ProgramStep{verbs::expand.name.str(), node.id, expansion->name().str()}.text(),
             estimatedMicroseconds(*expansion, op, target.machine())});
    return node;
  }

  /// The operations of a kernel and the values between them.
  void addStages(Block &body, const std::string &kernel) {
    body.walk([&](Operation *op) {
      if (stageOf(op).empty() || isa<linalg::FillOp>(op) || op->getNumResults() == 0)
        return;
      GraphNode node{kernel + "/" + stageOf(op).str(), op->getName().getStringRef().str()};
      node.inside = kernel;
      place(op, std::move(node));
    });
  }

  ModuleOp program;
  func::FuncOp entry;
  const Targets &targets;
  OperatorNames names;
  SizeHints sizes;
  const std::string &codeOf;
  ProgramGraph graph;
  llvm::DenseMap<Value, std::string> ids;
  llvm::DenseMap<Operation *, StepPrediction> predictions;
  SmallVector<int64_t> nominalSymbols;
  llvm::StringSet<> taken;
};

} // namespace

ProgramGraph graphOf(ModuleOp program, const Targets &targets, const std::string &phase,
                     const std::string &codeOf) {
  ProgramGraph graph = GraphBuilder(program, targets, phase == kPredictedPhase, codeOf).build();
  graph.phase = phase;
  return graph;
}

} // namespace headrace
