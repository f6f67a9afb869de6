#include "runtime/library/Systems.h"

#include "runtime/library/OpenBlas.h"
#include "runtime/system/Error.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

namespace headrace {

namespace {

/// The user's operator that a step computes; a step of several goes by its own name.
const std::string &subjectOf(const Step &step) {
  return step.operators.size() == 1 ? step.operators.front() : step.name;
}

enum class Factorization { Lu, Cholesky };

Systems systemsOf(std::span<const int64_t> parameters) {
  return {parameters[0], parameters[1], parameters[2], parameters[3] != 0,
          parameters.size() > 4 ? parameters[4] : 0};
}

const Factorizations<double> &routinesFor(double) { return openBlas()->lapack; }
const Factorizations<std::complex<double>> &routinesFor(std::complex<double>) {
  return openBlas()->complex;
}

template <class T> T load(const auto *cells, int64_t i) {
  if constexpr (std::is_same_v<T, double>)
    return cells[i];
  else
    return {static_cast<double>(cells[2 * i]), static_cast<double>(cells[2 * i + 1])};
}

template <class Cell> void store(double value, Cell *cells, int64_t i) {
  cells[i] = static_cast<Cell>(value);
}
template <class Cell> void store(std::complex<double> value, Cell *cells, int64_t i) {
  cells[2 * i] = static_cast<Cell>(value.real());
  cells[2 * i + 1] = static_cast<Cell>(value.imag());
}

/// One system at a time in the order and type of LAPACK.
template <class T> class Solver {
public:
  Solver(const Systems &sizes, Factorization factorization)
      : n(static_cast<int>(sizes.unknowns)), columns(static_cast<int>(sizes.columns)),
        factorization(factorization), a(static_cast<size_t>(n) * n),
        b(static_cast<size_t>(n) * columns), pivots(n) {}

  /// Whether the matrix could be factorized.
  template <class Cell> bool solve(const Cell *matrix, const Cell *right, Cell *solution) {
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        a[j * n + i] = load<T>(matrix, i * n + j);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < columns; ++j)
        b[j * n + i] = load<T>(right, i * columns + j);
    if (n > 0 && !(factorization == Factorization::Lu ? byLu() : byCholesky()))
      return false;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < columns; ++j)
        store(b[j * n + i], solution, i * columns + j);
    return true;
  }

private:
  bool byLu() {
    const auto &lapack = routinesFor(T());
    int info = 0;
    lapack.getrf(&n, &n, a.data(), &n, pivots.data(), &info);
    if (info == 0 && columns > 0)
      lapack.getrs("N", &n, &columns, a.data(), &n, pivots.data(), b.data(), &n, &info, 1);
    return info == 0;
  }

  bool byCholesky() {
    const auto &lapack = routinesFor(T());
    int info = 0;
    lapack.potrf("L", &n, a.data(), &n, &info, 1);
    for (int64_t i = 0; i < n && info == 0; ++i)
      if (!(std::real(a[i * n + i]) > 0)) // NaN is not noticed by LAPACK
        return false;
    if (info == 0 && columns > 0)
      lapack.potrs("L", &n, &columns, a.data(), &n, b.data(), &n, &info, 1);
    return info == 0;
  }

  int n, columns;
  Factorization factorization;
  std::vector<T> a, b;
  std::vector<int> pivots;
};

