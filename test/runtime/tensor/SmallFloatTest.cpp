#include "runtime/tensor/SmallFloat.h"

#include "runtime/tensor/Tensor.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace headrace {
namespace {

constexpr DType formats[] = {DType::F8E4M3FN, DType::F8E4M3FNUZ, DType::F8E5M2, DType::F8E5M2FNUZ,
                             DType::F4E2M1};

/// The number of a code without sign, by the definition of its parts.
double meaning(const SmallFloat &format, int code) {
  int fraction = code & ((1 << format.mantissaBits) - 1), exponent = code >> format.mantissaBits;
  if (exponent == 0)
    return std::ldexp(fraction, 1 - format.bias - format.mantissaBits);
  return std::ldexp((1 << format.mantissaBits) + fraction,
                    exponent - format.bias - format.mantissaBits);
}

TEST(SmallFloat, CodesStandForTheirParts) {
  for (DType type : formats) {
    SmallFloat format = *smallFloat(type);
    for (int code = 0; code <= format.largest; ++code) {
      EXPECT_EQ(smallToFloat(format, static_cast<uint8_t>(code)), meaning(format, code));
      auto negative = static_cast<uint8_t>(code | format.sign);
      if (code != 0)
        EXPECT_EQ(smallToFloat(format, negative), -meaning(format, code));
      else if (format.hasNegativeZero)
        EXPECT_TRUE(std::signbit(smallToFloat(format, negative)));
      else
        EXPECT_TRUE(std::isnan(smallToFloat(format, negative)));
    }
  }
}

TEST(SmallFloat, NumbersRoundToTheNearestAndHalvesToEven) {
  for (DType type : formats) {
    SmallFloat format = *smallFloat(type);
    for (int code = 0; code < format.largest; ++code) {
      auto low = static_cast<float>(meaning(format, code));
      auto high = static_cast<float>(meaning(format, code + 1));
      float middle = (low + high) / 2;
      auto even = static_cast<uint8_t>(code % 2 == 0 ? code : code + 1);
      EXPECT_EQ(floatToSmall(format, low, false), code);
      EXPECT_EQ(floatToSmall(format, middle, false), even) << nameOf(type) << " " << middle;
      EXPECT_EQ(floatToSmall(format, std::nextafter(middle, low), false), code);
      EXPECT_EQ(floatToSmall(format, std::nextafter(middle, high), false), code + 1);
    }
  }
}

TEST(SmallFloat, WhatIsTooLargeSaturatesOrOverflows) {
  for (DType type : formats) {
    SmallFloat format = *smallFloat(type);
    for (float large : {1e30f, INFINITY}) {
      EXPECT_EQ(floatToSmall(format, large, true), format.largest);
      EXPECT_EQ(floatToSmall(format, large, false), format.overflow);
    }
    float back = smallToFloat(format, floatToSmall(format, NAN, true));
    EXPECT_TRUE(type == DType::F4E2M1 ? back == 0 : std::isnan(back));
  }
}

TEST(SmallFloat, TensorsConvertThroughThem) {
  Tensor numbers = Tensor::allocate(DType::F64, {5});
  // The second is above the middle of 1 and 1.125 by less than a float can tell.
  std::vector<double> values = {1.0, 1.0625 * (1 + 0x1p-40), -0.5, 448, 1e300};
  std::copy(values.begin(), values.end(), numbers.as<double>());
  Tensor back = numbers.converted(DType::F8E4M3FN).converted(DType::F32);
  EXPECT_EQ(back.as<float>()[0], 1);
  EXPECT_EQ(back.as<float>()[1], 1.125f);
  EXPECT_EQ(back.as<float>()[2], -0.5f);
  EXPECT_EQ(back.as<float>()[3], 448);
  EXPECT_TRUE(std::isnan(back.as<float>()[4]));
}

TEST(SmallFloat, FourBitsAreExtendedByTheirSignOrZeros) {
  Tensor numbers = Tensor::allocate(DType::I32, {4});
  std::vector<int32_t> values = {-1, 7, 8, 17};
  std::copy(values.begin(), values.end(), numbers.as<int32_t>());
  Tensor i4 = numbers.converted(DType::I4), u4 = numbers.converted(DType::U4);
  EXPECT_EQ(i4.bytes(), 4u);
  Tensor fromSigned = i4.converted(DType::I32), fromUnsigned = u4.converted(DType::I32);
  EXPECT_EQ(std::vector<int32_t>(fromSigned.as<int32_t>(), fromSigned.as<int32_t>() + 4),
            (std::vector<int32_t>{-1, 7, -8, 1}));
  EXPECT_EQ(std::vector<int32_t>(fromUnsigned.as<int32_t>(), fromUnsigned.as<int32_t>() + 4),
            (std::vector<int32_t>{15, 7, 8, 1}));
  EXPECT_EQ(i4.viewedAs(DType::I8).as<int8_t>()[2], -8);
}

TEST(SmallFloat, TwoBitsAreExtendedByTheirSignOrZeros) {
  Tensor numbers = Tensor::allocate(DType::F32, {5});
  std::vector<float> values = {-2.9f, -1, 1.5f, 2, 7};
  std::copy(values.begin(), values.end(), numbers.as<float>());
  Tensor i2 = numbers.converted(DType::I2).converted(DType::I32);
  Tensor u2 = numbers.converted(DType::U2).converted(DType::I32);
  EXPECT_EQ(std::vector<int32_t>(i2.as<int32_t>(), i2.as<int32_t>() + 5),
            (std::vector<int32_t>{-2, -1, 1, -2, -1}));
  EXPECT_EQ(std::vector<int32_t>(u2.as<int32_t>(), u2.as<int32_t>() + 5),
            (std::vector<int32_t>{2, 3, 1, 2, 3}));
}

TEST(SmallFloat, PowersOfTwoAreTheOnesAtOrAbove) {
  for (int code = 0; code < kPowerNan; ++code) {
    float power = std::ldexp(1.0f, code - 127);
    EXPECT_EQ(powerToFloat(static_cast<uint8_t>(code)), power);
    if (code > 0) { // below it there is no difference of half a power any more
      EXPECT_EQ(floatToPower(power, true), code);
      EXPECT_EQ(floatToPower(-std::nextafter(power, 0.0f), true), code);
    }
  }
  EXPECT_TRUE(std::isnan(powerToFloat(kPowerNan)));
  EXPECT_EQ(floatToPower(0, true), 0);
  float greatest = std::numeric_limits<float>::max();
  EXPECT_EQ(floatToPower(greatest, true), kPowerNan - 1);
  EXPECT_EQ(floatToPower(greatest, false), kPowerNan);
  EXPECT_EQ(floatToPower(INFINITY, true), kPowerNan);
  EXPECT_EQ(floatToPower(NAN, true), kPowerNan);
}

} // namespace
} // namespace headrace
