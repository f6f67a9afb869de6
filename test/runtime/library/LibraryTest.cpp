#include "runtime/library/Library.h"

#include "runtime/Helpers.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

namespace headrace {
namespace {

using namespace test;

Step libraryStep(int operands) {
  Step step;
  step.kind = Step::Kind::Library;
  step.name = "library step";
  step.operands.resize(static_cast<size_t>(operands));
  return step;
}

void call(std::string_view routine, int operands, void *const *buffers,
          std::span<const int64_t> parameters, ThreadPool &pool) {
  findLibraryRoutine(routine)(libraryStep(operands), buffers, parameters, pool);
}

TEST(Library, UnknownNamesAreNull) {
  EXPECT_EQ(findLibraryRoutine("openblas.nothing"), nullptr);
  EXPECT_EQ(findLibraryRoutine(""), nullptr);
  EXPECT_FALSE(libraryAvailable("nothing"));
}

TEST(Library, CopiesBytes) {
  ThreadPool pool(3);
  for (size_t size : {size_t{0}, size_t{5}, size_t{1'000'003}}) {
    std::vector<char> source(size), target(size);
    std::iota(source.begin(), source.end(), 0);
    void *buffers[] = {source.data(), target.data()};
    int64_t bytes[] = {static_cast<int64_t>(size)};
    call("copy", 2, buffers, bytes, pool);
    EXPECT_EQ(source, target);
  }
}

// One product with its matrices in padded storage.
struct Product {
  int64_t batch, m, n, k;
  bool transA, transB, sharedB;
  int64_t pad = 3;
  int64_t lda = (transA ? m : k) + pad, ldb = (transB ? k : n) + pad, ldc = n + pad;
  int64_t strideA = (transA ? k : m) * lda;
  int64_t strideB = sharedB ? 0 : (transB ? n : k) * ldb;
  int64_t strideC = m * ldc;
  std::vector<float> a = random(batch * strideA + 1, 1);
  std::vector<float> b = random((sharedB ? 1 : batch) * (transB ? n : k) * ldb + 1, 2);

  static std::vector<float> random(int64_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> values(-1, 1);
    std::vector<float> result(static_cast<size_t>(count));
    for (float &value : result)
      value = values(generator);
    return result;
  }

  std::vector<float> run(ThreadPool &pool) {
    // What is there before must not matter; what lies between the rows must stay.
    std::vector<float> c(static_cast<size_t>(batch * strideC + 1),
                         std::numeric_limits<float>::quiet_NaN());
    void *buffers[] = {a.data(), b.data(), c.data()};
    int64_t parameters[] = {batch,   m,       n,       k,   transA, transB,
                            strideA, strideB, strideC, lda, ldb,    ldc};
    call("openblas.sgemm", 3, buffers, parameters, pool);
    return c;
  }

