#include "dialect/reference/KernelEvaluator.h"

#include "dialect/ConstantData.h"
#include "dialect/reference/ScalarBody.h"
#include "runtime/system/Interruption.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cstring>
#include <limits>

using namespace mlir;
using utils::IteratorType;

namespace headrace::reference {

namespace {

constexpr int64_t pointsAtOnce = 4096;

Type elementOf(Value value) { return getElementTypeOrSelf(value.getType()); }

/// Memory in which nothing is computed yet.
Tensor emptyTensor(Type element, Shape shape) {
  Tensor tensor = Tensor::allocate(wideType(element), std::move(shape));
  withElement(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T unset = std::is_same_v<T, double> ? T(std::numeric_limits<double>::quiet_NaN()) : T(0x5a);
    std::fill_n(tensor.as<T>(), tensor.elements(), unset);
  });
  return tensor;
}

Tensor copyOf(const Tensor &tensor) {
  Tensor copy = Tensor::allocate(tensor.dtype(), tensor.shape());
  if (tensor.bytes() > 0)
    std::memcpy(copy.data(), tensor.data(), tensor.bytes());
  return copy;
}

/// Evaluates the operations of a kernel one by one. Tensors that loops write to are changed in
/// place; any other value is new.
class KernelEvaluator final : OuterValues {
public:
  KernelEvaluator(std::string kernel, Sizes symbols)
      : kernel(std::move(kernel)), symbols(symbols) {}

  std::vector<Tensor> run(Block &body, Tensors inputs) {
    for (auto [argument, input] : llvm::zip_equal(body.getArguments(), inputs))
      tensors[argument] = input;
    runOperations(body);
    std::vector<Tensor> results;
    for (Value value : body.getTerminator()->getOperands())
      results.push_back(tensor(value));
    return results;
  }

private:
  const Lanes &scalar(Value value) const override {
    auto found = scalars.find(value);
    if (found == scalars.end())
      throw InternalError("kernel '" + kernel + "' reads a scalar before it is computed");
    return found->second;
  }

  const Tensor &tensor(Value value) const override {
    auto found = tensors.find(value);
    if (found == tensors.end())
      throw InternalError("kernel '" + kernel + "' reads a tensor before it is computed");
    return found->second;
  }

  int64_t index(OpFoldResult value) const {
    if (auto attribute = dyn_cast<Attribute>(value))
      return cast<IntegerAttr>(attribute).getInt();
    return scalar(cast<Value>(value)).integers.front();
  }
  SmallVector<int64_t> indices(ArrayRef<OpFoldResult> values) const {
    return llvm::map_to_vector(values, [&](OpFoldResult value) { return index(value); });
  }

  void setIndex(Value value, int64_t number) { scalars[value] = Lanes{{}, {number}}; }

  /// A loop's value or its initial one, which is a tensor or a scalar.
  void copyValue(Value from, Value to) {
    if (isa<RankedTensorType>(to.getType()))
      tensors[to] = Tensor(tensor(from));
    else
      scalars[to] = Lanes(scalar(from));
  }

  void runOperations(Block &block) {
    for (Operation &op : block.without_terminator()) {
      pollInterruption();
      runOperation(&op);
    }
  }

