#pragma once

#include "runtime/matrix/Matrix.h"
#include "runtime/system/FunctionRef.h"

#include "script/language/Ast.h"

namespace headrace::script {

struct List;
struct Frame;

/// The value of a script's variable. Copies share the memory of matrices, lists and frames.
class Value {
public:
  using Data = std::variant<std::monostate, int64_t, double, bool, std::string, Matrix,
                            std::shared_ptr<const List>, std::shared_ptr<const Frame>>;

  Value() = default;
  Value(int64_t whole) : data(whole) {}
  Value(double real) : data(real) {}
  Value(bool truth) : data(truth) {}
  Value(std::string text) : data(std::move(text)) {}
  Value(Matrix matrix) : data(std::move(matrix)), versionNumber(nextVersion()) {}
  Value(Tensor dense) : Value(Matrix(std::move(dense))) {}
  Value(CsrMatrix sparse) : Value(Matrix(std::move(sparse))) {}
  Value(std::shared_ptr<const List> list) : data(std::move(list)), versionNumber(nextVersion()) {}
  Value(std::shared_ptr<const Frame> frame)
      : data(std::move(frame)), versionNumber(nextVersion()) {}
  static Value of(const LiteralValue &literal);

  Data data;

  /// Differs for all matrices, lists and frames that were computed; copies of a value share it. 0
  /// for scalars.
  uint64_t version() const { return versionNumber; }
  /// For a value that was computed in the memory of another.
  void renewVersion() {
    if (versionNumber)
      versionNumber = nextVersion();
  }

  bool empty() const { return data.index() == 0; }
  template <class T> const T *as() const { return std::get_if<T>(&data); }
  const Matrix *matrix() const { return as<Matrix>(); }
  const CsrMatrix *sparse() const { return matrix() ? std::get_if<CsrMatrix>(matrix()) : nullptr; }
  bool isString() const { return as<std::string>(); }
  bool isNumber() const { return as<int64_t>() || as<double>() || as<bool>(); }
  Type type() const;

  // The value as the expected type, or an Error that names `what`.
  double number(const char *what) const;
  int64_t whole(const char *what) const;
  /// Without its fraction; NaN gives 0, and what is too large the largest there is.
  int64_t truncated(const char *what) const;
  bool truth(const char *what) const;
  const std::string &text(const char *what) const;
  const Matrix &expectMatrix(const char *what) const;
  Tensor dense(const char *what) const;
  const List &list(const char *what) const;
  const Frame &frame(const char *what) const;

private:
  static uint64_t nextVersion();

  uint64_t versionNumber = 0;
};

struct List {
  /// Names may be empty.
  std::vector<std::pair<std::string, Value>> entries;
};

/// "a 100 x 50 matrix", "3", "a list of 2": for messages.
std::string describe(const Value &value);

/// A number as text has it, blanks around it left out: 1, -2.5e3, NaN, Infinity. Nothing if it is
/// none.
std::optional<double> parseNumber(std::string_view text);
/// Whether text that is taken for a truth value means TRUE.
inline bool isTrue(std::string_view text) { return text == "TRUE" || text == "true"; }

/// The text that print and string concatenation show: 1, 0.5, 1.0E-7, TRUE.
std::string toText(const Value &value);
std::string numberText(double value);
std::string floatText(float value);

/// "3 x 4", as messages show sizes.
std::string sizesText(double rows, double cols);

/// Rejects sizes that no matrix has: fractions, less than 0, more cells than memory could ever
/// hold.
void checkMatrixSize(const char *what, double rows, double cols);

/// The dense matrix that `make` returns. If memory does not suffice, the Error names its sizes.
Tensor madeMatrix(int64_t rows, int64_t cols, FunctionRef<Tensor()> make);

/// A dense matrix, not initialised.
Tensor newMatrix(int64_t rows, int64_t cols);

} // namespace headrace::script
