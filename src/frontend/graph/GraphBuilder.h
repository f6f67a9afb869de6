// Writes a level-1 program operator by operator, for whoever walks the graph of another framework.
// Tensors and sizes are handles into the builder; no MLIR header.
#pragma once

#include "runtime/tensor/DType.h"
#include "runtime/tensor/Tensor.h"

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace mlir {
class MLIRContext;
class ModuleOp;
template <typename OpTy> class OwningOpRef;
} // namespace mlir

namespace headrace::graph {

/// A tensor of the program that is being built.
struct Node {
  size_t index;
};
/// A size that depends on symbols.
struct OpenSize {
  size_t index;
};
using Size = std::variant<int64_t, OpenSize>;

/// A vector without access beyond its end: such an access throws std::out_of_range. Calls that
/// contradict themselves, as a file may contain them, end there.
template <typename T> class Checked : public std::vector<T> {
public:
  using std::vector<T>::vector;
  Checked(std::vector<T> elements) : std::vector<T>(std::move(elements)) {}
  T &operator[](size_t i) { return this->at(i); }
  const T &operator[](size_t i) const { return this->at(i); }
  T &front() { return this->at(0); }
  const T &front() const { return this->at(0); }
  T &back() { return this->at(this->size() - 1); }
  const T &back() const { return this->at(this->size() - 1); }
  Checked first(size_t count) const { return part(0, count); }
  Checked last(size_t count) const { return part(this->size() - count, count); }
  Checked from(size_t start) const { return part(start, this->size() - start); }

private:
  Checked part(size_t start, size_t count) const {
    if (start > this->size() || count > this->size() - start)
      throw std::out_of_range("part of a list");
    return Checked(this->begin() + start, this->begin() + start + count);
  }
};
using Sizes = Checked<Size>;
using Integers = Checked<int64_t>;

/// How a window moves over an image: one number per spatial dimension; the pads are all low ones,
/// then all high ones.
struct Window {
  Integers strides, dilations, pads;
};

/// A mistake is an Error that names the node given by `at`.
class GraphBuilder {
public:
  GraphBuilder(std::shared_ptr<mlir::MLIRContext> context, std::string name);
  ~GraphBuilder();
  GraphBuilder(const GraphBuilder &) = delete;

  const std::string &name() const;
  const std::shared_ptr<mlir::MLIRContext> &context() const;
  /// The user's name of what the next operators belong to, for messages and reports.
  void at(const std::string &node);

  // Sizes
  /// `expected`: what it will be, about; 0 if that is not known.
  OpenSize symbol(const std::string &name, int64_t expected = 0);
  /// Restricts the program to values of at least, or at most, the limit.
  void bound(OpenSize size, int64_t limit, bool isLow);
  /// "add", "sub", "mul", "floordiv", "ceildiv", "mod" of two sizes.
  Size arithmetic(const std::string &function, const Size &a, const Size &b);
  /// Whether the expression is negative for all sizes that the program serves.
  bool isNegative(const Size &size);

  // The program's face
  Node input(const std::string &name, DType type, const Sizes &sizes);
  void output(const std::string &name, Node node);
  /// The tensor's memory is used in place.
  Node constant(const Tensor &tensor);
  Node scalar(double value, DType type);
  /// A size to compute with.
  Node sizeAsData(const Size &size, DType type);
  Sizes shape(Node node) const;
  DType dtype(Node node) const;

  // Operators
  /// A function of scalars by name (see Formulas.h), over operands that broadcast.
  Node elementwise(const std::string &function, const std::vector<Node> &operands);
  Node cast(Node x, DType type);
  Node detach(Node x);
  Node reshape(Node x, const Sizes &sizes);
  Node broadcast(Node x, const Sizes &sizes);
  Node transpose(Node x, const Integers &permutation);
  Node slice(Node x, const Sizes &starts, const Sizes &sizes, const Integers &steps);
  Node concat(const std::vector<Node> &parts, int64_t axis);
  Node pad(Node x, const Integers &low, const Integers &high, double value);
  /// Negative indices count from the end if `fromEnd` says so. An index that does not exist is
  /// an error when the program runs.
  Node gather(Node data, Node indices, int64_t axis, bool fromEnd);
  /// The numbers of classes, each in [0, classes) or `ignored`; another one is an error when the
  /// program runs.
  Node targets(Node x, const Size &classes, int64_t ignored);
  /// The indices, as they are. One outside of [0, size), or of [-size, size) if `fromEnd` says so,
  /// is an error when the program runs.
  Node checkedIndices(Node indices, const Size &size, bool fromEnd);
  /// The rows `updates` [outer, T, inner] put into `data` [outer, size, inner] where `indices` [T]
  /// say: added ("sum"), multiplied, compared, or instead of the data's own (no kind).
  Node scatter(Node updates, Node indices, Node data, const std::string &kind);
  /// Zeros with the elements of `x` at every `steps`-th position from `starts` on.
  Node place(Node x, const Integers &starts, const Sizes &sizes, const Integers &steps);
  /// The positions of the first `count` elements along an axis, in order; equal ones keep theirs.
  Node sort(Node x, int64_t axis, bool descending, const Size &count);
  /// Cumulative "sum" or "prod".
  Node scan(const std::string &kind, Node x, int64_t axis, bool exclusive, bool reverse);
  /// "sum", "mean", "max", "min", "prod".
  Node reduce(const std::string &kind, Node x, const Integers &axes, bool keepDims);
  Node softmax(Node x, int64_t axis, bool log);
  Node layerNorm(Node x, Node scale, std::optional<Node> bias, int64_t axis, double epsilon);
  /// Normalizes the channels (dimension 1) by given statistics.
  Node batchNorm(Node x, Node scale, Node bias, Node mean, Node variance, double epsilon);
  /// softmax(scale * query * key^T + bias) * value, for matrices with equal leading dimensions;
  /// `causal`: query i sees keys up to i; `zeroMasked`: one that sees none gets 0, not NaN.
  Node attention(Node query, Node key, Node value, std::optional<Node> bias, double scale,
                 bool causal, bool zeroMasked);
  Node matrixProduct(Node a, Node b);
  /// A contraction such as "mk,nk->mn".
  Node contract(const std::string &equation, Node a, Node b);
  /// Channels in dimension 1 of image and filter.
  Node convolution(Node image, Node filter, const Window &window, int64_t groups);
  /// "max", "average", "sum" over windows of this size.
  Node pool(const std::string &kind, Node image, const Integers &size, const Window &window,
            bool includePad);

  /// The program; the builder is empty afterwards.
  mlir::OwningOpRef<mlir::ModuleOp> finish();

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace headrace::graph
