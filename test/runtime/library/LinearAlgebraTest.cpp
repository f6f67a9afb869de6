// Factorizations against their definitions; numbers against NumPy are in
// test/python/scripts/test_linear_algebra.py.
#include "runtime/library/LinearAlgebra.h"

#include "runtime/Helpers.h"
#include "runtime/library/OpenBlas.h"

#include <cmath>
#include <cstring>
#include <random>

namespace headrace {
namespace {

using namespace test;

class LinearAlgebra : public testing::Test {
protected:
  void SetUp() override {
    if (!openBlas())
      GTEST_SKIP() << "OpenBLAS is not on this machine";
  }

  static Tensor random(int64_t rows, int64_t cols) {
    std::mt19937 generator(static_cast<unsigned>(1000 * rows + cols));
    std::uniform_real_distribution<double> values(-1, 1);
    Tensor result = Tensor::allocate(DType::F64, {rows, cols});
    for (int64_t i = 0; i < result.elements(); ++i)
      result.as<double>()[i] = values(generator);
    return result;
  }
  static Tensor positiveDefinite(int64_t n) {
    Tensor result = random(n, n);
    double *cells = result.as<double>();
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < i; ++j)
        cells[j * n + i] = cells[i * n + j];
      cells[i * n + i] += static_cast<double>(n);
    }
    return result;
  }
  static Tensor copyOf(const Tensor &tensor) {
    Tensor copy = Tensor::allocate(DType::F64, tensor.shape());
    if (tensor.elements() > 0)
      std::memcpy(copy.data(), tensor.data(), tensor.bytes());
    return copy;
  }
  static double cell(const Tensor &a, int64_t i, int64_t j) {
    return a.as<double>()[i * a.shape()[1] + j];
  }
  static Tensor times(const Tensor &a, const Tensor &b, bool transposeB = false) {
    int64_t n = b.shape()[transposeB ? 0 : 1], inner = a.shape()[1];
    Tensor result = Tensor::allocate(DType::F64, {a.shape()[0], n});
    for (int64_t i = 0; i < a.shape()[0]; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < inner; ++k)
          sum += cell(a, i, k) * (transposeB ? cell(b, j, k) : cell(b, k, j));
        result.as<double>()[i * n + j] = sum;
      }
    return result;
  }
  static void expectNear(const Tensor &found, const Tensor &expected, double tolerance) {
    ASSERT_EQ(found.shape(), expected.shape());
    for (int64_t i = 0; i < found.elements(); ++i)
      ASSERT_NEAR(found.as<double>()[i], expected.as<double>()[i], tolerance) << "at " << i;
  }
  static void expectSameBits(const Tensor &found, const Tensor &expected) {
    ASSERT_EQ(found.shape(), expected.shape());
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.bytes()), 0);
  }

  ThreadPool pool{3};
};

// Sizes around a block of 128 and its multiples.
constexpr int64_t kSizes[] = {0, 1, 2, 17, 128, 129, 257};

TEST_F(LinearAlgebra, SolutionsSatisfyTheirSystem) {
  for (int64_t n : kSizes)
    for (int64_t columns : {0, 1, 130}) {
      Tensor a = random(n, n), b = random(n, columns);
      auto x = solveSystem(a, b, pool);
      ASSERT_TRUE(x) << n;
      expectNear(times(a, *x), b, 1e-9);
    }
}

TEST_F(LinearAlgebra, FactorsMultiplyToTheMatrix) {
  for (int64_t n : kSizes) {
    Tensor a = random(n, n), spd = positiveDefinite(n), root = copyOf(spd);
    LuFactors lu = factorizeLu(a, pool);
    expectNear(times(lu.l, lu.u), times(lu.p, a), 1e-10);
    ASSERT_TRUE(factorizeCholesky(root, pool)) << n;
    expectNear(times(root, root, /*transposeB=*/true), spd, 1e-9);
    auto eigen = factorizeEigen(spd, pool);
    ASSERT_TRUE(eigen);
    Tensor scaled = copyOf(eigen->vectors);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        scaled.as<double>()[i * n + j] *= eigen->values.as<double>()[j];
    expectNear(times(scaled, eigen->vectors, /*transposeB=*/true), spd, 1e-9);
  }
}

