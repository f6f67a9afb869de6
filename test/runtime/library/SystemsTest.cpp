// Linear systems in batches, against their definition.
#include "runtime/library/Systems.h"

#include "runtime/Helpers.h"
#include "runtime/program/Library.h"

#include <complex>
#include <random>

namespace headrace {
namespace {

using Number = std::complex<double>;

Step systemsStep(const std::string &routine) {
  Step step;
  step.kind = Step::Kind::Library;
  step.name = "systems";
  step.symbol = routine;
  step.operands.resize(3);
  return step;
}

// Matrices G G^H + I, whose complex numbers are pairs, and any right-hand sides.
struct Batch {
  int64_t count, n, columns;
  std::vector<Number> matrices, rights, solutions;

  Batch(int64_t count, int64_t n, int64_t columns) : count(count), n(n), columns(columns) {
    std::mt19937 engine(7);
    std::normal_distribution<double> normal;
    auto draw = [&](int64_t size) {
      std::vector<Number> numbers(size);
      for (Number &number : numbers)
        number = {normal(engine), normal(engine)};
      return numbers;
    };
    std::vector<Number> g = draw(count * n * n);
    matrices.resize(g.size());
    for (int64_t b = 0; b < count; ++b)
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
          Number sum = i == j ? 1 : 0;
          for (int64_t k = 0; k < n; ++k)
            sum += g[(b * n + i) * n + k] * std::conj(g[(b * n + j) * n + k]);
          matrices[(b * n + i) * n + j] = sum;
        }
    rights = draw(count * n * columns);
    solutions.resize(rights.size());
  }

  void solve(const std::string &routine, ThreadPool &pool, int64_t matricesAtOnce = 0) {
    void *buffers[] = {matrices.data(), rights.data(), solutions.data()};
    int64_t parameters[] = {count, n, columns, 1, matricesAtOnce};
    findLibraryRoutine(routine)(systemsStep(routine), buffers, parameters, pool);
  }

  double residual() const {
    double most = 0;
    for (int64_t b = 0; b < count; ++b)
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          Number sum = -rights[(b * n + i) * columns + j];
          for (int64_t k = 0; k < n; ++k)
            sum += matrices[(b * n + i) * n + k] * solutions[(b * n + k) * columns + j];
          most = std::max(most, std::abs(sum));
        }
    return most;
  }
};

class SystemsTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!libraryAvailable("openblas"))
      GTEST_SKIP() << "OpenBLAS is not here";
  }
};

TEST_P(SystemsTest, SolvesComplexSystemsOfAnySizeOnAnyNumberOfThreads) {
  ThreadPool one(1), three(3);
  for (auto [count, n, columns] :
       {std::array{1, 1, 1}, std::array{500, 4, 12}, std::array{3, 17, 5}, std::array{2, 3, 0},
        std::array{0, 4, 4}, std::array{2, 0, 3}}) {
    Batch batch(count, n, columns);
    batch.solve(GetParam(), one);
    EXPECT_LT(batch.residual(), 1e-10) << count << " " << n << " " << columns;
    std::vector<Number> alone = batch.solutions;
    batch.solve(GetParam(), three);
    EXPECT_EQ(batch.solutions, alone);
    batch.solve(GetParam(), three, 7);
    EXPECT_EQ(batch.solutions, alone);
  }
}

TEST_P(SystemsTest, NamesTheFirstMatrixThatCannotBeFactorized) {
  ThreadPool pool(3);
  Batch batch(900, 4, 2);
  for (int64_t number : {700, 301, 899})
    std::fill_n(batch.matrices.begin() + number * 16, 16, Number(0));
  try {
    batch.solve(GetParam(), pool);
    FAIL();
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find("'systems': expected "), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("number 301 is "), std::string::npos) << error.what();
  }
}

TEST_P(SystemsTest, OperandsThatDoNotFitAreFaults) {
  Step step = systemsStep(GetParam());
  std::vector<int64_t> sizes = {10, 4, 3, 1};
  auto fault = [&](std::vector<int64_t> bytes) { return libraryFault(step, sizes, bytes); };
  EXPECT_EQ(fault({2560, 1920, 1920}), "");
  EXPECT_NE(fault({2559, 1920, 1920}), "");
  EXPECT_NE(fault({2560, 1919, 1920}), "");
  EXPECT_NE(fault({2560, 1920, 1919}), "");
  sizes[3] = 0;
  EXPECT_EQ(fault({1280, 960, 960}), "");
  sizes[0] = INT64_MAX;
  EXPECT_NE(fault({2560, 1920, 1920}), "");
  sizes[0] = -1;
  EXPECT_NE(fault({2560, 1920, 1920}), "");
}

INSTANTIATE_TEST_SUITE_P(Factorizations, SystemsTest,
                         testing::Values("openblas.lu.f64", "openblas.cholesky.f64"),
                         [](const auto &info) {
                           return std::string(info.index == 0 ? "lu" : "cholesky");
                         });

} // namespace
} // namespace headrace
