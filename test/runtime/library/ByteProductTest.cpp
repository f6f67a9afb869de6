#include "runtime/library/ByteProduct.h"

#include "runtime/Helpers.h"
#include "runtime/program/Library.h"

#include <algorithm>
#include <random>

namespace headrace {
namespace {

using bytes::Kind;

/// One product with its matrices in padded storage, bytes at the ends of their range among them.
struct Case {
  int64_t batch, m, n, k;
  bool transA = false, transB = false, unsignedA = true, unsignedB = false, sharedB = true;

  int64_t lda() const { return (transA ? m : k) + 3; }
  int64_t ldb() const { return (transB ? k : n) + 2; }
  int64_t ldc() const { return n + 1; }
  int64_t strideA() const { return (transA ? k : m) * lda(); }
  int64_t strideB() const { return sharedB ? 0 : (transB ? n : k) * ldb(); }
  int64_t strideC() const { return m * ldc(); }

  ByteProduct product() const {
    return {{batch, m, n, k, transA, transB, strideA(), strideB(), strideC(), lda(), ldb(), ldc()},
            unsignedA,
            unsignedB};
  }

  static std::vector<uint8_t> random(int64_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::vector<uint8_t> result(static_cast<size_t>(count));
    for (uint8_t &byte : result) {
      unsigned number = generator();
      constexpr uint8_t ends[] = {0, 127, 128, 255};
      byte = static_cast<uint8_t>(number % 3 == 0 ? ends[number / 3 % 4] : number >> 8);
    }
    return result;
  }

  std::vector<uint8_t> a = random(batch * strideA() + 8, 1);
  std::vector<uint8_t> b = random((sharedB ? 1 : batch) * (transB ? n : k) * ldb() + 8, 2);

  /// The result by the definition; memory between rows stays unchanged.
  std::vector<int32_t> expected() const {
    auto number = [](uint8_t byte, bool isUnsigned) -> int64_t {
      return isUnsigned ? int64_t{byte} : int64_t{static_cast<int8_t>(byte)};
    };
    std::vector<int32_t> c(static_cast<size_t>(batch * strideC() + 1), 77);
    for (int64_t i = 0; i < batch; ++i)
      for (int64_t row = 0; row < m; ++row)
        for (int64_t column = 0; column < n; ++column) {
          int64_t sum = 0;
          for (int64_t p = 0; p < k; ++p) {
            int64_t left = i * strideA() + (transA ? p * lda() + row : row * lda() + p);
            int64_t right = i * strideB() + (transB ? column * ldb() + p : p * ldb() + column);
            sum += number(a[static_cast<size_t>(left)], unsignedA) *
                   number(b[static_cast<size_t>(right)], unsignedB);
          }
          c[static_cast<size_t>(i * strideC() + row * ldc() + column)] = static_cast<int32_t>(sum);
        }
    return c;
  }