template <class T, class Cell>
void solveAll(const Step &step, const Systems &sizes, Factorization factorization,
              void *const *buffers, ThreadPool &pool) {
  constexpr int64_t grain = 4096; // elements that are worth a worker's waking up
  constexpr int64_t parts = std::is_same_v<T, double> ? 1 : 2; // of a number
  int64_t matrixCells = sizes.unknowns * sizes.unknowns * parts,
          rightCells = sizes.unknowns * sizes.columns * parts;
  auto *matrices = static_cast<const Cell *>(buffers[0]),
       *rights = static_cast<const Cell *>(buffers[1]);
  auto *solutions = static_cast<Cell *>(buffers[2]);
  std::atomic<int64_t> refused = sizes.batch;
  int64_t each = sizes.matrices
                     ? sizes.matrices
                     : std::max<int64_t>(1, grain / std::max<int64_t>(1, matrixCells + rightCells));
  pool.parallelFor(sizes.batch, each, [&](int64_t begin, int64_t end, int) {
    Solver<T> solver(sizes, factorization);
    for (int64_t i = begin; i < end; ++i)
      if (!solver.solve(matrices + i * matrixCells, rights + i * rightCells,
                        solutions + i * rightCells)) {
        int64_t first = refused;
        while (i < first && !refused.compare_exchange_weak(first, i))
          ;
        return;
      }
  });
  if (refused == sizes.batch)
    return;
  bool lu = factorization == Factorization::Lu;
  throw Error(ErrorKind::InvalidArgument, "'" + subjectOf(step) + "': expected " +
                                              (lu ? "regular" : "positive definite") +
                                              " matrices, number " + std::to_string(refused) +
                                              " is " + (lu ? "singular" : "none"));
}

template <class Cell>
void run(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
         Factorization factorization, ThreadPool &pool) {
  if (step.operands.size() != 3 || (parameters.size() != 4 && parameters.size() != 5))
    throw InternalError("step '" + step.name +
                        "': a solver takes 3 operands and 4 or 5 parameters");
  Systems sizes = systemsOf(parameters);
  if (std::max(sizes.unknowns, sizes.columns) > std::numeric_limits<int>::max())
    throw Error(ErrorKind::Unsupported,
                "'" + subjectOf(step) + "': LAPACK expects sizes up to 2^31 - 1, got " +
                    std::to_string(std::max(sizes.unknowns, sizes.columns)));
  if (sizes.complex)
    solveAll<std::complex<double>, Cell>(step, sizes, factorization, buffers, pool);
  else
    solveAll<double, Cell>(step, sizes, factorization, buffers, pool);
}

} // namespace

template <class T>
void runLuStep(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
               ThreadPool &pool) {
  run<T>(step, buffers, parameters, Factorization::Lu, pool);
}

template <class T>
void runCholeskyStep(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
                     ThreadPool &pool) {
  run<T>(step, buffers, parameters, Factorization::Cholesky, pool);
}

template <class T>
std::string systemsStepFault(std::span<const int64_t> parameters,
                             std::span<const int64_t> operandBytes) {
  Systems sizes = systemsOf(parameters);
  if (sizes.matrices < 0 || sizes.matrices > maxMatricesAtOnce)
    return "solves " + std::to_string(sizes.matrices) + " systems at once";
  auto bytes = [&](int64_t columns) -> int64_t {
    int64_t total = static_cast<int64_t>(sizeof(T)) * (sizes.complex ? 2 : 1);
    for (int64_t size : {sizes.batch, sizes.unknowns, columns})
      if (size < 0 || __builtin_mul_overflow(total, size, &total))
        return std::numeric_limits<int64_t>::max();
    return total;
  };
  int64_t right = bytes(sizes.columns);
  if (bytes(sizes.unknowns) <= operandBytes[0] && right <= operandBytes[1] &&
      right <= operandBytes[2])
    return "";
  return "solves " + std::to_string(sizes.batch) + " systems of " + std::to_string(sizes.unknowns) +
         " unknowns and " + std::to_string(sizes.columns) + " right-hand sides in buffers of " +
         std::to_string(operandBytes[0]) + ", " + std::to_string(operandBytes[1]) + " and " +
         std::to_string(operandBytes[2]) + " bytes";
}

#define HEADRACE_SYSTEMS(T)                                                                        \
  template void runLuStep<T>(const Step &, void *const *, std::span<const int64_t>, ThreadPool &); \
  template void runCholeskyStep<T>(const Step &, void *const *, std::span<const int64_t>,          \
                                   ThreadPool &);                                                  \
  template std::string systemsStepFault<T>(std::span<const int64_t>, std::span<const int64_t>)
HEADRACE_SYSTEMS(float);
HEADRACE_SYSTEMS(double);
#undef HEADRACE_SYSTEMS

} // namespace headrace
