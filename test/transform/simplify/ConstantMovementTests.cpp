#include "runtime/tensor/Tensor.h"
#include "transform/simplify/ConstantMovement.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace headrace;

namespace {

/// Element by element, from the definition.
template <class T>
void expectTransposed(DType type, Shape shape, std::vector<int64_t> permutation) {
  Tensor input = Tensor::allocate(type, shape);
  std::iota(input.as<T>(), input.as<T>() + input.elements(), T(0));
  Tensor result = transposedCopy(input, permutation);
  ASSERT_EQ(result.dtype(), type);
  size_t rank = shape.size();
  for (size_t i = 0; i < rank; ++i)
    ASSERT_EQ(result.shape()[i], shape[permutation[i]]);
  for (int64_t flat = 0; flat < result.elements(); ++flat) {
    std::vector<int64_t> index(rank);
    int64_t rest = flat;
    for (size_t i = rank; i-- > 0;) {
      index[permutation[i]] = rest % result.shape()[i];
      rest /= result.shape()[i];
    }
    int64_t source = 0;
    for (size_t i = 0; i < rank; ++i)
      source = source * shape[i] + index[i];
    ASSERT_EQ(result.as<T>()[flat], input.as<T>()[source]) << "at element " << flat;
  }
}

void expectEveryPermutation(Shape shape) {
  std::vector<int64_t> permutation(shape.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  do {
    expectTransposed<uint32_t>(DType::U32, shape, permutation);
  } while (std::next_permutation(permutation.begin(), permutation.end()));
}

TEST(TransposedCopy, EveryPermutationOfFourDimensions) { expectEveryPermutation({2, 3, 4, 5}); }
TEST(TransposedCopy, DimensionsOfSizeOne) { expectEveryPermutation({1, 3, 1, 4, 2}); }
TEST(TransposedCopy, BlocksWithRemainders) { expectEveryPermutation({33, 3, 65}); }
TEST(TransposedCopy, NoElements) { expectEveryPermutation({2, 0, 3}); }
TEST(TransposedCopy, Scalar) { expectTransposed<uint32_t>(DType::U32, {}, {}); }

TEST(TransposedCopy, EveryElementSize) {
  expectTransposed<uint8_t>(DType::U8, {7, 5, 3}, {2, 0, 1});
  expectTransposed<uint16_t>(DType::U16, {7, 5, 3}, {2, 0, 1});
  expectTransposed<uint64_t>(DType::U64, {7, 5, 3}, {2, 0, 1});
}

/// Numbers that arithmetic would not keep: the payload of a NaN.
TEST(TransposedCopy, KeepsBits) {
  Tensor input = Tensor::allocate(DType::F32, {2, 2});
  uint32_t bits[] = {0x7fc12345, 1, 0xff800001, 0x80000000}, found[4];
  std::memcpy(input.data(), bits, sizeof(bits));
  Tensor result = transposedCopy(input, {1, 0});
  std::memcpy(found, result.data(), sizeof(found));
  EXPECT_EQ(found[0], bits[0]);
  EXPECT_EQ(found[1], bits[2]);
  EXPECT_EQ(found[2], bits[1]);
  EXPECT_EQ(found[3], bits[3]);
}

} // namespace
