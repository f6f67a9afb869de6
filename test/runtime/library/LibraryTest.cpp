#include "runtime/program/Library.h"

#include "runtime/Helpers.h"
#include "runtime/library/Attention.h"
#include "runtime/library/Gemm.h"
#include "runtime/library/VectorExponential.h"

#include <array>
#include <bit>
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

template <class T> std::string routineOf() {
  return sizeof(T) == sizeof(float) ? "openblas.sgemm" : "openblas.dgemm";
}

// One product with its matrices in padded storage.
template <class T> struct Product {
  int64_t batch, m, n, k;
  bool transA, transB, sharedB;
  int64_t pad = 3;
  int64_t lda = (transA ? m : k) + pad, ldb = (transB ? k : n) + pad, ldc = n + pad;
  int64_t strideA = (transA ? k : m) * lda;
  int64_t strideB = sharedB ? 0 : (transB ? n : k) * ldb;
  int64_t strideC = m * ldc;
  std::vector<T> a = random(batch * strideA + 1, 1);
  std::vector<T> b = random((sharedB ? 1 : batch) * (transB ? n : k) * ldb + 1, 2);

  static std::vector<T> random(int64_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<T> values(-1, 1);
    std::vector<T> result(static_cast<size_t>(count));
    for (T &value : result)
      value = values(generator);
    return result;
  }

  std::vector<T> run(ThreadPool &pool, const T *second = nullptr,
                     const std::vector<int64_t> &blocks = {}) {
    // Old values of c must not matter; memory between its rows must stay as it is.
    std::vector<T> c(static_cast<size_t>(batch * strideC + 1), std::numeric_limits<T>::quiet_NaN());
    void *buffers[] = {a.data(), second ? const_cast<T *>(second) : b.data(), c.data()};
    std::vector<int64_t> parameters{batch,   m,       n,       k,   transA, transB,
                                    strideA, strideB, strideC, lda, ldb,    ldc};
    parameters.insert(parameters.end(), blocks.begin(), blocks.end());
    call(routineOf<T>(), 3, buffers, parameters, pool);
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

  void expectNear(const std::vector<T> &c) const {
    double tolerance = sizeof(T) == sizeof(float) ? 1e-5 : 1e-14;
    for (int64_t i = 0; i < batch; ++i)
      for (int64_t row = 0; row < m; ++row) {
        const T *line = c.data() + i * strideC + row * ldc;
        for (int64_t column = 0; column < n; ++column)
          ASSERT_NEAR(line[column], expected(i, row, column), tolerance * double(1 + k))
              << batch << " " << m << " " << n << " " << k << " at " << row << " " << column
              << " transposed " << transA << transB << " shared " << sharedB;
        ASSERT_TRUE(std::isnan(line[n])) << "wrote beyond its row";
      }
  }
};

template <class T> class GemmRoutine : public testing::Test {
protected:
  void SetUp() override {
    if (!libraryAvailable("openblas"))
      GTEST_SKIP() << "OpenBLAS is not on this machine";
  }

  static void expectSameBits(const std::vector<T> &found, const std::vector<T> &expected) {
    ASSERT_EQ(found.size(), expected.size());
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(T)), 0);
  }
};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(GemmRoutine, Precisions);

TYPED_TEST(GemmRoutine, BlocksOfAnySizeComputeTheSame) {
  ThreadPool pool(3);
  for (auto [m, n, k] : {std::array<int64_t, 3>{100, 130, 300},
                         {1, 200, 90},
                         {200, 1, 90},
                         {33, 65, 0},
                         {64, 64, 64}})
    for (int64_t rows : {0, 32, 50, 1000})
      for (int64_t columns : {0, 32, 64})
        for (int64_t depth : {0, 64, 100, 5000}) {
          Product<TypeParam> product{2, m, n, k, false, true, true};
          std::vector<TypeParam> c = product.run(pool, nullptr, {rows, columns, depth});
          product.expectNear(c);
          ThreadPool one(1);
          this->expectSameBits(product.run(one, nullptr, {rows, columns, depth}), c);
        }
  // A matrix with its own transpose, whose blocks are squares.
  Product<TypeParam> own{1, 100, 100, 70, false, true, true};
  std::vector<TypeParam> c = own.run(pool, own.a.data(), {64, 32, 0});
  own.b = own.a;
  own.expectNear(c);
}