TEST_F(LinearAlgebra, RectangularFactorsMultiplyToTheMatrix) {
  for (auto [m, n] :
       {std::pair<int64_t, int64_t>{0, 3}, {3, 0}, {1, 1}, {7, 3}, {3, 7}, {60, 59}}) {
    Tensor a = random(m, n);
    auto svd = factorizeSvd(a, pool);
    ASSERT_TRUE(svd);
    expectNear(times(times(svd->u, svd->s), svd->v, /*transposeB=*/true), a, 1e-12);
    // Q R, one reflector after the other from the last to the first.
    QrFactors qr = factorizeQr(a, pool);
    Tensor product = copyOf(qr.r);
    for (int64_t j = std::min(m, n); j-- > 0;)
      for (int64_t column = 0; column < n; ++column) {
        double along = 0;
        for (int64_t i = 0; i < m; ++i)
          along += cell(qr.h, i, j) * cell(product, i, column);
        for (int64_t i = 0; i < m; ++i)
          product.as<double>()[i * n + column] -= cell(qr.h, i, j) * along / cell(qr.h, j, j);
      }
    expectNear(product, a, 1e-12);
  }
}

TEST_F(LinearAlgebra, DoesNotDependOnTheNumberOfThreads) {
  ThreadPool one(1), five(5);
  Tensor a = random(300, 300), b = random(300, 200), spd = positiveDefinite(300);
  Tensor first = copyOf(spd), second = copyOf(spd);
  expectSameBits(*solveSystem(a, b, five), *solveSystem(a, b, one));
  expectSameBits(*invert(a, five), *invert(a, one));
  EXPECT_EQ(determinant(a, five), determinant(a, one));
  ASSERT_TRUE(factorizeCholesky(first, one) && factorizeCholesky(second, five));
  expectSameBits(second, first);
}

TEST_F(LinearAlgebra, SingularMatricesAreFound) {
  for (int64_t n : {1, 2, 129}) {
    Tensor a = random(n, n);
    std::fill_n(a.as<double>() + (n - 1) * n, n, 0.0); // in the last panel
    EXPECT_FALSE(solveSystem(a, random(n, 1), pool)) << n;
    EXPECT_FALSE(invert(a, pool)) << n;
    EXPECT_EQ(determinant(a, pool), 0) << n;
    LuFactors lu = factorizeLu(a, pool);
    expectNear(times(lu.l, lu.u), times(lu.p, a), 1e-10);
  }
}

TEST_F(LinearAlgebra, CholeskyRefusesWhatIsNotPositiveDefinite) {
  for (double bad : {-1e6, 0.0, std::nan("")})
    for (int64_t n : {1, 3, 300}) {
      Tensor a = positiveDefinite(n);
      a.as<double>()[n * n - 1] = bad;
      EXPECT_FALSE(factorizeCholesky(a, pool)) << bad << " " << n;
    }
  Tensor below = positiveDefinite(3);
  below.as<double>()[2 * 3 + 1] = std::nan("");
  EXPECT_FALSE(factorizeCholesky(below, pool));
}

TEST_F(LinearAlgebra, SignsAreFixed) {
  Tensor a = positiveDefinite(40);
  EigenFactors eigen = *factorizeEigen(a, pool);
  SvdFactors svd = *factorizeSvd(random(40, 20), pool);
  for (const Tensor &vectors : {eigen.vectors, svd.u})
    for (int64_t j = 0; j < vectors.shape()[1]; ++j) {
      double largest = 0;
      for (int64_t i = 0; i < vectors.shape()[0]; ++i)
        if (std::fabs(cell(vectors, i, j)) > std::fabs(largest))
          largest = cell(vectors, i, j);
      EXPECT_GT(largest, 0);
    }
  for (int64_t i = 1; i < 40; ++i)
    EXPECT_LE(eigen.values.as<double>()[i - 1], eigen.values.as<double>()[i]);
}

} // namespace
} // namespace headrace
