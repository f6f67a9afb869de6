// Tensor expressions: the tree of src/frontend/expr, wrapped for headrace's Python files.
#include "driver/programs/ExpressionModel.h"
#include "runtime/system/Error.h"

#include "Bindings.h"
#include "Interpreter.h"
#include <nanobind/operators.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace headrace::python {

namespace {

using namespace expr;

DType dtypeNamed(const std::string &name) {
  if (std::optional<DType> type = parseDType(name))
    return *type;
  throw Error(ErrorKind::InvalidArgument,
              "element type '" + name +
                  "': expected one of bool, i8, i16, i32, i64, f16, bf16, f32, f64");
}

/// The operators that are functions by name; Python's own come as methods.
constexpr std::pair<const char *, Op> kOperators[] = {
#define HEADRACE_FUNCTION(Id, name, ...) {#name, Op::Id},
#include "runtime/scalar/Functions.def"
    {"neg", Op::Neg},      {"not", Op::Not},      {"abs", Op::Abs},    {"add", Op::Add},
    {"sub", Op::Sub},      {"mul", Op::Mul},      {"div", Op::Div},    {"floordiv", Op::FloorDiv},
    {"mod", Op::Mod},      {"pow", Op::Pow},      {"min", Op::Min},    {"max", Op::Max},
    {"lt", Op::Less},      {"le", Op::LessEqual}, {"gt", Op::Greater}, {"ge", Op::GreaterEqual},
    {"eq", Op::Equal},     {"ne", Op::NotEqual},  {"and", Op::And},    {"or", Op::Or},
    {"select", Op::Select}};

Expr applyNamed(const std::string &name, const std::vector<Expr> &operands) {
  for (auto [known, op] : kOperators)
    if (name == known)
      return apply(op, operands);
  throw InternalError("no operator of expressions is called " + name);
}

Expr reduceNamed(const std::string &kind, const Expr &value, const std::vector<Axis> &axes) {
  if (kind == "sum")
    return sum(value, axes);
  if (kind == "prod")
    return product(value, axes);
  return kind == "min" ? minimum(value, axes) : maximum(value, axes);
}

std::shared_ptr<Model> compileStages(const std::vector<Stage> &outputs, const std::string &name,
                                     const Settings &settings) {
  return unlocked([&] { return makeModel(outputs, name, settings); });
}

} // namespace

void registerExpressions(nb::module_ &module) {
  nb::class_<Expr>(module, "Expr")
      .def_prop_ro("dtype", [](const Expr &e) { return std::string(nameOf(e.dtype())); })
      .def("__str__", &Expr::text);
  nb::class_<Axis>(module, "Axis")
      .def_prop_ro("name", [](const Axis &a) { return a->name; })
      .def_prop_ro("extent", [](const Axis &a) { return a->extent; })
      .def_prop_ro("position", [](const Axis &a) { return Expr(a); });
  nb::class_<Stage>(module, "Stage")
      .def_prop_ro("name", [](const Stage &s) { return s->name; })
      .def_prop_ro("dtype", [](const Stage &s) { return std::string(nameOf(s->dtype)); })
      .def_prop_ro("shape", [](const Stage &s) { return s->shape; })
      .def_prop_ro("axes", [](const Stage &s) { return s->axes; })
      .def_prop_ro("is_input", [](const Stage &s) { return s->isInput(); })
      .def_prop_ro("body", [](const Stage &s) { return s->body; })
      .def("read", &Stage::read);

  module.def("expr_integer", [](int64_t value) { return Expr(value); });
  module.def("expr_float", [](double value) { return Expr(value); });
  module.def("expr_bool", [](bool value) { return Expr(value); });
  module.def("expr_apply", &applyNamed);
  module.def("expr_cast", [](const Expr &value, const std::string &type) {
    return cast(value, dtypeNamed(type));
  });
  module.def("expr_reduce", &reduceNamed);
  module.def("expr_custom_reduce",
             [](const std::function<Expr(const Expr &, const Expr &)> &combine,
                const Expr &identity, const Expr &value, const std::vector<Axis> &axes) {
               return reduce({combine, identity}, value, axes);
             });
  module.def("expr_tuple_reduce",
             [](const std::function<std::vector<Expr>(const std::vector<Expr> &,
                                                      const std::vector<Expr> &)> &combine,
                const std::vector<Expr> &identity, const std::vector<Expr> &values,
                const std::vector<Axis> &axes) {
               return reduce(TupleReducer{combine, identity}, values, axes);
             });
  module.def("expr_var", &var);
  module.def("expr_axis", [](const Expr &low, const Expr &high, const std::string &name) {
    return axis(low, high, name);
  });
  module.def("expr_placeholder",
             [](const std::vector<Expr> &shape, const std::string &type, const std::string &name) {
               return placeholder(shape, dtypeNamed(type), name);
             });
  module.def("expr_compute", &compute);
  module.def("expr_scan", [](const std::vector<Expr> &shape, const std::string &type,
                             const StepFunction &step, const PointFunction &initial,
                             const std::string &name, const std::vector<std::string> &axisNames) {
    return scan(shape, dtypeNamed(type), step, initial, name, axisNames);
  });
  module.def("expr_solve", &solve);
  module.def("expr_compile", &compileStages);
}

} // namespace headrace::python