  void runOperation(Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](linalg::LinalgOp each) { runLinalg(each); })
        .Case([&](scf::ForOp loop) { runLoop(loop); })
        .Case([&](scf::ForallOp loop) { runLoop(loop); })
        .Case([&](tensor::EmptyOp empty) {
          SmallVector<int64_t> sizes = indices(empty.getMixedSizes());
          tensors[empty] = emptyTensor(elementOf(empty), Shape(sizes.begin(), sizes.end()));
        })
        .Case([&](tensor::ExtractSliceOp slice) { tensors[slice] = extracted(slice); })
        .Case([&](tensor::InsertSliceOp insert) {
          Tensor whole = copyOf(tensor(insert.getDest()));
          writePart(insert, whole);
          tensors[insert] = std::move(whole);
        })
        .Case([&](tensor::PadOp pad) { tensors[pad] = padded(pad); })
        .Case([&](tensor::DimOp dim) {
          setIndex(dim, tensor(dim.getSource()).shape().at(index(dim.getDimension())));
        })
        .Case([&](tensor::CastOp cast) { tensors[cast] = Tensor(tensor(cast.getSource())); })
        .Case([&](tensor::ExpandShapeOp expand) {
          Builder builder(expand.getContext());
          SmallVector<int64_t> sizes = indices(
              getMixedValues(expand.getStaticOutputShape(), expand.getOutputShape(), builder));
          tensors[expand] = tensor(expand.getSrc()).reshaped(Shape(sizes.begin(), sizes.end()));
        })
        .Case([&](tensor::CollapseShapeOp collapse) {
          const Tensor &source = tensor(collapse.getSrc());
          Shape shape;
          for (const ReassociationIndices &group : collapse.getReassociationIndices()) {
            shape.push_back(1);
            for (int64_t dim : group)
              shape.back() *= source.shape()[dim];
          }
          tensors[collapse] = source.reshaped(shape);
        })
        .Case([&](arith::ConstantOp constant) {
          if (auto elements = dyn_cast<ElementsAttr>(constant.getValue()))
            tensors[constant] = widened(constantTensor(elements), elementOf(constant));
          else
            scalars[constant] = evaluateScalar(op, symbols, *this);
        })
        .Default([&](Operation *other) {
          if (other->getNumResults() != 1 || isa<ShapedType>(other->getResult(0).getType()))
            throw InternalError("the reference has no operation " +
                                other->getName().getStringRef().str() + " of kernels");
          scalars[other->getResult(0)] = evaluateScalar(other, symbols, *this);
        });
  }

  // Structured operations

  void runLinalg(linalg::LinalgOp op) {
    SmallVector<int64_t> shapes;
    for (OpOperand &operand : op->getOpOperands())
      if (isa<RankedTensorType>(operand.get().getType()))
        llvm::append_range(shapes, tensor(operand.get()).shape());
    SmallVector<int64_t> sizes = op.getShapesToLoopsMap().compose(shapes);
    std::vector<Tensor> results;
    for (Value init : op.getDpsInits())
      results.push_back(copyOf(tensor(init)));
    SmallVector<unsigned> parallel, reduced;
    for (auto [i, kind] : llvm::enumerate(op.getIteratorTypesArray()))
      (kind == IteratorType::parallel ? parallel : reduced).push_back(i);
    if (!llvm::is_contained(sizes, 0)) {
      auto sizesOf = [&](ArrayRef<unsigned> dims) {
        return llvm::map_to_vector(dims, [&](unsigned dim) { return sizes[dim]; });
      };
      SmallVector<int64_t> outer = sizesOf(parallel), inner = sizesOf(reduced);
      std::vector<Lanes> positions(sizes.size());
      for (int64_t begin = 0; begin < product(outer); begin += pointsAtOnce) {
        int64_t count = std::min(pointsAtOnce, product(outer) - begin);
        setPositions(positions, parallel, outer, begin, count);
        SmallVector<int64_t> point(inner.size(), 0);
        do {
          pollInterruption();
          for (auto [dim, position] : llvm::zip_equal(reduced, point))
            positions[dim].integers.assign(count, position);
          runPoints(op, positions, count, results);
        } while (advance(point, inner));
      }
    }
    for (auto [result, value] : llvm::zip_equal(op->getResults(), results))
      tensors[result] = std::move(value);
  }

  /// Points of the iteration domain that do not depend on each other.
  void runPoints(linalg::LinalgOp op, const std::vector<Lanes> &positions, int64_t count,
                 std::vector<Tensor> &results) {
    auto places = [&](OpOperand &operand, const Tensor &of) {
      return placesAt(op.getMatchingIndexingMap(&operand), positions, count, of.shape(),
                      "kernel '" + kernel + "'");
    };
    std::vector<Lanes> arguments;
    for (OpOperand *operand : op.getDpsInputOperands()) {
      Value value = operand->get();
      if (!op.payloadUsesValueFromOperand(operand))
        arguments.emplace_back();
      else if (isa<RankedTensorType>(value.getType()))
        arguments.push_back(
            gatherLanes(tensor(value), elementOf(value), places(*operand, tensor(value))));
      else
        arguments.push_back(repeated(scalar(value), count));
    }
    std::vector<std::vector<int64_t>> written;
    for (auto [init, result] : llvm::zip_equal(op.getDpsInitsMutable(), results)) {
      written.push_back(places(init, result));
      arguments.push_back(gatherLanes(result, elementOf(init.get()), written.back()));
    }
    BodySurroundings surroundings{positions, {}, this};
    std::vector<Lanes> yielded =
        evaluateYields(*op.getBlock(), std::move(arguments), count, symbols, surroundings);
    for (auto [i, init] : llvm::enumerate(op.getDpsInits()))
      scatterLanes(yielded[i], elementOf(init), results[i], written[i]);
  }

  static Lanes repeated(const Lanes &one, int64_t count) {
    Lanes all;
    if (!one.floats.empty())
      all.floats.assign(count, one.floats.front());
    if (!one.integers.empty())
      all.integers.assign(count, one.integers.front());
    return all;
  }

  // Loops

  void runLoop(scf::ForOp loop) {
    for (auto [argument, init] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs()))
      copyValue(init, argument);
    int64_t end = index(loop.getUpperBound()), step = index(loop.getStep());
    for (int64_t i = index(loop.getLowerBound()); i < end; i += step) {
      setIndex(loop.getInductionVar(), i);
      runOperations(*loop.getBody());
      // All yielded values are read before an argument changes.
      SmallVector<Value> yielded(loop.getBody()->getTerminator()->getOperands());
      DenseMap<Value, Tensor> nextTensors;
      DenseMap<Value, Lanes> nextScalars;
      for (auto [argument, value] : llvm::zip_equal(loop.getRegionIterArgs(), yielded)) {
        if (isa<RankedTensorType>(argument.getType()))
          nextTensors[argument] = tensor(value);
        else
          nextScalars[argument] = scalar(value);
      }
      for (auto &[argument, value] : nextTensors)
        tensors[argument] = value;
      for (auto &[argument, value] : nextScalars)
        scalars[argument] = value;
    }
    for (auto [result, argument] : llvm::zip_equal(loop.getResults(), loop.getRegionIterArgs()))
      copyValue(argument, result);
  }

  /// Iterations write parts of their own, so that any order gives the same result.
  void runLoop(scf::ForallOp loop) {
    SmallVector<int64_t> low = indices(loop.getMixedLowerBound()),
                         high = indices(loop.getMixedUpperBound()),
                         step = indices(loop.getMixedStep());
    SmallVector<int64_t> counts;
    for (size_t i = 0; i < low.size(); ++i)
      counts.push_back(std::max<int64_t>(0, llvm::divideCeilSigned(high[i] - low[i], step[i])));
    for (auto [argument, output] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getOutputs()))
      tensors[argument] = copyOf(tensor(output));
    SmallVector<int64_t> point(counts.size(), 0);
    if (!llvm::is_contained(counts, 0))
      do {
        for (auto [i, variable] : llvm::enumerate(loop.getInductionVars()))
          setIndex(variable, low[i] + point[i] * step[i]);
        runOperations(*loop.getBody());
        for (Operation &each : loop.getTerminator().getYieldingOps()) {
          auto insert = cast<tensor::ParallelInsertSliceOp>(each);
          writePart(insert, tensors[insert.getDest()]);
        }
      } while (advance(point, counts));
    for (auto [result, argument] : llvm::zip_equal(loop.getResults(), loop.getRegionIterArgs()))
      tensors[result] = Tensor(tensor(argument));
  }

  // Parts of tensors

  /// The part that a slice reads or writes; its sizes are those before dimensions of size 1 are
  /// dropped.
  template <class Slice>
  Placement placementOf(Slice slice, const Tensor &whole, SmallVectorImpl<int64_t> &sizes) const {
    Placement placement;
    sizes = indices(slice.getMixedSizes());
    SmallVector<int64_t> offsets = indices(slice.getMixedOffsets()),
                         steps = indices(slice.getMixedStrides()),
                         strides = rowMajorStrides(whole.shape());
    for (size_t i = 0; i < sizes.size(); ++i) {
      int64_t last = offsets[i] + (sizes[i] - 1) * steps[i];
      if (offsets[i] < 0 || (sizes[i] > 0 && (last < 0 || last >= whole.shape()[i])))
        throw InternalError("kernel '" + kernel + "' takes elements " + std::to_string(offsets[i]) +
                            " to " + std::to_string(last) + " of a dimension of size " +
                            std::to_string(whole.shape()[i]));
      placement.offset += offsets[i] * strides[i];
      placement.strides.push_back(steps[i] * strides[i]);
    }
    return placement;
  }

  Tensor extracted(tensor::ExtractSliceOp slice) {
    const Tensor &whole = tensor(slice.getSource());
    SmallVector<int64_t> sizes;
    Placement place = placementOf(slice, whole, sizes);
    Tensor part = Tensor::allocate(whole.dtype(), Shape(sizes.begin(), sizes.end()));
    copyBlock(sizes, whole, place, part, {0, rowMajorStrides(sizes)});
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    Shape shape;
    for (auto [dim, size] : llvm::enumerate(sizes))
      if (!dropped.test(dim))
        shape.push_back(size);
    return part.reshaped(shape);
  }

  template <class Insert> void writePart(Insert insert, Tensor &whole) {
    SmallVector<int64_t> sizes;
    Placement place = placementOf(insert, whole, sizes);
    const Tensor &part = tensor(insert.getSource());
    if (part.elements() != product(sizes))
      throw InternalError("kernel '" + kernel + "' inserts " + shapeString(part.shape()) + " for " +
                          shapeString(Shape(sizes.begin(), sizes.end())));
    copyBlock(sizes, part, {0, rowMajorStrides(sizes)}, whole, place);
  }

  Tensor padded(tensor::PadOp pad) {
    Value value = pad.getConstantPaddingValue();
    if (!value)
      throw InternalError("kernel '" + kernel + "' pads with more than one value");
    if (auto constant = value.getDefiningOp<arith::ConstantOp>(); constant)
      runOperation(constant);
    const Tensor &source = tensor(pad.getSource());
    SmallVector<int64_t> low = indices(pad.getMixedLowPad()), high = indices(pad.getMixedHighPad());
    Shape shape = source.shape();
    for (size_t i = 0; i < shape.size(); ++i)
      shape[i] += low[i] + high[i];
    Tensor result = Tensor::allocate(source.dtype(), shape);
    storeLanes(repeated(scalar(value), result.elements()), elementOf(pad), result, 0);
    Placement place{0, rowMajorStrides(shape)};
    for (size_t i = 0; i < shape.size(); ++i)
      place.offset += low[i] * place.strides[i];
    copyBlock(source.shape(), source, {0, rowMajorStrides(source.shape())}, result, place);
    return result;
  }

  std::string kernel;
  Sizes symbols;
  DenseMap<Value, Tensor> tensors;
  DenseMap<Value, Lanes> scalars;
};

} // namespace

std::vector<Tensor> evaluateKernel(hr::KernelOp kernel, Tensors inputs, Sizes symbols) {
  return KernelEvaluator(kernel.getName().str(), symbols).run(kernel.getBody().front(), inputs);
}

} // namespace headrace::reference
