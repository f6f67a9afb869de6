#include "script/graph/CallBuilder.h"

#include <algorithm>
#include <utility>

namespace headrace::script {

struct AggregateRule {
  AggregateKind kind;
  Extent extent;
};

static const std::unordered_map<std::string_view, AggregateRule> &aggregates() {
  using enum AggregateKind;
  using enum Extent;
  static const std::unordered_map<std::string_view, AggregateRule> table = {
      {"sum", {Sum, All}},
      {"prod", {Product, All}},
      {"rowSums", {Sum, EachRow}},
      {"rowMeans", {Mean, EachRow}},
      {"rowProds", {Product, EachRow}},
      {"rowMins", {Min, EachRow}},
      {"rowMaxs", {Max, EachRow}},
      {"colSums", {Sum, EachColumn}},
      {"colMeans", {Mean, EachColumn}},
      {"colProds", {Product, EachColumn}},
      {"colMins", {Min, EachColumn}},
      {"colMaxs", {Max, EachColumn}}};
  return table;
}

const std::unordered_map<std::string_view, CallBuilder::Rule> &CallBuilder::rules() {
  using C = CallBuilder;
  static const std::unordered_map<std::string_view, Rule> table = {
      {"matrix", &C::matrix},
      {"rand", &C::rand},
      {"seq", &C::seq},
      {"cbind", &C::bindColumns},
      {"rbind", &C::bindRows},
      {"t", &C::transpose},
      {"nrow", &C::rows},
      {"ncol", &C::cols},
      {"length", &C::length},
      {"log", &C::log},
      {"min", &C::minimum},
      {"max", &C::maximum},
      {"mean", &C::mean},
      {"var", &C::variance},
      {"sd", &C::deviation},
      {"rowVars", &C::variances},
      {"rowSds", &C::variances},
      {"colVars", &C::variances},
      {"colSds", &C::variances},
      {"trace", &C::trace},
      {"as.scalar", &C::toScalar},
      {"as.matrix", &C::toMatrix},
      {"as.double", &C::castScalar},
      {"as.integer", &C::castScalar},
      {"as.logical", &C::castScalar},
      {"ifelse", &C::ifelse},
      {"compress", &C::same},
      {"decompress", &C::same},
      {"replace", &C::likeFirst},
      {"rev", &C::likeFirst},
      {"cumsum", &C::likeFirst},
      {"cumprod", &C::likeFirst},
      {"cummin", &C::likeFirst},
      {"cummax", &C::likeFirst},
      {"rowcumsum", &C::likeFirst},
      {"roll", &C::likeFirst},
      {"lower.tri", &C::likeFirst},
      {"upper.tri", &C::likeFirst},
      {"inv", &C::likeFirst},
      {"sqrtMatrixJava", &C::likeFirst},
      {"cholesky", &C::likeFirst},
      {"outer", &C::outer},
      {"diag", &C::diag},
      {"solve", &C::solve},
      {"rowIndexMax", &C::oneColumn},
      {"rowIndexMin", &C::oneColumn},
      {"print", &C::effect},
      {"stop", &C::effect},
      {"assert", &C::effect},
      {"write", &C::effect},
      {"time", &C::effect},
      {"read", &C::read},
      {"ppred", &C::compare},
      {"sample", &C::effect}};
  return table;
}

const std::unordered_map<std::string_view, CallBuilder::Results> &CallBuilder::severalResults() {
  using C = CallBuilder;
  static const std::unordered_map<std::string_view, Results> table = {
      {"eigen", &C::eigen},
      {"lu", &C::lu},
      {"qr", &C::qr},
      {"svd", &C::svd},
      {"remove", &C::remove},
      {"fft", &C::matrices},
      {"ifft", &C::matrices},
      {"fft_linearized", &C::matrices},
      {"ifft_linearized", &C::matrices},
      {"stft", &C::matrices},
      {"batch_norm2d", &C::matrices},
      {"batch_norm2d_backward", &C::matrices},
      {"lstm", &C::matrices},
      {"lstm_backward", &C::matrices},
      {"transformencode", &C::encoded}};
  return table;
}

std::vector<int> CallBuilder::build(const Call &target, SourceLocation place, size_t count) {
  if (target.builtin->canonical == "exists")
    return {write.literal(exists(target))};
  std::vector<int> operands;
  operands.reserve(target.arguments.size());
  for (const Argument &argument : target.arguments)
    operands.push_back(argument.value ? build_(*argument.value) : -1);
  // Arguments may be calls themselves: this call's own state begins here.
  call = &target;
  all = std::move(operands);
  write.place = place;
  std::string_view name = call->builtin->canonical;
  for (int operand : all)
    if (operand >= 0)
      write.cutIfUnknown(operand);
  if (int frame = onFrame(); frame >= 0)
    return {frame};
  if (auto found = severalResults().find(name); found != severalResults().end())
    return resultsOf((this->*found->second)(), count);
  if (count > 1)
    write.fail("several results of '" + call->builtin->name +
                   "' are understood but not executed yet",
               ErrorKind::Unsupported);
  if (const CellFunction *function = findCellFunction(name))
    return {write.cell(*function, all)};
  if (auto found = aggregates().find(name); found != aggregates().end())
    return {write.aggregate(found->second.kind, found->second.extent, all[0])};
  if (auto found = rules().find(name); found != rules().end())
    return {(this->*found->second)()};
  return {hostFunction()};
}

/// The call as a function of frames, if an argument is one and frames have a function of their own
/// of that name; else -1. What is bound to a list stays an entry.
int CallBuilder::onFrame() {
  if (!all.empty() && all[0] >= 0 && write.at(all[0]).known.type.data == DataType::List)
    return -1;
  bool any = std::ranges::any_of(all, [&](int operand) {
    return operand >= 0 && write.at(operand).known.type.data == DataType::Frame;
  });
  std::string name = "frame." + call->builtin->canonical;
  return any && write.executes(name) ? hostFunction(false, name.c_str()) : -1;
}

/// exists(x), exists("x"): whether the variable has a value
bool CallBuilder::exists(const Call &target) const {
  const Expr &argument = *target.arguments[0].value;
  if (auto *variable = argument.as<Variable>())
    return write.isAssigned(variable->name);
  auto *text = argument.as<Literal>();
  return text && std::holds_alternative<std::string>(text->value) &&
         write.isAssigned(std::get<std::string>(text->value));
}

/// The host gives a list, whose entries are the results.
std::vector<int> CallBuilder::resultsOf(const std::vector<Known> &known, size_t count) {
  Known list;
  list.type = {DataType::List, ValueType::Unknown};
  int all = function(list);
  std::vector<int> results;
  for (size_t i = 0; i < count; ++i)
    results.push_back(
        write.function("listEntry", {all, write.literal(static_cast<int64_t>(i + 1))}, known[i]));
  return results;
}

int CallBuilder::argument(std::string_view name) const {
  const auto &parameters = call->builtin->parameters;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].name == name)
      return i < all.size() ? all[i] : -1;
  throw InternalError("'" + call->builtin->name + "' has no parameter '" + std::string(name) + "'");
}

Known CallBuilder::matrixOf(Size rows, Size cols) const {
  Known known;
  known.type = Type::matrix();
  known.rows = std::move(rows);
  known.cols = std::move(cols);
  return known;
}

int CallBuilder::function(Known known, bool ordered, const char *name) {
  std::vector<std::string> names;
  if (call->builtin->variadic)
    for (const Argument &argument : call->arguments)
      names.push_back(argument.name);
  return write.function(name ? name : call->builtin->canonical, all, std::move(known), ordered,
                        std::move(names));
}

/// Nothing is known of the result but its type.
int CallBuilder::hostFunction(bool ordered, const char *name) {
  std::vector<Expr> typed;
  typed.reserve(all.size());
  for (int operand : all)
    typed.push_back({{}, Literal{}, operand < 0 ? Type{} : write.at(operand).known.type});
  std::vector<const Expr *> arguments;
  arguments.reserve(all.size());
  for (size_t i = 0; i < all.size(); ++i)
    arguments.push_back(all[i] < 0 ? nullptr : &typed[i]);
  Known known;
  known.type = resultType(*call->builtin, arguments);
  return function(known, ordered || call->builtin->rule == ResultRule::None, name);
}

} // namespace headrace::script
