#include "script/Value.h"

#include "script/MatrixText.h"
#include <charconv>
#include <cmath>

namespace headrace::script {

Value Value::of(const LiteralValue &literal) {
  return std::visit([](const auto &value) { return Value(value); }, literal);
}

Type Value::type() const {
  switch (data.index()) {
  case 1:
    return Type::scalar(ValueType::Integer);
  case 2:
    return Type::scalar(ValueType::Double);
  case 3:
    return Type::scalar(ValueType::Boolean);
  case 4:
    return Type::scalar(ValueType::String);
  case 5:
    return Type::matrix();
  case 6:
    return {DataType::List, ValueType::Unknown};
  default:
    return {};
  }
}

std::string describe(const Value &value) {
  if (auto *matrix = value.matrix())
    return "a " + std::to_string(rowsOf(*matrix)) + " x " + std::to_string(colsOf(*matrix)) +
           " matrix";
  if (auto *list = value.as<std::shared_ptr<const List>>())
    return "a list of " + std::to_string((*list)->entries.size());
  if (value.isString())
    return "the string \"" + *value.as<std::string>() + "\"";
  return value.empty() ? "nothing" : toText(value);
}

[[noreturn]] static void mismatch(const char *what, const char *expected, const Value &found) {
  throw Error(ErrorKind::TypeMismatch,
              std::string(what) + " expects " + expected + ", found " + describe(found));
}

double Value::number(const char *what) const {
  if (auto *real = as<double>())
    return *real;
  if (auto *whole = as<int64_t>())
    return static_cast<double>(*whole);
  if (auto *truth = as<bool>())
    return *truth;
  if (matrix() && rowsOf(*matrix()) == 1 && colsOf(*matrix()) == 1)
    return *dense(what).as<double>();
  mismatch(what, "a number", *this);
}

int64_t Value::whole(const char *what) const {
  if (auto *exact = as<int64_t>())
    return *exact;
  double value = number(what);
  if (!(value == std::floor(value) && std::fabs(value) < 9e15))
    mismatch(what, "a whole number", *this);
  return static_cast<int64_t>(value);
}

bool Value::truth(const char *what) const {
  if (auto *truth = as<bool>())
    return *truth;
  return number(what) != 0;
}

const std::string &Value::text(const char *what) const {
  if (auto *text = as<std::string>())
    return *text;
  mismatch(what, "a string", *this);
}

const Matrix &Value::expectMatrix(const char *what) const {
  if (auto *found = matrix())
    return *found;
  mismatch(what, "a matrix", *this);
}

Tensor Value::dense(const char *what) const { return denseOf(expectMatrix(what)); }

const List &Value::list(const char *what) const {
  if (auto *found = as<std::shared_ptr<const List>>())
    return **found;
  mismatch(what, "a list", *this);
}

/// The shortest digits that read back, as Java writes them: 0.001 to 10^7 plainly, the rest with E.
std::string numberText(double value) {
  if (std::isnan(value))
    return "NaN";
  if (std::isinf(value))
    return value > 0 ? "Infinity" : "-Infinity";
  if (value == 0)
    return std::signbit(value) ? "-0.0" : "0.0";
  double magnitude = std::fabs(value);
  bool plain = magnitude >= 1e-3 && magnitude < 1e7;
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value,
                           plain ? std::chars_format::fixed : std::chars_format::scientific)
                 .ptr;
  std::string text(buffer, end);
  if (plain)
    return text.find('.') == std::string::npos ? text + ".0" : text;
  size_t at = text.find('e');
  std::string mantissa = text.substr(0, at);
  if (mantissa.find('.') == std::string::npos)
    mantissa += ".0";
  return mantissa + "E" + std::to_string(std::stoi(text.substr(at + 1)));
}

static std::string listText(const List &list) {
  std::string text;
  for (const auto &[name, entry] : list.entries)
    text += (text.empty() ? "" : ", ") + (name.empty() ? "" : name + "=") +
            (entry.matrix() ? describe(entry) : toText(entry));
  return "List containing:\n[" + text + "]";
}

std::string toText(const Value &value) {
  if (auto *whole = value.as<int64_t>())
    return std::to_string(*whole);
  if (auto *real = value.as<double>())
    return numberText(*real);
  if (auto *truth = value.as<bool>())
    return *truth ? "TRUE" : "FALSE";
  if (auto *text = value.as<std::string>())
    return *text;
  if (auto *matrix = value.matrix())
    return matrixText(*matrix, {});
  if (auto *list = value.as<std::shared_ptr<const List>>())
    return listText(**list);
  return "";
}

Tensor newMatrix(int64_t rows, int64_t cols) { return Tensor::allocate(DType::F64, {rows, cols}); }

} // namespace headrace::script
