#include "transform/Recipe.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace {
namespace {

/// Writes the steps of a recipe. Handles are numbered; every step is one line of text.
class RecipeWriter {
public:
  using Handle = std::string;

  RecipeWriter(const Schedule &schedule, func::FuncOp kernel)
      : schedule(schedule), contents(KernelContents::of(kernel)) {}

  std::string write() {
    text =
        "module attributes {transform.with_named_sequence} {\n"
        "  transform.named_sequence @recipe(%kernel: !transform.any_op {transform.readonly}) {\n";
    switch (schedule.family) {
    case Schedule::Family::Loops:
      writeLoops();
      break;
    case Schedule::Family::Elementwise:
      writeElementwise();
      break;
    case Schedule::Family::Rows:
      writeRows();
      break;
    case Schedule::Family::Tiles:
      writeTiles();
      break;
    case Schedule::Family::Walk:
      writeWalk();
      break;
    }
    text += "    transform.yield\n  }\n}\n";
    return std::move(text);
  }

private:
  //===------------------------------------------------------------------------===//
  // Families
  //===------------------------------------------------------------------------===//

  void writeLoops() {
    if (contents.root)
      intoGrid();
  }

  void writeElementwise() {
    Handle root = intoGrid();
    int64_t rank = contents.rootGeneric().getNumLoops();
    SmallVector<int64_t> tile(rank, 1);
    tile.back() = schedule.vector;
    Handle loop = tileFor(root, tile).back();
    if (schedule.leavesRemainder())
      peel(loop);
    cleanUp();
    vectorize();
  }

  void writeRows() {
    intoGrid();
    cleanUp();
    for (Operation *op : contents.ops) {
      auto generic = dyn_cast<linalg::GenericOp>(op);
      if (!generic || schedule.vector == 0)
        continue;
      int64_t rank = generic.getNumLoops();
      // Values of one element per row need no loop.
      if (!walksRow(generic))
        continue;
      Handle handle = match(kernelOpId(op));
      SmallVector<int64_t> tile(rank, 0);
      tile.back() = schedule.vector;
      if (generic.getNumReductionLoops() > 0) {
        if (schedule.leavesRemainder())
          handle = splitAt(handle, rowLength() - schedule.remainder.back(), rank - 1).first;
        tileReduction(handle, tile);
        continue;
      }
      Handle loop = tileFor(handle, tile).back();
      if (schedule.leavesRemainder())
        peel(loop);
    }
    cleanUp();
    if (schedule.vector)
      vectorize();
  }

  void writeWalk() {
    pass("cpu-walk-rows",
         llvm::formatv("rows={0} vector-bytes={1}", schedule.tile.front(), schedule.vector));
  }

  /// The register tile of the root and, fused, of what it is computed from; then the reduction's
  /// loops inside it, innermost one step at a time.
  void writeTiles() {
    SmallVector<Handle> loops = fuseTile(intoGrid(), schedule.tile);
    if (schedule.leavesRemainder())
      peelRemainders(loops);
    generalizeFills();
    foldUnitDims();

    linalg::GenericOp anchor = contents.reductions.front();
    auto [windows, plain] = reductionKinds(anchor);
    llvm::SmallSetVector<int64_t, 4> parallelRanks = tiledRanks();
    int64_t reductions = windows + plain;
    if (int64_t outer = plain > 0 ? reductions - 1 : reductions; outer > 0) {
      for (int64_t parallel : parallelRanks) {
        SmallVector<int64_t> tile(parallel + reductions, 0);
        for (int64_t i = 0; i < outer; ++i)
          tile[parallel + i] = 1;
        tileFor(matchLoops(parallel, reductions), tile);
      }
      foldUnitDims();
    }
    pass("slice-strided-operands");
    if (plain > 0)
      for (int64_t parallel : parallelRanks) {
        SmallVector<int64_t> tile(parallel + 1, 0);
        tile.back() = 1;
        tileFor(matchLoops(parallel, 1), tile);
      }
    vectorize();
  }

