// Compiled programs of unsigned and 8-bit numbers, and products whose sums are wider than their
// factors.
#include "dialect/scalar/ScalarMath.h"
#include "runtime/system/Error.h"

#include "CompiledProgram.h"

using namespace mlir;

namespace headrace {
namespace {

using hr::ChannelLayout;
using hr::ReduceKind;

Type unsignedType(CompiledProgram &p, unsigned width) {
  return p.builder().getIntegerType(width, /*isSigned=*/false);
}

class NarrowProducts : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(By, NarrowProducts, testing::Values("generated", "int8", "auto"),
                         [](const auto &info) { return info.param; });

TEST_P(NarrowProducts, OfBytesOfAnySign) {
  CompiledProgram p;
  p.expansion = GetParam();
  Type i8 = p.builder().getI8Type(), u8 = unsignedType(p, 8), i32 = p.builder().getI32Type();
  for (Type first : {i8, u8})
    for (Type second : {i8, u8}) {
      Value a = p.input({17, 35}, first);
      p.output(p.contract("mk,kn->mn", a, p.input({35, 33}, second), i32));
      p.output(p.contract("mk,kn->mn", a, p.constant({35, 33}, second), i32));
      p.output(p.contract("mk,nk->mn", a, p.constant({20, 35}, second), i32));
      p.output(p.contract("km,kn->mn", a, p.input({17, 9}, second), i32));
      p.output(p.contract("nk,mk->mn", p.constant({20, 35}, second), a, i32));
    }
  p.check();
}

TEST_P(NarrowProducts, OfBatchesAndVectors) {
  CompiledProgram p;
  p.expansion = GetParam();
  Type i8 = p.builder().getI8Type(), u8 = unsignedType(p, 8), i32 = p.builder().getI32Type();
  Value t = p.input({3, 17, 35}, u8);
  p.output(p.contract("bmk,bnk->bmn", t, p.input({3, 20, 35}, i8), i32));
  p.output(p.contract("bmk,kn->bmn", t, p.constant({35, 20}, i8), i32));
  p.output(p.contract("bmk,bkn->mbn", t, p.constant({3, 35, 20}, i8), i32));
  p.output(p.contract("bmk,k->bm", t, p.input({35}, i8), i32));
  p.output(p.contract("k,kn->n", p.input({35}, i8), p.constant({35, 20}, i8), i32));
  p.check();
}

TEST_P(NarrowProducts, OfOpenSizes) {
  CompiledProgram p;
  p.expansion = GetParam();
  Type i8 = p.builder().getI8Type(), u8 = unsignedType(p, 8), i32 = p.builder().getI32Type();
  AffineExpr rows = p.symbol("rows"), inner = p.symbol("inner");
  AffineExpr fixed = constantDim(35, p.context());
  Value a = p.symbolicInput({rows, fixed}, u8), b = p.symbolicInput({rows, inner}, u8);
  p.output(p.contract("mk,kn->mn", a, p.constant({35, 33}, i8), i32));
  p.output(p.contract("mk,mn->kn", b, a, i32));
  for (int64_t size : {0, 1, 2, 40})
    p.check({size, 21});
}

TEST_P(NarrowProducts, FollowedByARequantization) {
  CompiledProgram p;
  p.expansion = GetParam();
  Type i8 = p.builder().getI8Type(), u8 = unsignedType(p, 8), i32 = p.builder().getI32Type();
  Value product = p.contract("mk,kn->mn", p.input({40, 70}, u8), p.constant({70, 33}, i8), i32);
  p.output(p.map({product, p.constant({33})}, [&](OpBuilder &b, ValueRange v) {
    ScalarMath m(b, p.loc());
    Value real = m.mul(m.convert(v[0], v[1].getType()), v[1]);
    return m.convert(m.op<math::FloorOp>(real), u8);
  }));
  p.check();
}

TEST_P(NarrowProducts, AreConvolutions) {
  for (bool isPadded : {false, true})
    for (int64_t groups : {1, 3}) {
      CompiledProgram p;
      p.expansion = GetParam();
      Type i8 = p.builder().getI8Type(), u8 = unsignedType(p, 8);
      SmallVector<int64_t> strides{2, 1}, ones{1, 1}, pads(4, isPadded ? 1 : 0);
      TypeAttr i32 = TypeAttr::get(p.builder().getI32Type());
      Value x = p.input({2, 3, 11, 9}, u8);
      Value w = p.constant({6, 3 / groups, 3, 3}, i8);
      p.output(p.add<hr::ConvOp>(x, w, strides, ones, pads, groups, ChannelLayout::First, i32));
      Value last = p.input({2, 11, 9, 3}, i8);
      Value filter = p.input({3, 2, 3 / groups, 6}, u8);
      p.output(
          p.add<hr::ConvOp>(last, filter, strides, ones, pads, groups, ChannelLayout::Last, i32));
      p.check();
    }
}

TEST(CompiledNarrow, BytesCallTheRoutineForThem) {
  CompiledProgram p;
  p.expansion = "auto";
  Type u8 = unsignedType(p, 8), i32 = p.builder().getI32Type();
  Value a = p.input({256, 256}, u8);
  p.output(p.contract("mk,kn->mn", a, p.constant({256, 256}, u8), i32));
  p.output(p.contract("mk,kn->mn", a, p.input({256, 256}, u8), i32));
  p.check();
  EXPECT_EQ(p.routines(), (std::vector<std::string>{"int8.packed_gemm", "int8.gemm"}));
}

TEST(CompiledNarrow, SumsAreAsWideAsTheAccumulator) {
  CompiledProgram p;
  OpBuilder &b = p.builder();
  Type f16 = b.getF16Type(), bf16 = b.getBF16Type(), f32 = b.getF32Type(), f64 = b.getF64Type();
  p.output(p.contract("mk,kn->mn", p.input({17, 300}, f16), p.constant({300, 33}, f16), f32));
  p.output(p.contract("mk,kn->mn", p.input({17, 300}, bf16), p.input({300, 33}, bf16), f32));
  p.output(p.contract("mk,kn->mn", p.input({17, 300}, bf16), p.constant({300, 33}, f16), f32));
  p.output(p.contract("mk,kn->mn", p.input({17, 30}, f32), p.constant({30, 33}, f32), f64));
  p.output(p.contract("mk,kn->mn", p.input({9, 30}, b.getI16Type()),
                      p.constant({30, 33}, unsignedType(p, 16)), b.getI64Type()));
  p.check();
}

TEST(CompiledNarrow, ReductionsOfUnsignedNumbers) {
  for (unsigned width : {8, 16, 32, 64}) {
    CompiledProgram p;
    Value x = p.input({5, 37, 6}, unsignedType(p, width));
    for (ReduceKind kind :
         {ReduceKind::Max, ReduceKind::Min, ReduceKind::Sum, ReduceKind::Prod, ReduceKind::Mean}) {
      p.output(p.reduce(kind, x, {1}));
      p.output(p.reduce(kind, x, {0, 2}, true));
    }
    p.check();
  }
}

TEST(CompiledNarrow, LargestOfUnsignedWindows) {
  CompiledProgram p;
  SmallVector<int64_t> window{3, 2}, strides{2, 1}, ones{1, 1}, pads{1, 0, 1, 1};
  Value x = p.input({2, 3, 9, 8}, unsignedType(p, 8));
  p.output(p.add<hr::PoolOp>(x, hr::PoolKind::Max, window, strides, ones, pads, false,
                             ChannelLayout::First));
  p.check();
}

TEST(CompiledNarrow, MapsOfUnsignedNumbers) {
  for (unsigned width : {8, 16, 32, 64}) {
    CompiledProgram p;
    Type type = unsignedType(p, width);
    Value x = p.input({7, 41}, type), y = p.input({41}, type);
    auto each = [&](auto formula) {
      p.output(p.map({x, y}, [&](OpBuilder &b, ValueRange v) -> Value {
        ScalarMath m(b, p.loc());
        return formula(m, v[0], v[1]);
      }));
    };
    each([](ScalarMath &m, Value a, Value b) { return m.sub(a, b); });
    each([](ScalarMath &m, Value a, Value b) { return m.div(m.sub(a, b), b); });
    each([](ScalarMath &m, Value a, Value b) { return m.remainder(m.sub(a, b), b); });
    each([](ScalarMath &m, Value a, Value b) { return m.max(m.sub(a, b), b); });
    each([](ScalarMath &m, Value a, Value b) {
      return m.compare(ScalarMath::Compare::Less, m.sub(a, b), b);
    });
    each([&](ScalarMath &m, Value a, Value b) {
      return m.convert(m.sub(a, b), p.builder().getF64Type());
    });
    each([&](ScalarMath &m, Value a, Value b) {
      return m.convert(m.sub(a, b), p.builder().getI64Type());
    });
    p.check();
  }
}

TEST(CompiledNarrow, StoredNumbersAreMovedAndConverted) {
  CompiledProgram p;
  OpBuilder &b = p.builder();
  Value x = p.input({6, 40});
  for (Type type :
       {Type(b.getFloat8E4M3FNType()), Type(b.getFloat8E5M2Type()), Type(b.getFloat8E4M3FNUZType()),
        Type(b.getFloat8E5M2FNUZType()), Type(hr::Float4E2M1Type::get(p.context()))}) {
    auto converted = [&](Value value, Type to) {
      return p.map(value, [&](OpBuilder &inner, ValueRange v) {
        return ScalarMath(inner, p.loc()).convert(v[0], to, /*saturates=*/false);
      });
    };
    Value narrow = converted(x, type);
    p.output(p.transpose(narrow, {1, 0}));
    p.output(converted(p.reshape(narrow, {8, 30}), p.f32()));
  }
  p.check();
  p.check({}, Fill::Special);
}

/// The verifier's message on a product of these types.
std::string complaintAbout(const std::string &factors, const std::string &attributes,
                           const std::string &result) {
  std::string text = "#m = affine_map<(i) -> (i)>\nfunc.func @main(%a: tensor<4x" + factors +
                     ">) -> tensor<4x" + result +
                     "> {\n  %c = hr.contract %a, %a maps [#m, #m, #m]" + attributes +
                     " : (tensor<4x" + factors + ">, tensor<4x" + factors + ">) -> tensor<4x" +
                     result + ">\n  return %c : tensor<4x" + result + ">\n}";
  try {
    CompiledProgram p(text);
    p.check();
  } catch (const std::exception &error) {
    return error.what();
  }
  return "";
}

TEST(CompiledNarrow, AccumulatorsThatCannotHoldTheFactorsAreRefused) {
  EXPECT_EQ(complaintAbout("i8", "{accumulator = i32}", "i32"), "");
  EXPECT_NE(complaintAbout("i8", "{accumulator = f32}", "f32"), "");
  EXPECT_NE(complaintAbout("i16", "{accumulator = i8}", "i8"), "");
  EXPECT_NE(complaintAbout("f16", "{accumulator = bf16}", "bf16"), "");
  EXPECT_NE(complaintAbout("i8", "{accumulator = ui32}", "ui32"), "");
}

} // namespace
} // namespace headrace
