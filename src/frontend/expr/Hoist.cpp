#include "frontend/expr/Hoist.h"

#include "runtime/system/Error.h"

#include <algorithm>
#include <map>

namespace headrace::expr {

namespace {

class Hoister {
public:
  Hoister(std::shared_ptr<const StageInfo> stage, std::string name)
      : stage(std::move(stage)), name(std::move(name)) {}

  std::vector<FlatStage> run() {
    flatten();
    return std::move(stages);
  }

private:
  /// The rewritten expression, and the axes of the scope it uses.
  struct Result {
    Expr expr;
    std::vector<bool> used;
  };
  using Memo = std::map<const Node *, Result>;

  void flatten() {
    std::vector<Axis> scope = stage->axes;
    // f16 and bf16 are reduced in f32: a sum in eight bits of mantissa stops growing at 256.
    Expr body = inSingle(stage->body);
    FlatStage flat{stage, name, nullptr, body};
    if (body.op() == Op::Reduce) {
      flat.reduction = body->reduction;
      flat.component = static_cast<size_t>(body->integer);
      extend(scope, body);
      flat.value = body.operands()[0];
    }
    Memo memo;
    flat.value = rewrite(flat.value, scope, memo).expr;
    stages.push_back(std::move(flat));
  }

  static Expr inSingle(const Expr &expr) {
    bool isHalf = expr.dtype() == DType::F16 || expr.dtype() == DType::BF16;
    if (expr.op() != Op::Reduce || !isHalf || expr->reduction->kind == Reduction::Kind::Custom)
      return expr;
    Node wide = *expr;
    wide.dtype = DType::F32;
    wide.operands = {cast(expr.operands()[0], DType::F32)};
    return cast(makeNode(std::move(wide)), expr.dtype());
  }

  void extend(std::vector<Axis> &scope, const Expr &reduce) const {
    for (const Axis &axis : reduce->reduction->axes) {
      for (const Axis &outer : scope)
        if (outer.get() == axis.get())
          fail("axis '" + axis->name + "' is reduced inside itself in " + reduce.text());
      scope.push_back(axis);
    }
  }

  Result rewrite(const Expr &original, const std::vector<Axis> &scope, Memo &memo) {
    if (auto known = memo.find(original.get()); known != memo.end())
      return known->second;
    Expr expr = inSingle(original);
    Result result{expr, std::vector<bool>(scope.size(), false)};
    if (expr.op() == Op::Reduce)
      result = hoist(expr, scope);
    else if (expr.op() == Op::Position)
      result.used[placeOf(expr, scope)] = true;
    else if (!expr.operands().empty()) {
      Node copy = *expr;
      for (Expr &operand : copy.operands) {
        Result part = rewrite(operand, scope, memo);
        operand = part.expr;
        for (size_t i = 0; i < scope.size(); ++i)
          result.used[i] = result.used[i] || part.used[i];
      }
      result.expr = makeNode(std::move(copy));
    }
    return memo[original.get()] = result;
  }

  size_t placeOf(const Expr &position, const std::vector<Axis> &scope) const {
    for (size_t i = 0; i < scope.size(); ++i)
      if (scope[i].get() == position->axis.get())
        return i;
    fail("axis '" + position.text() + "' is used outside its reduction in " + stage->body.text());
  }

  /// The reduction as a stage over the axes it uses, and its element at this point.
  Result hoist(const Expr &reduce, const std::vector<Axis> &scope) {
    std::vector<Axis> inner = scope;
    extend(inner, reduce);
    Memo memo;
    Result value = rewrite(reduce.operands()[0], inner, memo);
    static constexpr const char *names[] = {"sum", "prod", "min", "max", "reduce"};
    auto info = std::make_shared<StageInfo>();
    info->name = name + "." + names[static_cast<size_t>(reduce->reduction->kind)];
    if (hoisted++ > 0)
      info->name += std::to_string(hoisted);
    info->dtype = reduce.dtype();
    std::vector<Expr> indices;
    Result result{{}, std::vector<bool>(scope.size(), false)};
    for (size_t i = 0; i < scope.size(); ++i) {
      if (!value.used[i])
        continue;
      result.used[i] = true;
      info->axes.push_back(scope[i]);
      info->shape.push_back(scope[i]->extent);
      bool fromZero = scope[i]->low.op() == Op::Number && scope[i]->low->integer == 0;
      indices.push_back(fromZero ? Expr(scope[i]) : Expr(scope[i]) - scope[i]->low);
    }
    info->body = reduce;
    stages.push_back(
        {info, info->name, reduce->reduction, value.expr, static_cast<size_t>(reduce->integer)});
    result.expr = Stage(info).read(std::move(indices));
    return result;
  }

  [[noreturn]] void fail(const std::string &message) const {
    throw Error(ErrorKind::InvalidArgument, "stage '" + name + "': " + message);
  }

  std::shared_ptr<const StageInfo> stage;
  std::string name;
  std::vector<FlatStage> stages;
  int hoisted = 0;
};

} // namespace

std::vector<FlatStage> flattened(const std::shared_ptr<const StageInfo> &stage,
                                 const std::string &name) {
  return Hoister(stage, name).run();
}

} // namespace headrace::expr
