#include "dialect/SizeAlgebra.h"
#include "dialect/SymbolicShape.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace headrace {

class SizeAlgebra : public testing::Test {
protected:
  MLIRContext context{MLIRContext::Threading::DISABLED};
  AffineExpr a = getAffineSymbolExpr(0, &context), b = getAffineSymbolExpr(1, &context);
  AffineExpr number(int64_t value) { return constantDim(value, &context); }
};

TEST_F(SizeAlgebra, ProductsOfSymbolsAreTheSameInAnyOrder) {
  EXPECT_TRUE(sameSize((a * b) * 4, a * (b * 4)));
  EXPECT_TRUE(sameSize(a * b * 12, (b * 3) * (a * 4)));
  EXPECT_TRUE(sameSize((a + 1) * (b + 2), a * b + a * 2 + b + 2));
  EXPECT_FALSE(sameSize(a * b, a * a));
  EXPECT_FALSE(sameSize(a * b * 4, a * b));
  EXPECT_EQ(normalized((a * b) * 4), normalized((b * 2) * (a * 2)));
}

TEST_F(SizeAlgebra, EqualShapesGiveEqualTypes) {
  Type f32 = Float32Type::get(&context);
  EXPECT_EQ(tensorType({a * (b * 4)}, f32), tensorType({(a * 4) * b}, f32));
}

TEST_F(SizeAlgebra, QuotientsAreExactOrNone) {
  EXPECT_EQ(exactQuotient(a * b * 12, a * 4), normalized(b * 3));
  EXPECT_EQ(exactQuotient(a * 6 + b * 4, number(2)), normalized(a * 3 + b * 2));
  EXPECT_EQ(exactQuotient(a * a + a * b, a + b), a);
  AffineExpr rows = a.floorDiv(2) + 1;
  EXPECT_EQ(exactQuotient(rows * 64 * b, b * 64), rows);
  EXPECT_EQ(exactQuotient(a, number(2)), std::nullopt);
  EXPECT_EQ(exactQuotient(a, b), std::nullopt);
  EXPECT_EQ(exactQuotient(a + 1, a), std::nullopt);
  EXPECT_EQ(exactQuotient(a, number(0)), std::nullopt);
}

} // namespace headrace
