// Common part of all products by threads: tiles of the operands on their way from memory to
// registers to shared memory, the loop over the depth (k), and the points of the result.
//
// Two buffers in shared memory, so that there is one barrier per tile. If a side is not a multiple
// of the tile, its last tile begins earlier, so that it ends with the side; it does not store
// elements that another tile stores. If a side is shorter than a tile, or of unknown size, its
// last row or column is computed again and dropped. Zeros fill up the depth: if it is known, in
// the first tile, so that the loop reads without asking. A convolution is the same with loops of
// the window in k: the image is read where it is.
//
// Split-K (`splits`): if there are few tiles, several blocks share the depth of each. They leave
// partial sums in the workspace, which a second launch accumulates in order, with all that follows
// the product.
#pragma once

#include "target/cuda/schedule/Product.h"
#include "target/cuda/write/Templates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace headrace::cuda {

class ProductTiles {
public:
  mlir::LogicalResult write();

protected:
  /// `vector`: elements that a thread loads at once.
  ProductTiles(Stage &stage, const FusedProduct &fused, int64_t vector);
  virtual ~ProductTiles() = default;

  /// One of the two operands: how threads bring its tiles into shared memory.
  struct Side {
    mlir::OpOperand *operand;
    llvm::ArrayRef<unsigned> outer; // loops: m of A, n of B
    int64_t tile;                   // outer elements of a tile
    bool alongK;                    // neighbours in memory are neighbours in k
    bool mayExceed;                 // tiles reach beyond the edge
    bool inVectors;                 // neighbours along the vector are neighbours in memory
    int64_t stride = 0;             // of rows in shared memory, in elements
    mlir::Value shared;
    /// For each load, its place in the tile and the loops of the outer positions, none of them
    /// beyond the edge: those of the vector's beginning, or of each lane if an edge may cut it.
    struct Load {
      mlir::Value outerInTile, kInTile; // of the first load
      int64_t outerStep, kStep;         // further on from there
      Point outerLoops;
      llvm::SmallVector<Point> laneLoops;
    };
    llvm::SmallVector<Load> places;
  };

  /// Allocates the two buffers of a side.
  virtual void allocate(Side &side) = 0;
  /// Registers to shared memory.
  virtual void store(Side &side, mlir::Value buffer, llvm::ArrayRef<Pack> packs) = 0;
  virtual llvm::SmallVector<mlir::Value> zeroSums() = 0;
  /// The sums with the products of the tiles in a buffer.
  virtual llvm::SmallVector<mlir::Value> multiply(mlir::Value buffer,
                                                  llvm::SmallVector<mlir::Value> sums) = 0;
  virtual void storeResult(llvm::ArrayRef<mlir::Value> sums) = 0;
  /// An element as it is held between memory and shared memory.
  virtual mlir::Value converted(mlir::Value element) = 0;

  /// Stores `values`, neighbouring columns of a row, with all that follows the product. Without
  /// room for vectors at the edge they are stored one by one.
  void storePoints(mlir::Value row, mlir::Value column, llvm::ArrayRef<mlir::Value> values);

  mlir::Value number(int64_t value) { return kernel.number(value); }
  mlir::Value add(mlir::Value x, mlir::Value y) { return b.create<mlir::arith::AddIOp>(loc, x, y); }
  mlir::Value mul(mlir::Value x, int64_t y) {
    return b.create<mlir::arith::MulIOp>(loc, x, number(y));
  }
  mlir::Value div(mlir::Value x, int64_t y) {
    return b.create<mlir::arith::DivUIOp>(loc, x, number(y));
  }
  mlir::Value rem(mlir::Value x, int64_t y) {
    return b.create<mlir::arith::RemUIOp>(loc, x, number(y));
  }
  mlir::Value less(mlir::Value x, mlir::Value y) {
    return b.create<mlir::arith::CmpIOp>(loc, mlir::arith::CmpIPredicate::ult, x, y);
  }
  /// The address of an element, and of one further on.
  mlir::Value elementAt(mlir::Value base, mlir::Type type, mlir::Value index);
  mlir::Value elementAt(mlir::Value base, mlir::Type type, int64_t index);
  mlir::Value lane(mlir::Value vector, int64_t which);
  mlir::Value vectorOf(llvm::ArrayRef<mlir::Value> values);

  Stage &stage;
  const Schedule &schedule;
  FusedProduct fused;
  Product &product;
  int64_t vector;
  KernelWriter kernel;
  PointWriter points;
  mlir::OpBuilder &b;
  mlir::Location loc;
  Side sides[2];
  mlir::Value firstRow, firstColumn; // of the block's tile

private:
  bool dividesLast(llvm::ArrayRef<unsigned> loops, int64_t by);
  bool dividesAll(llvm::ArrayRef<unsigned> loops, int64_t by);
  /// Where a side's tile of that number begins.
  mlir::Value beginOf(const Side &side, mlir::AffineExpr tile);
  llvm::SmallVector<mlir::AffineExpr> sizesOf(llvm::ArrayRef<unsigned> loops);
  /// The loops' positions at a linear index, clamped so that it and `width` - 1 more exist.
  Point positions(llvm::ArrayRef<unsigned> loops, mlir::AffineExpr index, int64_t width,
                  bool mayExceed);
  void prepare(Side &side, mlir::Value firstOuter);
  /// The tile of an operand that begins at `firstK` into registers, with zeros from `bound` on.
  llvm::SmallVector<Pack> load(Side &side, mlir::Value firstK, mlir::AffineExpr bound);
  Pack read(Side &side, llvm::ArrayRef<mlir::AffineExpr> outer,
            llvm::ArrayRef<mlir::AffineExpr> depth, mlir::AffineExpr lanes);
  void storeAt(mlir::Value row, mlir::Value column, llvm::ArrayRef<mlir::Value> values);
  void storeElements(Point loops, llvm::ArrayRef<mlir::Value> values);
  void addPartialSums();
  int64_t residentBlocks();
  llvm::SmallVector<mlir::Value> multiplyAll();

  Point batch;
  int64_t leftOver = 0;   // of the depth, in the first tile
  Pack current;           // the product's elements that are being stored
  mlir::AffineExpr split; // which part of the depth the block has
  TensorMemory partial;   // [splits, result of the product]
};

} // namespace headrace::cuda