TEST(Library, BlocksThatAProductCannotHaveAreFaults) {
  auto faultOf = [](std::vector<int64_t> blocks) {
    std::vector<int64_t> parameters{1, 64, 64, 256, 0, 0, 0, 0, 0, 256, 64, 64};
    parameters.insert(parameters.end(), blocks.begin(), blocks.end());
    return gemmStepFault<float>(parameters, std::array<int64_t, 3>{1 << 20, 1 << 20, 1 << 20});
  };
  EXPECT_EQ(faultOf({}), "");
  EXPECT_EQ(faultOf({32, 0, 128}), "");
  EXPECT_EQ(faultOf({1, 0, 0}),
            "is cut into blocks that it cannot have: rows: expected 0, or at least 32");
  EXPECT_EQ(faultOf({0, -64, 0}),
            "is cut into blocks that it cannot have: columns: expected 0, or at least 32");
  EXPECT_EQ(faultOf({0, 0, -1}),
            "is cut into blocks that it cannot have: depth: expected 0, or at least 1");
  EXPECT_NE(faultOf({0, 0, 1}), "");
}

TYPED_TEST(GemmRoutine, MatchesTheDefinition) {
  ThreadPool pool(3);
  constexpr int64_t sizes[][4] = {
      {1, 5, 7, 3},     {3, 4, 6, 2},    {2, 1, 9, 5},     {2, 9, 1, 5},     {1, 1, 1, 4},
      {1, 260, 280, 7}, {2, 3, 4, 0},    {1, 1, 1500, 33}, {1, 1500, 1, 33}, {70, 8, 8, 8},
      {1, 1, 7, 0},     {1, 5, 4, 9001}, {2, 1, 3, 5000},  {1, 3, 1, 5000},  {1, 1, 1, 5000}};
  for (auto [batch, m, n, k] : sizes)
    for (int options = 0; options < 8; ++options) {
      Product<TypeParam> product{
          batch, m, n, k, (options & 1) != 0, (options & 2) != 0, (options & 4) != 0};
      product.expectNear(product.run(pool));
    }
}

TYPED_TEST(GemmRoutine, OfAMatrixWithItsOwnTransposeIsSymmetric) {
  ThreadPool pool(3);
  for (bool transA : {false, true})
    for (auto [n, k] : {std::pair<int64_t, int64_t>{1, 7}, {2, 3}, {9, 4097}, {301, 5}, {5, 0}}) {
      Product<TypeParam> product{2, n, n, k, transA, !transA, false};
      product.b = product.a;
      std::vector<TypeParam> c = product.run(pool, product.a.data());
      product.expectNear(c);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < i; ++j)
          ASSERT_EQ(c[i * product.ldc + j], c[j * product.ldc + i]);
    }
}

TYPED_TEST(GemmRoutine, DoesNotDependOnTheNumberOfThreads) {
  ThreadPool one(1), two(2), five(5);
  for (Product<TypeParam> product : {Product<TypeParam>{2, 333, 290, 257, false, true, false},
                                     {1, 20, 30, 20000, true, false, false},
                                     {1, 260, 260, 4096, true, false, false}}) {
    const TypeParam *second = product.m == product.n ? product.a.data() : product.b.data();
    std::vector<TypeParam> expected = product.run(one, second);
    for (ThreadPool *pool : {&two, &five})
      TestFixture::expectSameBits(product.run(*pool, second), expected);
  }
}

TYPED_TEST(GemmRoutine, EmptyResultsTouchNothing) {
  ThreadPool pool(2);
  for (auto [batch, m, n] : {std::array<int64_t, 3>{0, 3, 4}, {2, 0, 4}, {2, 3, 0}}) {
    Product<TypeParam> product{batch, m, n, 5, false, false, false};
    std::vector<TypeParam> c = product.run(pool);
    EXPECT_TRUE(std::all_of(c.begin(), c.end(), [](TypeParam value) { return std::isnan(value); }));
  }
}

