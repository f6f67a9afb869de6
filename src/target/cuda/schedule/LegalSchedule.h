// Legality of schedules: the conditions that the templates rely on, with reasons in words. They
// hold for the compiler's choices and for a user's recipe.
#pragma once

#include "target/cuda/schedule/Product.h"
#include "target/cuda/schedule/Schedule.h"

namespace headrace::cuda {

/// What schedules depend on of a device.
struct DeviceTraits {
  bool hasWarpgroups = true; // multiplies by warp groups and copies tiles by itself (sm_90a)
  int64_t multiprocessors = 132;
};

/// Why an operation may not be launched so.
struct Unsupported {
  llvm::StringRef parameter; // whose value is not legal; empty: it cannot be of that kind
  std::string reason;        // what was expected
};

/// Nothing if the operation may be launched so, given what else is launched. `hasWarpgroups`:
/// the device multiplies by warp groups and copies tiles by itself (sm_90a).
std::optional<Unsupported> refusalOf(mlir::Operation *op, const Schedule &schedule,
                                     bool hasWarpgroups);

/// `Form`: what is known of an operation that can be of a kind; else why it cannot.
template <class Form> struct FormOrReason {
  FormOrReason(Form form) : form(std::move(form)) {}
  FormOrReason(std::string reason) : reason(std::move(reason)) {}
  FormOrReason(const char *reason) : reason(reason) {}
  explicit operator bool() const { return form.has_value(); }
  const Form *operator->() const { return &*form; }
  const Form &operator*() const { return *form; }

  std::optional<Form> form;
  std::string reason;
};

/// Points: `maxVector` neighbours of the result lie together in all that is read.
struct PointForm {
  int64_t maxVector = 1;
};
FormOrReason<PointForm> pointsOf(mlir::Operation *op);

/// Rows: everything that is reduced on the way is reduced along the last dimension and needed per
/// row, as in softmax, normalizations and sums of rows.
struct RowForm {
  mlir::AffineExpr rows, columns; // how many there are
  int64_t maxVector;
};
FormOrReason<RowForm> rowsOf(mlir::Operation *op);

/// Columns: a reduction of known size of what is in memory.
struct ColumnForm {
  int64_t items = 1, depth = 1; // points of the result, and elements reduced in each
  int64_t maxVector = 1;        // neighbours that are reduced
  bool liesAlong = false;       // elements that are reduced are adjacent
};
FormOrReason<ColumnForm> columnsOf(mlir::Operation *op);

/// Tiles: one tensor is read that lies along another dimension than the result's last.
struct TileForm {
  llvm::SmallVector<int64_t> along; // the dimensions of the result along which it may be
};
FormOrReason<TileForm> tilesOf(mlir::Operation *op);

/// The three kinds of matrix products, with all that follows one.
FormOrReason<FusedProduct> productOnThreads(mlir::Operation *op);
FormOrReason<FusedProduct> productOnTensorCores(mlir::Operation *op);
/// Matrices in memory, or stacks of them, that the copy engine reads.
FormOrReason<FusedProduct> productOnWarpgroups(mlir::Operation *op, bool hasWarpgroups);
std::optional<Unsupported> refusalOfProduct(mlir::Operation *op, const Schedule &schedule,
                                            bool hasWarpgroups);

int64_t elementBytes(mlir::Value tensor);
std::optional<int64_t> constantSize(mlir::AffineExpr expr);
bool isReduction(mlir::Operation *op);

} // namespace headrace::cuda
