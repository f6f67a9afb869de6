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