TYPED_TEST(GemmRoutine, PassesOnNaNAndInfinity) {
  ThreadPool pool(2);
  using Limits = std::numeric_limits<TypeParam>;
  for (int64_t columns : {1, 3}) {
    Product<TypeParam> product{1, 4, columns, 5, false, false, false};
    product.a[product.lda] = Limits::quiet_NaN();
    product.a[2 * product.lda] = Limits::infinity();
    std::fill_n(product.b.begin(), columns, TypeParam(0)); // 0 * infinity is NaN
    std::vector<TypeParam> c = product.run(pool);
    for (int64_t j = 0; j < columns; ++j) {
      EXPECT_TRUE(std::isfinite(c[j]));
      EXPECT_TRUE(std::isnan(c[product.ldc + j]));
      EXPECT_TRUE(std::isnan(c[2 * product.ldc + j]));
    }
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
  step.symbol = "openblas.dgemm";
  EXPECT_EQ(fault({2, 2, 4, 3, 0, 0, 6, 12, 8, 3, 4, 4}, {96, 192, 128}), "");
  EXPECT_EQ(fault({2, 2, 4, 3, 0, 0, 6, 12, 8, 3, 4, 4}, {96, 191, 128}),
            "leaves its operand 1 of 191 bytes");
  int64_t huge = INT64_MAX / 2;
  EXPECT_EQ(fault({huge, 2, 4, 3, 0, 0, huge, 0, 0, 3, 4, 4}, {24, 48, 64}),
            "leaves its operand 0 of 24 bytes");
}

TYPED_TEST(GemmRoutine, RefusesWrongParameters) {
  ThreadPool pool(1);
  TypeParam value = 0;
  void *buffers[] = {&value, &value, &value};
  std::string routine = routineOf<TypeParam>();
  int64_t few[] = {1, 1, 1, 1};
  EXPECT_THROW(call(routine, 3, buffers, few, pool), InternalError);
  int64_t vast[] = {1, int64_t{1} << 31, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1};
  EXPECT_CONTAINS(errorOf(ErrorKind::Unsupported, [&] { call(routine, 3, buffers, vast, pool); }),
                  "library step");
}

//===----------------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------------===//

TEST(VectorExponential, IsWithinTwoUnits) {
  std::vector<float> numbers;
  for (float x = -87.3F; x < 0; x += 1e-3F)
    numbers.push_back(x);
  numbers.push_back(0);
  std::vector<float> results = numbers;
  double expectedSum = 0;
  float sum = exponentials(results.data(), static_cast<int64_t>(results.size()), 0);
  for (size_t i = 0; i < numbers.size(); ++i) {
    double exact = std::exp(static_cast<double>(numbers[i]));
    double unit = std::nextafter(static_cast<float>(exact), 1e30F) - static_cast<float>(exact);
    ASSERT_LE(std::abs(results[i] - exact), 2 * unit) << numbers[i];
    expectedSum += exact;
  }
  EXPECT_NEAR(sum, expectedSum, 1e-5 * expectedSum);
}

TEST(VectorExponential, KeepsWhatIsNoNumber) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (size_t count : {1, 5, 37, 64}) {
    std::vector<float> numbers(count, -infinity);
    EXPECT_EQ(greatestOf(numbers.data(), static_cast<int64_t>(count)), -infinity);
    EXPECT_EQ(exponentials(numbers.data(), static_cast<int64_t>(count), 0), 0);
    numbers.back() = 3;
    EXPECT_EQ(greatestOf(numbers.data(), static_cast<int64_t>(count)), 3);
    numbers.front() = std::nanf("");
    EXPECT_EQ(greatestOf(numbers.data(), static_cast<int64_t>(count)), count == 1 ? -infinity : 3);
    EXPECT_TRUE(std::isnan(exponentials(numbers.data(), static_cast<int64_t>(count), 3)));
  }
}

