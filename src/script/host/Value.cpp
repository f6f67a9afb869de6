#include "script/host/Value.h"

#include "runtime/system/AvailableMemory.h"

#include "script/host/Frame.h"
#include "script/host/MatrixText.h"
#include "script/language/CellFunctions.h"
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <unistd.h>

namespace headrace::script {

uint64_t Value::nextVersion() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

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
  case 7:
    return {DataType::Frame, ValueType::Unknown};
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
  if (auto *frame = value.as<FramePtr>())
    return "a " + std::to_string((*frame)->rows) + " x " + std::to_string((*frame)->cols()) +
           " frame";
  if (value.isString())
    return "the string \"" + *value.as<std::string>() + "\"";
  return value.empty() ? "nothing" : toText(value);
}

[[noreturn]] static void mismatch(const char *what, const char *expected, const Value &found) {
  throw Error(ErrorKind::TypeMismatch,
              std::string(what) + " expects " + expected + ", got " + describe(found));
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
    mismatch(what, "an integer", *this);
  return static_cast<int64_t>(value);
}

int64_t Value::truncated(const char *what) const {
  if (auto *exact = as<int64_t>())
    return *exact;
  double value = truncatedCell(number(what));
  return value >= 0x1p63 ? INT64_MAX : static_cast<int64_t>(value);
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

const Frame &Value::frame(const char *what) const {
  if (auto *found = as<FramePtr>())
    return **found;
  mismatch(what, "a frame", *this);
}

/// The shortest digits that read back, as Java writes them: 0.001 to 10^7 plainly, the rest with E.
template <class Real> static std::string realText(Real value) {
  if (std::isnan(value))
    return "NaN";
  if (std::isinf(value))
    return value > 0 ? "Infinity" : "-Infinity";
  if (value == 0)
    return std::signbit(value) ? "-0.0" : "0.0";
  Real magnitude = std::fabs(value);
  bool plain = magnitude >= Real(1e-3) && magnitude < Real(1e7);
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

std::string numberText(double value) { return realText(value); }
std::string floatText(float value) { return realText(value); }

std::optional<double> parseNumber(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos)
    return std::nullopt;
  text = text.substr(first, text.find_last_not_of(blanks) + 1 - first);
  size_t sign = text[0] == '+' || text[0] == '-';
  std::string_view digits = text.substr(sign);
  bool word = digits == "NaN" || digits == "Infinity";
  if (digits.empty() || (!word && digits.find_first_not_of("0123456789.eE+-") != digits.npos))
    return std::nullopt;
  double number = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc::result_out_of_range)
    number = std::strtod(std::string(digits).c_str(), nullptr);
  else if (error != std::errc() || digits[0] == '-')
    return std::nullopt;
  if (end != digits.data() + digits.size())
    return std::nullopt;
  return text[0] == '-' ? -number : number;
}

static std::string listText(const List &list) {
  std::string text;
  for (const auto &[name, entry] : list.entries)
    text += (&entry == &list.entries.front().second ? "" : ", ") +
            std::string(entry.matrix() ? "\nMatrix:\n" : "") + toText(entry);
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
  if (auto *frame = value.as<FramePtr>())
    return frameText(**frame);
  return "";
}

/// 4, 2.5, 1.0E12: sizes as messages show them.
static std::string sizeText(double size) {
  bool whole = size == std::floor(size) && std::fabs(size) < 1e15;
  return whole ? std::to_string(static_cast<int64_t>(size)) : numberText(size);
}

std::string sizesText(double rows, double cols) { return sizeText(rows) + " x " + sizeText(cols); }

void checkMatrixSize(const char *what, double rows, double cols) {
  // Allocated memory is also written to: more than the machine has would end the process.
  static const double maxCells =
      std::min(0x1p40, static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                           static_cast<double>(sysconf(_SC_PAGESIZE)) / sizeof(double));
  std::string size = std::string(what) + " of " + sizesText(rows, cols) + ": ";
  bool whole = rows == std::floor(rows) && cols == std::floor(cols);
  if (!(whole && rows >= 0 && cols >= 0))
    throw Error(ErrorKind::InvalidArgument, size + "expected integers of 0 or more");
  if (!(rows * cols <= maxCells && rows <= 0x1p40 && cols <= 0x1p40))
    throw Error(ErrorKind::InvalidArgument, size + "expected at most " +
                                                sizeText(std::floor(maxCells)) +
                                                " cells, as many as this machine's memory holds");
}

Tensor madeMatrix(int64_t rows, int64_t cols, FunctionRef<Tensor()> make) {
  try {
    return make();
  } catch (const OutOfMemory &error) {
    throw error.withPurpose("matrix", "a dense matrix of " + sizesText(static_cast<double>(rows),
                                                                       static_cast<double>(cols)));
  }
}

Tensor newMatrix(int64_t rows, int64_t cols) {
  return madeMatrix(rows, cols, [&] { return Tensor::allocate(DType::F64, {rows, cols}); });
}

} // namespace headrace::script
