#include "frontend/expr/ScanParts.h"

#include "dialect/SizeAlgebra.h"
#include "frontend/expr/IndexChecks.h"
#include "runtime/system/Error.h"

#include <set>

using namespace mlir;

namespace headrace::expr {

namespace {

/// A step keeps this many earlier ones.
constexpr int64_t kMaxHistory = 8;

class ScanSplitter {
public:
  ScanSplitter(const std::shared_ptr<const StageInfo> &stage, const std::string &name,
               SizeTable &sizes, const Symbols &symbols, MLIRContext *context)
      : stage(stage), name(name), sizes(sizes), symbols(symbols), context(context) {}

  ScanParts run() {
    auto step = std::make_shared<StageInfo>(*stage);
    step->recurrence = nullptr;
    Domain domain(stage->axes, 0, sizes, symbols, context);
    std::map<const Node *, Expr> done;
    step->body = withStepsBack(stage->body, domain, done);
    for (const FlatStage &flat : flattened(step, name))
      if (dependsOnSteps(flat.value) || flat.info == step)
        addStep(flat);
      else
        parts.before.push_back(flat);
    if (parts.sequences.empty())
      parts.sequences.push_back(stepNumbers());
    return std::move(parts);
  }

private:
  const AxisInfo *steps() const { return stage->axes.front().get(); }

  /// Reads of the tensor itself as reads of the tensors of earlier steps.
  Expr withStepsBack(const Expr &expr, const Domain &domain, std::map<const Node *, Expr> &done) {
    if (expr.operands().empty())
      return expr;
    if (auto known = done.find(expr.get()); known != done.end())
      return known->second;
    Node copy = *expr;
    for (Expr &operand : copy.operands)
      operand = withStepsBack(operand, domain, done);
    if (expr.op() == Op::Read && expr->stage == stage->recurrence->self) {
      copy.stage = stepsBack(expr, domain);
      copy.operands.erase(copy.operands.begin());
    }
    return done[expr.get()] = makeNode(std::move(copy));
  }

  std::shared_ptr<const StageInfo> stepsBack(const Expr &read, const Domain &domain) {
    auto form = domain.linear(read.operands().front());
    std::optional<int64_t> back;
    if (form && form->coefficients.front() == 1 &&
        llvm::all_of(ArrayRef(form->coefficients).drop_front(), [](int64_t c) { return c == 0; }))
      back = constantValue(normalized(form->offset * -1));
    if (!back || *back < 1 || *back > kMaxHistory)
      fail(ErrorKind::InvalidArgument, read.text() + " reads a step: expected the step's index " +
                                           std::string(stepsName()) + " less 1 to " +
                                           std::to_string(kMaxHistory));
    auto &known = earlier[*back];
    if (!known) {
      auto info = std::make_shared<StageInfo>(*stage->recurrence->self);
      info->shape.erase(info->shape.begin());
      known = info;
      parts.stepsBack[known.get()] = *back;
      parts.history = std::max(parts.history, *back);
    }
    return known;
  }

  std::string stepsName() const { return steps()->name.empty() ? "of steps" : steps()->name; }

  bool dependsOnSteps(const Expr &expr) {
    auto [known, isNew] = depends.try_emplace(expr.get(), false);
    if (!isNew)
      return known->second;
    bool found = expr.op() == Op::Read && (parts.stepsBack.contains(expr->stage.get()) ||
                                           inStep.contains(expr->stage.get()));
    for (const Expr &operand : expr.operands())
      found |= dependsOnSteps(operand);
    return depends[expr.get()] = found;
  }

  void addStep(FlatStage flat) {
    if (flat.value.op() == Op::Tuple)
      fail(ErrorKind::Unsupported, "a step reduces tuples of values of earlier steps: expected "
                                   "reductions of single values");
    SmallVector<Axis> axes(flat.info->axes.begin(), flat.info->axes.end());
    if (flat.reduction)
      llvm::append_range(axes, flat.reduction->axes);
    Domain domain(axes, flat.reduction ? flat.reduction->axes.size() : 0, sizes, symbols, context);
    std::string subject = "stage '" + name + "'";
    Accesses accesses = findAccesses(flat.value, domain, sizes, symbols, subject);
    for (const DataIndex &index : findDataIndices(flat.value, domain, sizes, accesses))
      if (dependsOnSteps(index.read))
        fail(ErrorKind::Unsupported, index.read.text() + ": expected indices of positions and "
                                                         "sizes, got one that depends on data");
    flat.value = withoutOthers(flat.value, {}, axes);
    inStep.insert(flat.info.get());
    parts.step.push_back(std::move(flat));
  }

  /// The expression with reads of tensors for all that does not depend on earlier steps.
  Expr withoutOthers(const Expr &expr, const std::vector<Expr> &conditions, ArrayRef<Axis> axes) {
    if (!dependsOnSteps(expr))
      return isSimple(expr) ? expr : before(expr, conditions, axes);
    Node copy = *expr;
    bool chooses = expr.op() == Op::Select && !dependsOnSteps(expr.operands().front());
    for (auto [i, operand] : llvm::enumerate(copy.operands)) {
      std::vector<Expr> inner = conditions;
      if (chooses && i > 0)
        inner.push_back(i == 1 ? expr.operands().front()
                               : apply(Op::Not, {expr.operands().front()}));
      operand = withoutOthers(operand, inner, axes);
    }
    return makeNode(std::move(copy));
  }

