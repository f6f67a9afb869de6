// No product and no reduction becomes plain loops without a word: over many widths, orders of
// operands and kinds of sizes, its kernel has a schedule of vectors, or says why not. Only a few
// reasons are good ones.
#include "transform/recipe/KernelModel.h"

#include "CompiledProgram.h"
#include <cstdlib>
#include <set>

using namespace mlir;

namespace headrace {
namespace {

using hr::ReduceKind;

bool large() { return std::getenv("HEADRACE_LARGE_TESTS") != nullptr; }

/// Widths that vectors divide and that they do not.
std::vector<int64_t> widths() {
  std::vector<int64_t> result;
  for (int64_t width = 2; width <= 1100; width += large() ? 1 : 61)
    result.push_back(width);
  result.insert(result.end(), {250, 500, 1000, 1008, 1030, 1100});
  return result;
}

std::string textOf(ModuleOp kernel, StringRef name) {
  auto text = kernel->getAttrOfType<StringAttr>(name);
  return text ? text.str() : "";
}

bool reduces(ModuleOp kernel) {
  return kernel
      .walk([](linalg::GenericOp op) {
        return op.getNumReductionLoops() > 0 ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Expects every kernel that reduces something to have a schedule of vectors.
void expectVectors(CompiledProgram &program, const std::string &what) {
  OwningOpRef<ModuleOp> scheduled = program.scheduled();
  for (ModuleOp kernel : scheduled->getOps<ModuleOp>()) {
    if (!reduces(kernel))
      continue;
    std::string refused = textOf(kernel, kRecipeRefusedAttr), kind = textOf(kernel, kKindAttr);
    EXPECT_EQ(refused, "") << what << ": " << kernel.getSymName()->str();
    if (kind == "loops") {
      std::string text;
      llvm::raw_string_ostream(text) << kernel;
      ADD_FAILURE() << what << ": " << kernel.getSymName()->str() << " is plain loops ("
                    << textOf(kernel, kRecipeNotesAttr) << ")\n"
                    << text.substr(0, 3000);
    }
  }
}

/// Rows of an open or a known number, times weights of one of both orders, constant or computed.
void addProducts(CompiledProgram &p, int64_t depth, int64_t width, bool onlyConstant = false) {
  AffineExpr open = p.symbol("rows");
  AffineExpr k = constantDim(depth, p.context());
  for (bool isConstant : {true, false})
    for (bool transA : {false, true})
      for (bool transB : {false, true})
        for (bool hasBias : {false, true})
          for (std::optional<int64_t> known :
               {std::optional<int64_t>(), std::optional<int64_t>(25)}) {
            if (!isConstant && onlyConstant)
              continue;
            AffineExpr m = known ? constantDim(*known, p.context()) : open;
            Value a = p.symbolicInput(transA ? SymbolicShape{k, m} : SymbolicShape{m, k});
            SmallVector<int64_t> shape =
                transB ? SmallVector<int64_t>{width, depth} : SmallVector<int64_t>{depth, width};
            Value w = isConstant ? p.constant(shape) : p.input(shape);
            Value product = p.contract(
                std::string(transA ? "km," : "mk,") + (transB ? "nk->mn" : "kn->mn"), a, w);
            p.output(hasBias ? p.sum({product, p.constant({width})}) : product);
          }
}

TEST(Schedules, ProductsOfEveryWidth) {
  for (int64_t width : widths()) {
    CompiledProgram p;
    addProducts(p, /*depth=*/32, width);
    expectVectors(p, "width " + std::to_string(width));
  }
}

TEST(Schedules, ProductsOfLargeOddWidths) {
  std::vector<std::pair<int64_t, int64_t>> sizes{{64, 4098}};
  if (large())
    sizes.insert(sizes.end(), {{512, 4098}, {1024, 8210}, {128, 30522}});
  for (auto [depth, width] : sizes) {
    CompiledProgram p;
    addProducts(p, depth, width, /*onlyConstant=*/!large());
    expectVectors(p, std::to_string(depth) + " x " + std::to_string(width));
  }
}

/// Sizes of an image whose middle axis is `width`, each known or open.
SymbolicShape imageShape(CompiledProgram &p, std::array<int64_t, 3> sizes, bool open) {
  SymbolicShape shape;
  for (auto [i, size] : llvm::enumerate(sizes))
    shape.push_back(open ? p.symbol("n" + std::to_string(i)) : constantDim(size, p.context()));
  return shape;
}

TEST(Schedules, ReductionsOfEveryWidthAndAxis) {
  for (int64_t width : widths())
    for (bool open : {false, true}) {
      if (open && width != widths().front())
        continue;
      CompiledProgram p;
      SymbolicShape shape = imageShape(p, {6, width, 70}, open),
                    turned{shape[0], shape[2], shape[1]};
      for (ReduceKind kind :
           {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min, ReduceKind::Prod, ReduceKind::Mean})
        for (const SymbolicShape &each : {shape, turned})
          for (SmallVector<int64_t> axes :
               {SmallVector<int64_t>{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}}) {
            p.output(p.reduce(kind, p.symbolicInput(each), axes));
            p.output(p.exp(p.reduce(kind, p.exp(p.symbolicInput(each)), axes)));
          }
      expectVectors(p, open ? "open" : "width " + std::to_string(width));
    }
}

TEST(Schedules, SoftmaxOverEveryAxis) {
  for (int64_t width : widths())
    for (bool open : {false, true}) {
      if (open && width != widths().front())
        continue;
      CompiledProgram p;
      SymbolicShape shape = imageShape(p, {6, width, 70}, open);
      for (int64_t axis : {0, 1, 2})
        p.output(p.add<hr::SoftmaxOp>(p.symbolicInput(shape), axis, false));
      expectVectors(p, open ? "open" : "width " + std::to_string(width));
    }
}

TEST(Schedules, ReductionsOfEveryType) {
  for (bool open : {false, true}) {
    CompiledProgram p;
    OpBuilder &b = p.builder();
    SymbolicShape shape = imageShape(p, {6, 33, 70}, open);
    for (Type type : {Type(b.getF64Type()), Type(b.getF16Type()), Type(b.getBF16Type()),
                      Type(b.getI8Type()), Type(b.getI32Type()), Type(b.getI64Type())})
      for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min, ReduceKind::Prod})
        for (int64_t axis : {0, 1, 2})
          p.output(p.reduce(kind, p.symbolicInput(shape, type), {axis}));
    expectVectors(p, open ? "open" : "known");
  }
}

/// Where the largest element along an axis is, as front ends write it.
std::string positionOfMaximum(std::array<int64_t, 3> sizes, unsigned axis, bool open) {
  auto type = [&](const std::string &element, bool kept, bool points = false) {
    std::string shape, dims, symbols;
    for (unsigned i = 0, used = 0; i < 3 + points; ++i) {
      unsigned of = i < 3 ? i : axis;
      bool isOne = i == axis && kept, isSymbol = open && !isOne;
      std::string size = isOne ? "1" : std::to_string(sizes[of]);
      dims += (i ? ", " : "") + (isSymbol ? "s" + std::to_string(of) : size);
      shape += (isSymbol ? "?" : size) + "x";
      for (; isSymbol && used <= of; ++used)
        symbols += (used ? ", s" : "s") + std::to_string(used);
    }
    std::string map = "affine_map<()[" + symbols + "] -> (" + dims + ")>";
    if (points)
      return map;
    return "tensor<" + shape + element + (open ? ", " + map : "") + ">";
  };
  std::string along = "(d0, d1, d2, d3) -> (d0, d1, d2)";
  along[along.rfind("d" + std::to_string(axis)) + 1] = '3';
  std::string input = type("f32", false), extremum = type("f32", true), result = type("i64", true);
  return "func.func @main(%x: " + input + ") -> " + result +
         " attributes {hr.symbols = [\"a\", \"b\", \"c\"]} {\n"
         "  %m = hr.reduce max %x axes [" +
         std::to_string(axis) + "] {keep_dims = true} : (" + input + ") -> " + extremum +
         "\n  %p = hr.compute(%x, %m) over " + type("", true, /*points=*/true) +
         " maps [affine_map<" + along +
         ">, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>] "
         "{initial = 9223372036854775807 : i64, reduced = 1 : i64} : (" +
         input + ", " + extremum + ") -> " + result + R"( {
  ^bb0(%value: f32, %largest: f32):
    %isHere = arith.cmpf oeq, %value, %largest : f32
    %index = hr.index 3
    %here = arith.index_cast %index : index to i64
    %nowhere = arith.constant 9223372036854775807 : i64
    %place = arith.select %isHere, %here, %nowhere : i64
    hr.yield %place : i64
  } combine {
  ^bb0(%first: i64, %second: i64):
    %least = arith.minsi %first, %second : i64
    hr.yield %least : i64
  }
  return %p : )" +
         result + "\n}\n";
}

TEST(Schedules, PositionsOfMaximaAlongEveryAxis) {
  for (int64_t width : widths())
    for (bool open : {false, true}) {
      if (open && width != widths().front())
        continue;
      for (unsigned axis : {0, 1, 2}) {
        CompiledProgram p(positionOfMaximum({6, width, 70}, axis, open));
        expectVectors(p, "axis " + std::to_string(axis) +
                             (open ? ", open" : ", width " + std::to_string(width)));
      }
    }
}

TEST(Schedules, PlainLoopsSayWhy) {
  CompiledProgram p;
  p.output(p.reduce(ReduceKind::Max, p.input({5, 64}, p.builder().getI1Type()), {1}));
  OwningOpRef<ModuleOp> scheduled = p.scheduled();
  std::set<std::string> notes;
  for (ModuleOp kernel : scheduled->getOps<ModuleOp>())
    notes.insert(textOf(kernel, kRecipeNotesAttr));
  EXPECT_EQ(notes, std::set<std::string>{"plain loops: booleans are not computed in vectors"});
}

} // namespace
} // namespace headrace