  //===------------------------------------------------------------------------===//
  // Steps
  //===------------------------------------------------------------------------===//

  /// Cuts the root into independent cells and computes there everything it needs.
  Handle intoGrid() {
    Handle root = match(kernelOpId(contents.root));
    if (llvm::all_of(schedule.grid, [](int64_t size) { return size == 0; }))
      return root;
    Handle tiled = fresh(), cells = fresh();
    line("{0}, {1} = transform.structured.tile_using_forall {2} tile_sizes {3} : "
         "(!transform.any_op) -> (!transform.any_op, !transform.any_op)",
         tiled, cells, root, list(schedule.grid));
    for (Operation *op : llvm::reverse(contents.ops)) {
      if (op == contents.root)
        continue;
      Handle producer = match(kernelOpId(op)), fused = fresh(), next = fresh();
      line("{0}, {1} = transform.structured.fuse_into_containing_op {2} into {3} : "
           "(!transform.any_op, !transform.any_op) -> (!transform.any_op, !transform.any_op)",
           fused, next, producer, cells);
      cells = next;
    }
    return tiled;
  }

  SmallVector<Handle> tileFor(const Handle &op, ArrayRef<int64_t> sizes) {
    int64_t loops = llvm::count_if(sizes, [](int64_t size) { return size != 0; });
    if (loops == 0)
      return {};
    Handle tiled = fresh(), nest = fresh();
    line("{0}, {1}:{2} = transform.structured.tile_using_for {3} tile_sizes {4} : "
         "(!transform.any_op) -> ({5})",
         tiled, nest, loops, op, list(sizes), anyOps(loops + 1));
    return nestHandles(nest, loops);
  }

  /// Separates partial tiles from whole ones, innermost loop first: what it leaves over is peeled
  /// again with the loops around it.
  void peelRemainders(ArrayRef<Handle> loops) {
    SmallVector<int64_t> tiled;
    for (int64_t dim : schedule.order)
      if (schedule.tile[dim] != 0)
        tiled.push_back(dim);
    for (int64_t position = static_cast<int64_t>(tiled.size()) - 1; position >= 0; --position) {
      int64_t remainder = schedule.remainderOf(tiled[position]);
      if (remainder == 0)
        continue;
      Handle rest = peel(loops[position]);
      if (remainder == Schedule::kUnknownRemainder)
        oneByOne(rest, tiled[position]);
    }
    cleanUp();
  }

  /// What is left over in a dimension of unknown size is computed an element at a time.
  void oneByOne(const Handle &rest, int64_t dim) {
    Handle root = fresh();
    line("{0} = transform.structured.match attributes{{hr.id = {1} : i64} in {2} : "
         "(!transform.any_op) -> !transform.any_op",
         root, kernelOpId(contents.root), rest);
    SmallVector<int64_t> single(schedule.tile.size(), 0);
    single[dim] = 1;
    fuseTile(root, single);
  }

  SmallVector<Handle> fuseTile(const Handle &op, ArrayRef<int64_t> sizes) {
    int64_t loops = llvm::count_if(sizes, [](int64_t size) { return size != 0; });
    Handle tiled = fresh(), nest = fresh();
    line("{0}, {1}:{2} = transform.structured.fuse {3} {4} interchange {5} : "
         "(!transform.any_op) -> ({6})",
         tiled, nest, loops, op, list(sizes), list(schedule.order), anyOps(loops + 1));
    return nestHandles(nest, loops);
  }

  void tileReduction(const Handle &op, ArrayRef<int64_t> sizes) {
    Handle a = fresh(), b = fresh(), c = fresh(), d = fresh();
    line("{0}, {1}, {2}, {3} = transform.structured.tile_reduction_using_for {4} by tile_sizes = "
         "{5} : (!transform.any_op) -> ({6})",
         a, b, c, d, op, list(sizes), anyOps(4));
  }