  /// Whether a step may as well compute it: from sizes, numbers and positions but the step's.
  bool isSimple(const Expr &expr) const {
    if (expr.op() == Op::Read || (expr.op() == Op::Position && expr->axis.get() == steps()))
      return false;
    return llvm::all_of(expr.operands(), [&](const Expr &operand) { return isSimple(operand); });
  }

  static void listAxes(const Expr &expr, std::set<const AxisInfo *> &used) {
    if (expr.op() == Op::Position)
      used.insert(expr->axis.get());
    for (const Expr &operand : expr.operands())
      listAxes(operand, used);
  }

  Expr before(const Expr &expr, const std::vector<Expr> &conditions, ArrayRef<Axis> axes) {
    if (isPlainRead(expr)) {
      addTensor(expr->stage, !expr.operands().empty() && isSteps(expr.operands().front()));
      return expr;
    }
    std::set<const AxisInfo *> used;
    listAxes(expr, used);
    Expr value = expr;
    if (!staysInside(expr, axes, used)) {
      // If a condition keeps an index inside its tensor, the element is read only if the condition
      // holds.
      std::vector<Expr> needed = conditions;
      for (const Axis &axis : axes)
        if (!used.contains(axis.get()) && axis->extent.op() != Op::Number)
          needed.push_back(axis->extent > Expr(0));
      value = select(all(needed), expr, cast(Expr(0), expr.dtype()));
      listAxes(value, used);
    }
    auto info = std::make_shared<StageInfo>();
    info->name = name + ".before" + (parts.before.empty() ? "" : std::to_string(++count));
    info->dtype = expr.dtype();
    std::vector<Expr> indices;
    for (bool isOfSteps : {true, false})
      for (const Axis &axis : axes)
        if (used.contains(axis.get()) && (axis.get() == steps()) == isOfSteps) {
          info->axes.push_back(axis);
          info->shape.push_back(axis->extent);
          bool fromZero = axis->low.op() == Op::Number && axis->low->integer == 0;
          indices.push_back(fromZero ? Expr(axis) : Expr(axis) - axis->low);
        }
    info->body = value;
    parts.before.push_back({info, info->name, nullptr, value});
    addTensor(info, used.contains(steps()));
    return Stage(info).read(std::move(indices));
  }

  /// Whether no read of the expression can leave its tensor, over the axes that are used.
  bool staysInside(const Expr &expr, ArrayRef<Axis> axes, const std::set<const AxisInfo *> &used) {
    SmallVector<Axis> own;
    for (const Axis &axis : axes)
      if (used.contains(axis.get()))
        own.push_back(axis);
    try {
      (void)findAccesses(expr, Domain(own, 0, sizes, symbols, context), sizes, symbols, name);
      return true;
    } catch (const Error &) {
      return false;
    }
  }

  bool isSteps(const Expr &index) const {
    return index.op() == Op::Position && index->axis.get() == steps();
  }

  /// Whether the read needs no stage: the step's number is its first index, or it has none.
  bool isPlainRead(const Expr &expr) const {
    if (expr.op() != Op::Read || expr.operands().empty())
      return expr.op() == Op::Read;
    std::set<const AxisInfo *> seen;
    for (auto [i, index] : llvm::enumerate(expr.operands())) {
      bool isPosition = index.op() == Op::Position && index->axis->low.op() == Op::Number &&
                        index->axis->low->integer == 0;
      if (!isPosition || !seen.insert(index->axis.get()).second || (i > 0 && isSteps(index)))
        return false;
      auto extent = sizes.tryConvert(index->axis->extent);
      if (!extent || !sameSize(*extent, sizes.convert(expr->stage->shape[i])))
        return false;
    }
    return true;
  }

  void addTensor(const std::shared_ptr<const StageInfo> &tensor, bool isSequence) {
    auto &list = isSequence ? parts.sequences : parts.weights;
    if (!llvm::is_contained(list, tensor))
      list.push_back(tensor);
  }

  /// A sequence for a recurrence whose steps read none.
  std::shared_ptr<const StageInfo> stepNumbers() {
    auto info = std::make_shared<StageInfo>();
    info->name = name + ".steps";
    info->dtype = DType::I64;
    info->axes = {stage->axes.front()};
    info->shape = {stage->shape.front()};
    info->body = Expr(stage->axes.front());
    parts.before.push_back({info, info->name, nullptr, info->body});
    return info;
  }

  [[noreturn]] void fail(ErrorKind kind, const std::string &message) const {
    throw Error(kind, "stage '" + name + "': " + message);
  }

  std::shared_ptr<const StageInfo> stage;
  std::string name;
  SizeTable &sizes;
  const Symbols &symbols;
  MLIRContext *context;
  ScanParts parts;
  std::map<int64_t, std::shared_ptr<const StageInfo>> earlier;
  std::set<const StageInfo *> inStep;
  std::map<const Node *, bool> depends;
  int count = 1;
};

} // namespace

ScanParts scanParts(const std::shared_ptr<const StageInfo> &stage, const std::string &name,
                    SizeTable &sizes, const Symbols &symbols, MLIRContext *context) {
  return ScanSplitter(stage, name, sizes, symbols, context).run();
}

} // namespace headrace::expr