  double expected(int64_t i, int64_t row, int64_t column) const {
    double total = 0;
    for (int64_t x = 0; x < k; ++x) {
      int64_t atA = i * strideA + (transA ? x * lda + row : row * lda + x);
      int64_t atB = i * strideB + (transB ? column * ldb + x : x * ldb + column);
      total += double{a[static_cast<size_t>(atA)]} * double{b[static_cast<size_t>(atB)]};
    }
    return total;
  }
};

class Sgemm : public testing::Test {
protected:
  void SetUp() override {
    if (!libraryAvailable("openblas"))
      GTEST_SKIP() << "OpenBLAS is not on this machine";
  }
};

TEST_F(Sgemm, MatchesTheDefinition) {
  ThreadPool pool(3);
  constexpr int64_t sizes[][4] = {{1, 5, 7, 3},  {3, 4, 6, 2},     {2, 1, 9, 5},
                                  {2, 9, 1, 5},  {1, 1, 1, 4},     {1, 300, 280, 17},
                                  {2, 3, 4, 0},  {1, 1, 1500, 33}, {1, 1500, 1, 33},
                                  {70, 8, 8, 8}, {1, 1, 7, 0}};
  for (auto [batch, m, n, k] : sizes)
    for (int options = 0; options < 8; ++options) {
      Product product{batch, m, n, k, (options & 1) != 0, (options & 2) != 0, (options & 4) != 0};
      std::vector<float> c = product.run(pool);
      for (int64_t i = 0; i < batch; ++i)
        for (int64_t row = 0; row < m; ++row) {
          const float *line = c.data() + i * product.strideC + row * product.ldc;
          for (int64_t column = 0; column < n; ++column)
            ASSERT_NEAR(line[column], product.expected(i, row, column), 1e-5 * (1 + k))
                << batch << " " << m << " " << n << " " << k << " options " << options;
          ASSERT_TRUE(std::isnan(line[n])) << "wrote beyond its row";
        }
    }
}

TEST_F(Sgemm, DoesNotDependOnTheNumberOfThreads) {
  Product product{2, 333, 290, 257, false, true, false};
  ThreadPool one(1), two(2), five(5);
  std::vector<float> expected = product.run(one);
  for (ThreadPool *pool : {&two, &five}) {
    std::vector<float> found = product.run(*pool);
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0);
  }
}

TEST_F(Sgemm, EmptyResultsTouchNothing) {
  ThreadPool pool(2);
  for (auto [batch, m, n] : {std::array<int64_t, 3>{0, 3, 4}, {2, 0, 4}, {2, 3, 0}}) {
    Product product{batch, m, n, 5, false, false, false};
    std::vector<float> c = product.run(pool);
    EXPECT_TRUE(std::all_of(c.begin(), c.end(), [](float value) { return std::isnan(value); }));
  }
}

TEST(LibraryFault, IsAProductThatLeavesItsOperands) {
  Step step;
  step.symbol = "openblas.sgemm";
  auto fault = [&](std::array<int64_t, 12> parameters, std::array<int64_t, 3> bytes) {
    return libraryFault(step, parameters, bytes);
  };
  // Two products of 2x3 and 3x4.
  EXPECT_EQ(fault({2, 2, 4, 3, 0, 0, 6, 12, 8, 3, 4, 4}, {48, 96, 64}), "");
  EXPECT_EQ(fault({2, 2, 4, 3, 0, 0, 6, 12, 8, 3, 4, 4}, {48, 92, 64}),
            "leaves its operand 1 of 92 bytes");
  EXPECT_EQ(fault({2, 2, 4, 3, 0, 0, 0, 0, 8, 3, 4, 4}, {24, 48, 64}), "");
  EXPECT_EQ(fault({1, 2, 4, 3, 0, 0, 0, 0, -8, 3, 4, 4}, {24, 48, 64}),
            "leaves its operand 2 of 64 bytes");
  EXPECT_EQ(fault({1, -2, 4, 3, 0, 0, 0, 0, 0, 3, 4, 4}, {24, 48, 64}),
            "multiplies matrices of size -2");
  EXPECT_EQ(fault({1, 2, 4, 3, 0, 0, 0, 0, 0, 2, 4, 4}, {24, 48, 64}),
            "has rows of 3 elements that are 2 apart");
  int64_t huge = INT64_MAX / 2;
  EXPECT_EQ(fault({huge, 2, 4, 3, 0, 0, huge, 0, 0, 3, 4, 4}, {24, 48, 64}),
            "leaves its operand 0 of 24 bytes");
}

TEST_F(Sgemm, RefusesWrongParameters) {
  ThreadPool pool(1);
  float value = 0;
  void *buffers[] = {&value, &value, &value};
  int64_t few[] = {1, 1, 1, 1};
  EXPECT_THROW(call("openblas.sgemm", 3, buffers, few, pool), InternalError);
  int64_t vast[] = {1, int64_t{1} << 31, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1};
  EXPECT_CONTAINS(
      errorOf(ErrorKind::Unsupported, [&] { call("openblas.sgemm", 3, buffers, vast, pool); }),
      "library step");
}

} // namespace
} // namespace headrace