  std::pair<Handle, Handle> splitAt(const Handle &op, int64_t point, int64_t dimension) {
    Handle low = fresh(), high = fresh();
    line("{0}, {1} = transform.structured.split {2} after {3} {{dimension = {4}} : "
         "!transform.any_op",
         low, high, op, point, dimension);
    return {low, high};
  }

  Handle peel(const Handle &loop) {
    Handle cast = fresh(), main = fresh(), rest = fresh();
    line("{0} = transform.cast {1} : !transform.any_op to !transform.op<\"scf.for\">", cast, loop);
    line("{0}, {1} = transform.loop.peel {2} : (!transform.op<\"scf.for\">) -> (!transform.any_op, "
         "!transform.any_op)",
         main, rest, cast);
    return rest;
  }

  void generalizeFills() {
    Handle fills = fresh(), generics = fresh();
    line("{0} = transform.structured.match ops{{[\"linalg.fill\"]} in %kernel : "
         "(!transform.any_op) -> !transform.any_op",
         fills);
    line("{0} = transform.structured.generalize {1} : (!transform.any_op) -> !transform.any_op",
         generics, fills);
  }

  void foldUnitDims() {
    applyPatterns({"linalg.fold_unit_extent_dims_via_slices",
                   "tensor.merge_consecutive_insert_extract_slice", "canonicalization"});
  }

  void cleanUp() {
    applyPatterns({"scf.for_loop_canonicalization", "canonicalization", "tensor.fold_tensor_empty",
                   "tensor.merge_consecutive_insert_extract_slice"});
  }

  void applyPatterns(ArrayRef<StringRef> patterns) {
    Handle func = function();
    text += llvm::formatv("    transform.apply_patterns to {0} {{\n", func).str();
    for (StringRef pattern : patterns)
      text += llvm::formatv("      transform.apply_patterns.{0}\n", pattern).str();
    text += "    } : !transform.any_op\n";
    line("transform.apply_cse to {0} : !transform.any_op", func);
  }

  void vectorize() {
    Handle func = function(), done = fresh();
    line("{0} = transform.structured.vectorize_children_and_apply_patterns {1} "
         "{{disable_multi_reduction_to_contract_patterns} : (!transform.any_op) -> "
         "!transform.any_op",
         done, func);
  }

  void pass(StringRef name, const std::string &options = "") {
    Handle func = function(), done = fresh();
    std::string given = options.empty() ? "" : " {options = \"" + options + "\"}";
    line("{0} = transform.apply_registered_pass \"{1}\" to {2}{3} : (!transform.any_op) -> "
         "!transform.any_op",
         done, name, func, given);
  }

  Handle match(int64_t id) {
    Handle handle = fresh();
    line("{0} = transform.structured.match attributes{{hr.id = {1} : i64} in %kernel : "
         "(!transform.any_op) -> !transform.any_op",
         handle, id);
    return handle;
  }

  /// Loops that are left after unit dimensions were folded have lost their number.
  Handle matchLoops(int64_t parallel, int64_t reductions) {
    Handle handle = fresh();
    SmallVector<StringRef> kinds(parallel, "#linalg.iterator_type<parallel>");
    kinds.append(reductions, "#linalg.iterator_type<reduction>");
    line("{0} = transform.structured.match ops{{[\"linalg.generic\"]} attributes{{iterator_types = "
         "[{1}]} in %kernel : (!transform.any_op) -> !transform.any_op",
         handle, llvm::join(kinds, ", "));
    return handle;
  }

  Handle function() {
    Handle handle = fresh();
    line("{0} = transform.structured.match ops{{[\"func.func\"]} in %kernel : (!transform.any_op) "
         "-> !transform.any_op",
         handle);
    return handle;
  }

  //===------------------------------------------------------------------------===//
  // What the kernel looks like
  //===------------------------------------------------------------------------===//

