#include "frontend/expr/ImportExpression.h"

#include "dialect/ops/systems/Systems.h"
#include "frontend/common/ProgramWriter.h"
#include "frontend/expr/ScanWriter.h"

#include <set>

using namespace mlir;

namespace headrace::expr {

namespace {

using StagePtr = std::shared_ptr<const StageInfo>;

/// All that the outputs depend on, in order of making: a stage reads only earlier ones.
std::vector<StagePtr> reachable(const std::vector<Stage> &outputs) {
  std::map<uint64_t, StagePtr> found;
  std::vector<Expr> work;
  std::set<const Node *> seen;
  auto visit = [&](auto &self, const StagePtr &stage) -> void {
    if (stage->isSelf || !found.try_emplace(stage->serial, stage).second)
      return;
    if (!stage->body.isNull())
      work.push_back(stage->body);
    if (stage->recurrence)
      work.push_back(stage->recurrence->initial);
    if (stage->systems)
      for (const StagePtr &operand : {stage->systems->matrix, stage->systems->right})
        self(self, operand);
  };
  for (const Stage &output : outputs)
    visit(visit, output.shared());
  while (!work.empty()) {
    Expr expr = work.back();
    work.pop_back();
    if (!seen.insert(expr.get()).second)
      continue;
    if (expr->stage)
      visit(visit, expr->stage);
    work.insert(work.end(), expr.operands().begin(), expr.operands().end());
  }
  std::vector<StagePtr> stages;
  for (auto &[serial, stage] : found)
    stages.push_back(stage);
  return stages;
}

class ExpressionImporter {
public:
  ExpressionImporter(MLIRContext &context, const std::string &name)
      : context(context), writer(context, name), sizes(writer.symbols, &context) {}

  OwningOpRef<ModuleOp> run(const std::vector<Stage> &outputs) {
    std::vector<StagePtr> stages = reachable(outputs);
    nameStages(stages);
    for (const StagePtr &stage : stages)
      if (stage->isInput())
        addInput(*stage);
    for (const StagePtr &stage : stages)
      if (!stage->isInput())
        addStage(stage);
    for (const Stage &output : outputs) {
      if (output->isInput())
        throw Error(ErrorKind::InvalidArgument, "output '" + names[output.get()] +
                                                    "': expected a computed tensor, got a "
                                                    "placeholder");
      writer.addOutput(names[output.get()], values.at(output.get()));
    }
    checkSizesAreBound();
    return writer.finish();
  }

private:
  void nameStages(const std::vector<StagePtr> &stages) {
    std::set<std::string> taken;
    for (const StagePtr &stage : stages)
      if (!stage->name.empty() && !taken.insert(stage->name).second)
        throw Error(ErrorKind::InvalidArgument,
                    "stage '" + stage->name + "': expected one tensor of this name, got two");
    int inputs = 0, computed = 0;
    for (const StagePtr &stage : stages) {
      std::string name = stage->name;
      while (name.empty() || (stage->name.empty() && !taken.insert(name).second))
        name = stage->isInput() ? "input" + std::to_string(inputs++)
                                : "stage" + std::to_string(computed++);
      names[stage.get()] = name;
    }
  }

  void addInput(const StageInfo &stage) {
    OperatorBuilder operators = operatorsOf(names[&stage], "placeholder");
    SymbolicShape shape;
    for (const Expr &size : stage.shape) {
      shape.push_back(sizes.convert(size));
      operators.requireNonNegative(shape.back(), "size");
      if (auto symbol = dyn_cast<AffineSymbolExpr>(shape.back()))
        bound.insert(symbol.getPosition());
    }
    values[&stage] = writer.addInput(
        names[&stage], operators.checkedType(shape, toElementType(stage.dtype, &context)));
  }

  void addStage(const StagePtr &stage) {
    try {
      if (stage->systems) {
        values[stage.get()] = solution(*stage);
        return;
      }
      if (stage->recurrence) {
        const std::string &name = names[stage.get()];
        OperatorBuilder operators = operatorsOf(name, "stage");
        values[stage.get()] = writeScan(stage, name, operators, writer.symbols, sizes, values);
        return;
      }
      for (const FlatStage &flat : flattened(stage, names[stage.get()])) {
        OperatorBuilder operators = operatorsOf(flat.name, "stage");
        values[flat.info.get()] = writeStage(flat, operators, writer.symbols, sizes, values);
        kept.push_back(flat.info);
      }
    } catch (const Error &error) {
      std::string message = error.what();
      if (message.starts_with("stage '"))
        throw;
      throw Error(error.kind(), "stage '" + names[stage.get()] + "': " + message);
    }
  }

  Value solution(const StageInfo &stage) {
    const Systems &systems = *stage.systems;
    Value right = values.at(systems.right.get());
    auto mark = [&](bool holds) { return holds ? writer.builder.getUnitAttr() : UnitAttr(); };
    return operatorsOf(names[&stage], "stage")
        .create<hr::SolveOp>(right.getType(), values.at(systems.matrix.get()), right,
                             mark(systems.complex), mark(systems.positiveDefinite));
  }

  OperatorBuilder operatorsOf(const std::string &name, const char *kind) {
    return OperatorBuilder(writer.builder, writer.symbols, writer.diagnostics,
                           NameLoc::get(writer.builder.getStringAttr(name)),
                           std::string(kind) + " '" + name + "'");
  }

  /// A call gives sizes by its arrays alone.
  void checkSizesAreBound() const {
    for (auto [i, name] : llvm::enumerate(writer.symbols.names()))
      if (!bound.contains(i))
        throw Error(ErrorKind::InvalidArgument, "size '" + name +
                                                    "': expected a placeholder with a dimension of "
                                                    "this size, got none");
  }

  MLIRContext &context;
  ProgramWriter writer;
  SizeTable sizes;
  StageValues values;
  std::map<const StageInfo *, std::string> names;
  std::vector<StagePtr> kept; // stages made here, which values are known by
  std::set<size_t> bound;
};

} // namespace

OwningOpRef<ModuleOp> importExpression(const std::vector<Stage> &outputs, MLIRContext &context,
                                       const std::string &name) {
  if (outputs.empty())
    throw Error(ErrorKind::InvalidArgument, "expected a tensor to compute, got none");
  context.loadDialect<hr::HrDialect, func::FuncDialect>();
  return ExpressionImporter(context, name).run(outputs);
}

} // namespace headrace::expr
