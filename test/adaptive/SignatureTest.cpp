#include "adaptive/Signature.h"

#include <gtest/gtest.h>

namespace headrace::adaptive {
namespace {

TEST(Signature, ASmallSizeIsAConstantUntilThePlaceShowsAnother) {
  SizePlace place;
  auto keyOf = [&](int64_t size) {
    Signature signature;
    signature.addSize(size, place, SizePolicy::adaptive());
    return signature.key();
  };
  auto five = keyOf(5);
  EXPECT_EQ(five, keyOf(5));
  auto symbol = keyOf(6);
  EXPECT_NE(five, symbol);
  EXPECT_EQ(symbol, keyOf(7));
  EXPECT_EQ(symbol, keyOf(5)) << "a symbol serves the first size, too";
}

TEST(Signature, ZeroAndOneAreAlwaysConstants) {
  SizePlace place;
  for (int64_t size : {3, 4, 0, 1}) {
    Signature signature;
    auto symbol = signature.addSize(size, place, SizePolicy::adaptive());
    EXPECT_EQ(symbol.has_value(), size == 4) << size;
  }
}

TEST(Signature, ALargeSizeIsASymbolFromTheStart) {
  SizePlace place;
  Signature signature;
  EXPECT_EQ(signature.addSize(1000, place, SizePolicy::adaptive()), 0u);
}

TEST(Signature, EqualSizesShareASymbol) {
  SizePlace places[3];
  Signature signature;
  EXPECT_EQ(signature.addSize(7, places[0], SizePolicy::open()), 0u);
  EXPECT_EQ(signature.addSize(8, places[1], SizePolicy::open()), 1u);
  EXPECT_EQ(signature.addSize(7, places[2], SizePolicy::open()), 0u);
  EXPECT_EQ(signature.symbols(), (std::vector<int64_t>{7, 8}));
}

TEST(Signature, AConstantIsNotMistakenForASymbol) {
  SizePlace constant, symbol;
  Signature one, other;
  one.addSize(0, constant, SizePolicy::open());
  other.addSize(9, symbol, SizePolicy::open());
  EXPECT_NE(one.key(), other.key());
}

TEST(Signature, GeneralSizesLeaveThoseFromTwoOnDynamic) {
  using Sizes = std::vector<std::optional<int64_t>>;
  EXPECT_EQ(generalSizes({0, 1, 2, 100}), (Sizes{0, 1, std::nullopt, std::nullopt}));
}

} // namespace
} // namespace headrace::adaptive