  /// Windows slide (their dimension is read together with another); plain reductions do not.
  static std::pair<int64_t, int64_t> reductionKinds(linalg::GenericOp op) {
    int64_t windows = 0, plain = 0;
    SmallVector<unsigned> dims;
    op.getReductionDims(dims);
    for (unsigned dim : dims) {
      bool slides = llvm::any_of(op.getIndexingMapsArray(), [&](AffineMap map) {
        return llvm::any_of(map.getResults(), [&](AffineExpr expr) {
          return !isa<AffineDimExpr>(expr) && expr.isFunctionOfDim(dim);
        });
      });
      (slides ? windows : plain) += 1;
    }
    return {windows, plain};
  }

  /// How many dimensions larger than one a register tile keeps, for whole tiles and for every
  /// combination of partial ones.
  llvm::SmallSetVector<int64_t, 4> tiledRanks() const {
    SmallVector<SmallVector<int64_t>> tiles{schedule.tile};
    for (size_t dim = 0; dim < schedule.tile.size(); ++dim)
      if (int64_t remainder = schedule.remainderOf(dim)) {
        SmallVector<SmallVector<int64_t>> partial = tiles;
        for (SmallVector<int64_t> &tile : partial)
          tile[dim] = remainder == Schedule::kUnknownRemainder ? 1 : remainder;
        tiles.append(partial);
      }
    SmallVector<int64_t> ranges = contents.rootGeneric().getStaticLoopRanges();
    SmallVector<utils::IteratorType> iterators = contents.rootGeneric().getIteratorTypesArray();
    llvm::SmallSetVector<int64_t, 4> ranks;
    for (ArrayRef<int64_t> tile : tiles) {
      int64_t rank = 0;
      for (size_t dim = 0; dim < tile.size(); ++dim)
        rank += iterators[dim] == utils::IteratorType::parallel &&
                (tile[dim] == 0 ? ranges[dim] : tile[dim]) != 1;
      ranks.insert(rank);
    }
    return ranks;
  }

  /// Whether the operation walks the last dimension of the root.
  bool walksRow(linalg::GenericOp op) const {
    SmallVector<int64_t> ranges = contents.rootGeneric().getStaticLoopRanges();
    return op.getNumLoops() > 0 && op.getStaticLoopRanges().back() == rowLength() &&
           (op.getNumLoops() >= ranges.size() || op.getNumReductionLoops() > 0);
  }

  int64_t rowLength() const {
    if (!contents.reductions.empty()) {
      auto reduction = contents.reductions.front();
      return reduction.getStaticLoopRanges().back();
    }
    return contents.rootGeneric().getStaticLoopRanges().back();
  }

  //===------------------------------------------------------------------------===//
  // Text
  //===------------------------------------------------------------------------===//

  template <class... Args> void line(const char *format, Args &&...args) {
    text += "    " + llvm::formatv(format, std::forward<Args>(args)...).str() + "\n";
  }
  Handle fresh() { return "%" + std::to_string(next++); }
  static std::string list(ArrayRef<int64_t> values) {
    std::string result;
    llvm::raw_string_ostream os(result);
    os << "[";
    llvm::interleaveComma(values, os);
    os << "]";
    return result;
  }
  static std::string anyOps(int64_t count) {
    SmallVector<StringRef> types(count, "!transform.any_op");
    return llvm::join(types, ", ");
  }
  static SmallVector<Handle> nestHandles(const Handle &nest, int64_t loops) {
    SmallVector<Handle> handles;
    for (int64_t i = 0; i < loops; ++i)
      handles.push_back(nest + "#" + std::to_string(i));
    return handles;
  }

  const Schedule &schedule;
  KernelContents contents;
  std::string text;
  int next = 0;
};

} // namespace

std::string recipeText(const Schedule &schedule, func::FuncOp kernel) {
  return RecipeWriter(schedule, kernel).write();
}

} // namespace headrace