  std::vector<int32_t> computed(ThreadPool &pool, Kind kind, bool packed) const {
    std::vector<int32_t> c(static_cast<size_t>(batch * strideC() + 1), 77);
    Tensor panels;
    if (packed)
      panels = packedColumns(product(), b.data());
    multiplyBytes(product(), a.data(), packed ? panels.as<uint8_t>() : b.data(), c.data(), packed,
                  pool, kind);
    return c;
  }
};

constexpr Kind kinds[] = {Kind::DotProducts, Kind::WidePairs, Kind::Pairs, Kind::Plain};

void expectExact(const Case &each) {
  ThreadPool one(1), three(3);
  std::vector<int32_t> expected = each.expected();
  for (Kind kind : kinds) {
    if (!bytes::hasKind(kind))
      continue;
    for (ThreadPool *pool : {&one, &three}) {
      EXPECT_EQ(each.computed(*pool, kind, false), expected)
          << each.m << "x" << each.n << "x" << each.k << " kind " << static_cast<int>(kind);
      if (each.sharedB) {
        EXPECT_EQ(each.computed(*pool, kind, true), expected)
            << each.m << "x" << each.n << "x" << each.k << " kind " << static_cast<int>(kind)
            << ", packed";
      }
    }
  }
}

TEST(ByteProduct, IsExactForAllSignsAndOrientations) {
  for (bool transA : {false, true})
    for (bool transB : {false, true})
      for (bool unsignedA : {false, true})
        for (bool unsignedB : {false, true})
          expectExact({1, 13, 37, 21, transA, transB, unsignedA, unsignedB});
}

TEST(ByteProduct, IsExactForSizesBesideThoseOfTilesAndPasses) {
  for (int64_t m : {1, 5, 6, 7, 97})
    for (int64_t n : {1, 15, 16, 17, 63, 65})
      for (int64_t k : {1, 3, 4, 5, 383, 385})
        expectExact({1, m, n, k, false, false, true, false});
}

TEST(ByteProduct, IsExactOverSeveralPassesAndBlocks) {
  expectExact({1, 200, 300, 1000, false, true, false, false});
  expectExact({1, 3, 700, 769, true, false, true, true});
}

TEST(ByteProduct, TakesBatchesWithASecondMatrixEachOrOneForAll) {
  expectExact({4, 9, 20, 30, false, true, true, false, false});
  expectExact({4, 9, 20, 30, false, false, false, true, true});
}

TEST(ByteProduct, HoldsEveryExtreme) {
  for (bool unsignedA : {false, true})
    for (bool unsignedB : {false, true}) {
      Case each{1, 7, 18, 4097, false, false, unsignedA, unsignedB};
      std::fill(each.a.begin(), each.a.end(), unsignedA ? 255 : 128);
      std::fill(each.b.begin(), each.b.end(), unsignedB ? 255 : 128);
      expectExact(each);
    }
}

TEST(ByteProduct, WrapsAroundAt32Bits) {
  Case each{1, 1, 1, 40000, false, false, true, true};
  std::fill(each.a.begin(), each.a.end(), 255);
  std::fill(each.b.begin(), each.b.end(), 255);
  expectExact(each);
}

TEST(ByteProduct, OverNothingIsZeroAndOfNothingTouchesNothing) {
  expectExact({1, 7, 18, 0});
  expectExact({1, 0, 18, 5});
  expectExact({1, 7, 0, 5});
  expectExact({0, 7, 18, 5});
}

TEST(ByteProduct, OperandsThatDoNotFitAreFaults) {
  Step step;
  step.kind = Step::Kind::Library;
  step.symbol = "int8.gemm";
  std::vector<int64_t> sizes = {1, 4, 8, 16, 0, 0, 0, 0, 0, 16, 8, 8, 1, 0};
  EXPECT_EQ(libraryFault(step, sizes, std::vector<int64_t>{64, 128, 128}), "");
  EXPECT_NE(libraryFault(step, sizes, std::vector<int64_t>{63, 128, 128}), "");
  EXPECT_NE(libraryFault(step, sizes, std::vector<int64_t>{64, 127, 128}), "");
  EXPECT_NE(libraryFault(step, sizes, std::vector<int64_t>{64, 128, 127}), "");
  step.symbol = "int8.packed_gemm";
  int64_t panels = packedBytes({Gemm::of(0, 8, 16, false, false)});
  EXPECT_EQ(libraryFault(step, sizes, std::vector<int64_t>{64, panels, 128}), "");
  EXPECT_NE(libraryFault(step, sizes, std::vector<int64_t>{64, panels - 1, 128}), "");
  sizes[2] = -8;
  EXPECT_NE(libraryFault(step, sizes, std::vector<int64_t>{64, panels, 128}), "");
  sizes[2] = INT64_MAX;
  EXPECT_NE(libraryFault(step, sizes, std::vector<int64_t>{64, panels, 128}), "");
}

} // namespace
} // namespace headrace
