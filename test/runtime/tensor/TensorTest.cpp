#include "runtime/tensor/Tensor.h"

#include "runtime/Helpers.h"
#include "runtime/tensor/Half.h"

#include <cmath>
#include <limits>

namespace headrace {
namespace {

using namespace test;

TEST(Error, InternalErrorsAskForAReport) {
  EXPECT_STREQ(InternalError("the plan is empty").what(),
               "the plan is empty (this is a bug in Headrace; please report it)");
}

TEST(DType, NamesAreReadBack) {
  for (int i = 0; i <= static_cast<int>(DType::F64); ++i) {
    auto type = static_cast<DType>(i);
    EXPECT_EQ(parseDType(nameOf(type)), type);
  }
  EXPECT_EQ(nameOf(DType::BF16), "bf16");
  EXPECT_EQ(sizeOf(DType::BF16), 2u);
  EXPECT_EQ(sizeOf(DType::I64), 8u);
  EXPECT_EQ(parseDType("float"), std::nullopt);
}

TEST(Half, EveryHalfSurvivesTheTripThroughFloat) {
  for (uint32_t i = 0; i < 0x10000; ++i) {
    auto bits = static_cast<uint16_t>(i);
    if (std::isnan(f16ToFloat(bits)))
      EXPECT_TRUE(std::isnan(f16ToFloat(floatToF16(f16ToFloat(bits)))));
    else
      EXPECT_EQ(floatToF16(f16ToFloat(bits)), bits);
    if (std::isnan(bf16ToFloat(bits)))
      EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(bf16ToFloat(bits)))));
    else
      EXPECT_EQ(floatToBf16(bf16ToFloat(bits)), bits);
  }
}

// Between each two neighbours: the middle goes to the even one, all else to the nearer.
template <class Widen, class Narrow>
void checkRounding(uint16_t infinity, Widen widen, Narrow narrow) {
  for (uint16_t low = 0; low + 1 < infinity; ++low) {
    auto high = static_cast<uint16_t>(low + 1);
    float middle = static_cast<float>((double{widen(low)} + double{widen(high)}) / 2);
    EXPECT_EQ(narrow(middle), low % 2 == 0 ? low : high);
    EXPECT_EQ(narrow(std::nextafter(middle, 0.0f)), low);
    EXPECT_EQ(narrow(std::nextafter(middle, std::numeric_limits<float>::infinity())), high);
    EXPECT_EQ(narrow(-middle), 0x8000 | (low % 2 == 0 ? low : high));
  }
}

TEST(Half, RoundsToNearestEven) {
  checkRounding(0x7c00, f16ToFloat, floatToF16);
  checkRounding(0x7f80, bf16ToFloat, floatToBf16);
  EXPECT_EQ(floatToF16(65519.996f), 0x7bff);
  EXPECT_EQ(floatToF16(65520.0f), 0x7c00);
  EXPECT_EQ(floatToBf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(f16ToFloat(0x3555), 0.333251953125f);
  EXPECT_EQ(f16ToFloat(0x0001), 0x1p-24f);
}

TEST(Shape, PrintsAndCounts) {
  EXPECT_EQ(shapeString({1, 3, 224, 224}), "1x3x224x224");
  EXPECT_EQ(shapeString({}), "scalar");
  EXPECT_EQ(elementCount({}), 1);
  EXPECT_EQ(elementCount({2, 0, 5}), 0);
  EXPECT_EQ(elementCount({int64_t{1} << 40, int64_t{1} << 40, 0}), 0);
  EXPECT_CONTAINS(errorOf(ErrorKind::InvalidArgument, [] { elementCount({2, -1}); }), "2x-1");
  errorOf(ErrorKind::InvalidArgument, [] { elementCount({int64_t{1} << 40, int64_t{1} << 40}); });
}

TEST(Tensor, AllocatesAlignedMemoryAndSharesIt) {
  Tensor tensor = Tensor::allocate(DType::F32, {3, 5});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 64, 0u);
  EXPECT_EQ(tensor.bytes(), 60u);
  Tensor copy = tensor.reshaped({15});
  tensor.as<float>()[14] = 7;
  EXPECT_EQ(copy.as<float>()[14], 7);
  EXPECT_EQ(copy.owner(), tensor.owner());
  EXPECT_CONTAINS(errorOf(ErrorKind::ShapeMismatch, [&] { tensor.reshaped({4, 4}); }), "4x4");
  EXPECT_THROW(tensor.as<double>(), InternalError);
}