TEST(Library, AttentionInBlocksOfAnySizeComputesTheSame) {
  if (!libraryAvailable("openblas"))
    GTEST_SKIP() << "OpenBLAS is not on this machine";
  // One batch of two heads, 70 queries, 90 keys, depth 5 and width 3; a query sees keys up to its
  // own.
  constexpr int64_t heads = 2, queries = 70, keys = 90, depth = 5, width = 3;
  Attention sizes{1, heads, queries, keys, depth, width, 1, 0, 0.5, {}, {}, {}, {}, {}};
  sizes.query = {heads * queries * depth, queries * depth, depth};
  sizes.key = {heads * keys * depth, keys * depth, depth};
  sizes.value = {heads * keys * width, keys * width, width};
  sizes.result = {heads * queries * width, queries * width, width};
  std::mt19937 engine(5);
  std::normal_distribution<float> normal;
  auto draw = [&](int64_t count) {
    std::vector<float> numbers(static_cast<size_t>(count));
    for (float &number : numbers)
      number = normal(engine);
    return numbers;
  };
  std::vector<float> q = draw(heads * queries * depth), k = draw(heads * keys * depth),
                     v = draw(heads * keys * width);
  auto result = [&](int64_t queryBlock, int64_t keyBlock, int threads) {
    ThreadPool pool(threads);
    std::vector<float> out(static_cast<size_t>(heads * queries * width));
    sizes.queryBlock = queryBlock;
    sizes.keyBlock = keyBlock;
    attend(sizes, q.data(), k.data(), v.data(), nullptr, out.data(), pool);
    return out;
  };
  std::vector<float> usual = result(0, 0, 1);
  for (auto [queryBlock, keyBlock] : {std::pair(1, 1), {7, 0}, {0, 13}, {64, 32}, {1000, 1000}}) {
    std::vector<float> other = result(queryBlock, keyBlock, 2);
    for (size_t i = 0; i < usual.size(); ++i)
      ASSERT_NEAR(other[i], usual[i], 1e-5) << queryBlock << " x " << keyBlock;
    EXPECT_EQ(result(queryBlock, keyBlock, 1), other);
  }
}

TEST(Library, AttentionThatLeavesItsOperandsIsRefused) {
  // One batch of two heads, 4 queries, 5 keys, depth and width 3.
  std::vector<int64_t> right = {1,  2,  4, 5,  3,  3,  0,  0,  std::bit_cast<int64_t>(1.0),
                                24, 12, 3, 30, 15, 3,  30, 15, 3,
                                0,  0,  0, 0,  24, 12, 3};
  std::vector<int64_t> bytes = {96, 120, 120, 96};
  Step step = libraryStep(4);
  step.symbol = "openblas.attention";
  EXPECT_EQ(libraryFault(step, right, bytes), "");
  EXPECT_TRUE(libraryShape(step.symbol)->parameters == right.size());
  for (auto [queries, keys, isRight] : {std::tuple(int64_t{64}, int64_t{0}, true),
                                        {-1, 0, false},
                                        {0, int64_t{1} << 40, false},
                                        {1024, 2048, false}}) {
    std::vector<int64_t> cut = right;
    cut.insert(cut.end(), {queries, keys});
    EXPECT_EQ(libraryFault(step, cut, bytes).empty(), isRight) << queries << " x " << keys;
  }
  for (size_t i = 0; i < right.size(); ++i) {
    std::vector<int64_t> wrong = right;
    if (i == 8) // a scale is any number
      continue;
    wrong[i] = -1;
    EXPECT_NE(libraryFault(step, wrong, bytes), "") << i;
    bool isUnused = i == 0 || (i >= 6 && i <= 9) || i == 12 || i == 15 || (i >= 18 && i <= 22);
    wrong[i] = int64_t{1} << 62;
    if (!isUnused)
      EXPECT_NE(libraryFault(step, wrong, bytes), "") << i;
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::vector<int64_t> small = bytes;
    small[i] -= 4;
    EXPECT_NE(libraryFault(step, right, small), "") << i;
  }
}

} // namespace
} // namespace headrace