TEST(Tensor, EmptyAndAbsentDiffer) {
  EXPECT_FALSE(Tensor());
  Tensor empty = Tensor::allocate(DType::I64, {0, 4});
  EXPECT_TRUE(empty);
  EXPECT_NE(empty.data(), nullptr);
  EXPECT_EQ(empty.bytes(), 0u);
  EXPECT_TRUE(Tensor::borrow(DType::F32, {0}, nullptr, nullptr));
}

TEST(Tensor, BytesMustFit) {
  errorOf(ErrorKind::InvalidArgument, [] { Tensor::allocate(DType::F64, {int64_t{1} << 61}); });
}

TEST(Tensor, BorrowKeepsTheOwner) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2});
  std::weak_ptr<std::vector<float>> watch = owner;
  Tensor tensor = Tensor::borrow(DType::F32, {2}, owner->data(), owner);
  owner.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(tensor.as<float>()[1], 2);
  tensor = Tensor();
  EXPECT_TRUE(watch.expired());
}

TEST(Tensor, ConvertsValues) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Tensor tensor = floats({7}, {0, -1.7f, 2.5f, 300, std::nanf(""), infinity, -infinity});
  EXPECT_EQ(valuesOf<uint8_t>(tensor.converted(DType::U8)),
            (std::vector<uint8_t>{0, 0, 2, 255, 0, 255, 0}));
  EXPECT_EQ(valuesOf<int64_t>(tensor.converted(DType::I64)),
            (std::vector<int64_t>{0, -1, 2, 300, 0, INT64_MAX, INT64_MIN}));
  EXPECT_EQ(valuesOf<uint8_t>(tensor.converted(DType::Bool)),
            (std::vector<uint8_t>{0, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(valuesOf<double>(tensor.converted(DType::F16).converted(DType::F64))[2], 2.5);
  EXPECT_EQ(valuesOf<int8_t>(tensorOf<int32_t>(DType::I32, {2}, {257, -129}).converted(DType::I8)),
            (std::vector<int8_t>{1, 127}));
  EXPECT_EQ(valuesOf<int32_t>(tensorOf<uint8_t>(DType::Bool, {2}, {0, 9}).converted(DType::I32)),
            (std::vector<int32_t>{0, 1}));
}

TEST(Tensor, DoubleToHalfRoundsOnce) {
  // Just above the middle of 1 and the next half; a stop at float would hide the excess.
  double value = 1 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(tensorOf<double>(DType::F64, {1}, {value}).converted(DType::F16).as<uint16_t>()[0],
            0x3c01);
  double wide = 1 + 0x1p-8 - 0x1p-40;
  EXPECT_EQ(tensorOf<double>(DType::F64, {1}, {wide}).converted(DType::BF16).as<uint16_t>()[0],
            0x3f80);
}

TEST(Tensor, ConvertsUnalignedMemory) {
  std::vector<char> bytes(9);
  float values[2] = {1.5f, -2};
  std::copy_n(reinterpret_cast<char *>(values), 8, bytes.begin() + 1);
  Tensor tensor = Tensor::borrow(DType::F32, {2}, bytes.data() + 1, nullptr);
  EXPECT_EQ(valuesOf<double>(tensor.converted(DType::F64)), (std::vector<double>{1.5, -2}));
}

} // namespace
} // namespace headrace
