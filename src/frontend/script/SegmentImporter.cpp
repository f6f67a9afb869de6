#include "frontend/script/SegmentImporter.h"

#include "frontend/common/OperatorBuilder.h"
#include "frontend/common/ProgramWriter.h"
#include "frontend/script/CellFormula.h"

using namespace mlir;

namespace headrace::script {

namespace {

class SegmentImporter {
public:
  SegmentImporter(const Dag &dag, MLIRContext &context, llvm::StringRef name)
      : dag(dag), writer(context, name), f64(Float64Type::get(&context)) {}

  OwningOpRef<ModuleOp> run(const Segment &segment) {
    chooseRanks(segment);
    expectedSizes = segment.expectedSizes;
    for (int input : segment.inputs)
      values[input] = writer.addInput("v" + std::to_string(input), inputType(input));
    for (int symbol : segment.hiddenSymbols)
      writer.addInput("size" + std::to_string(symbol),
                      tensorType({dim(Size::symbol(symbol)), dim(Size(0))}, f64));
    for (int id : segment.nodes)
      values[id] = import(id);
    for (int output : segment.outputs)
      writer.addOutput("v" + std::to_string(output), values.at(output));
    return writer.finish();
  }

private:
  Value import(int id);
  Value importCell(OperatorBuilder &build, int id);
  Value importProduct(OperatorBuilder &build, int id);
  Value importAggregate(OperatorBuilder &build, int id);

  void chooseRanks(const Segment &segment);
  bool hasOneColumn(int id) const {
    return dag.nodes[id].isMatrix() && dag.nodes[id].known.cols.isConstant(1);
  }
  bool isColumn(int id) const {
    return hasOneColumn(id) && !dag.nodes[id].known.rows.isConstant(1);
  }
  bool isFlat(int id) const { return isColumn(id) && !wide.contains(id); }

  AffineExpr dim(const Size &size);
  SymbolicShape shape(int id) {
    const Known &known = dag.nodes[id].known;
    return isFlat(id) ? SymbolicShape{dim(known.rows)}
                      : SymbolicShape{dim(known.rows), dim(known.cols)};
  }
  RankedTensorType inputType(int id) {
    return dag.nodes[id].isMatrix() ? tensorType(shape(id), f64) : RankedTensorType::get({}, f64);
  }
  /// The operand as it is, and as a matrix or a vector if it must be one.
  Value operand(OperatorBuilder &build, int id);
  Value asMatrix(OperatorBuilder &build, int id);
  Value asVector(OperatorBuilder &build, int id);

  const Dag &dag;
  ProgramWriter writer;
  mlir::Type f64;
  std::map<int, Value> values;
  std::vector<int64_t> expectedSizes;
  /// Columns that are kept as matrices, because they are repeated over one.
  std::set<int> wide;
};

/// A column is a vector: products with it are then those of level 1. One that is repeated over the
/// columns of a matrix stays a matrix of one column.
void SegmentImporter::chooseRanks(const Segment &segment) {
  for (int id : segment.nodes) {
    const Node &node = dag.nodes[id];
    auto isWide = [&](int input) { return dag.nodes[input].isMatrix() && !hasOneColumn(input); };
    if (node.op == Op::Cell && llvm::any_of(node.inputs, isWide))
      wide.insert(node.inputs.begin(), node.inputs.end());
  }
}

AffineExpr SegmentImporter::dim(const Size &size) {
  return toAffineExpr(size.value(), writer.builder.getContext(), [&](unsigned symbol) {
    std::string name = "s" + std::to_string(symbol);
    if (symbol < expectedSizes.size())
      writer.symbols.expect(name, expectedSizes[symbol]);
    return writer.symbols.get(name);
  });
}

static double numberOf(const Node &literal) {
  return std::visit(
      [](const auto &value) -> double {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
          throw InternalError("a string in a compiled segment");
        else
          return static_cast<double>(value);
      },
      literal.literal);
}

Value SegmentImporter::operand(OperatorBuilder &build, int id) {
  const Node &node = dag.nodes[id];
  return node.op == Op::Literal ? build.scalar(numberOf(node), f64) : values.at(id);
}

Value SegmentImporter::asMatrix(OperatorBuilder &build, int id) {
  Value value = operand(build, id);
  return isFlat(id) ? build.reshape(value, {dim(dag.nodes[id].known.rows), build.dim(1)}) : value;
}

Value SegmentImporter::asVector(OperatorBuilder &build, int id) {
  Value value = operand(build, id);
  // A matrix of one cell, too: its two dimensions would make a row of a vector next to it.
  return hasOneColumn(id) && !isFlat(id) ? build.reshape(value, dim(dag.nodes[id].known.rows))
                                         : value;
}

Value SegmentImporter::importCell(OperatorBuilder &build, int id) {
  const Node &node = dag.nodes[id];
  // Literals stand in the formula, where algebra finds them.
  SmallVector<Value> inputs;
  for (int input : node.inputs)
    if (dag.nodes[input].op != Op::Literal)
      inputs.push_back(isFlat(id) ? asVector(build, input) : asMatrix(build, input));
  return build.map(inputs, [&](ScalarMath &math, ValueRange scalars) {
    SmallVector<Value> operands;
    SmallVector<std::optional<double>> constants;
    unsigned next = 0;
    for (int input : node.inputs) {
      bool isLiteral = dag.nodes[input].op == Op::Literal;
      constants.push_back(isLiteral ? std::optional(numberOf(dag.nodes[input])) : std::nullopt);
      operands.push_back(isLiteral ? math.numberOf(f64, *constants.back()) : scalars[next++]);
    }
    return cellFormula(math, node.cell, operands, constants);
  });
}

Value SegmentImporter::importProduct(OperatorBuilder &build, int id) {
  const Node &node = dag.nodes[id];
  int left = node.inputs[0], right = node.inputs[1];
  // A matrix and a vector, on either side; else two matrices.
  bool rightVector = isFlat(id) && isColumn(right) && !node.transposeRight;
  bool leftVector = !rightVector && isColumn(left) && node.transposeLeft;
  MLIRContext *context = build.context;
  unsigned dims = rightVector || leftVector ? 2 : 3;
  AffineExpr k = getAffineDimExpr(dims - 1, context), m = getAffineDimExpr(0, context);
  AffineExpr n = getAffineDimExpr(leftVector ? 0 : 1, context);
  auto map = [&](ArrayRef<AffineExpr> exprs) { return AffineMap::get(dims, 0, exprs, context); };
  auto pair = [&](bool transposed, AffineExpr row, AffineExpr col) {
    return transposed ? map({col, row}) : map({row, col});
  };
  SmallVector<AffineMap> maps{leftVector ? map({k}) : pair(node.transposeLeft, m, k),
                              rightVector ? map({k}) : pair(node.transposeRight, k, n),
                              rightVector  ? map({m})
                              : leftVector ? map({n})
                                           : map({m, n})};
  Value a = leftVector ? asVector(build, left) : asMatrix(build, left);
  Value b = rightVector ? asVector(build, right) : asMatrix(build, right);
  Value product =
      build.infer<hr::ContractOp>(a, b, build.builder.getAffineMapArrayAttr(maps), TypeAttr());
  return rightVector ? product : build.reshape(product, shape(id));
}

static hr::ReduceKind reduceKind(AggregateKind kind) {
  switch (kind) {
  case AggregateKind::Sum:
    return hr::ReduceKind::Sum;
  case AggregateKind::Mean:
    return hr::ReduceKind::Mean;
  case AggregateKind::Min:
    return hr::ReduceKind::Min;
  case AggregateKind::Max:
    return hr::ReduceKind::Max;
  case AggregateKind::Product:
    return hr::ReduceKind::Prod;
  }
  throw InternalError("an aggregate without a kind");
}

Value SegmentImporter::importAggregate(OperatorBuilder &build, int id) {
  const Node &node = dag.nodes[id];
  hr::ReduceKind kind = reduceKind(node.aggregate);
  int input = node.inputs[0];
  if (node.extent == Extent::All) {
    SmallVector<int64_t> axes{0};
    if (!isFlat(input))
      axes.push_back(1);
    return build.reduce(kind, operand(build, input), axes, /*keepDims=*/false);
  }
  bool eachRow = node.extent == Extent::EachRow;
  return build.reduce(kind, asMatrix(build, input), eachRow ? 1 : 0, /*keepDims=*/!isFlat(id));
}

Value SegmentImporter::import(int id) {
  const Node &node = dag.nodes[id];
  // "sum:12": what reports call the operator.
  std::string label = operationName(node);
  if (node.place.source)
    label += ":" + std::to_string(node.place.source->line(node.place.offset));
  Location loc = NameLoc::get(writer.builder.getStringAttr(label));
  OperatorBuilder build(writer.builder, writer.symbols, writer.diagnostics, loc, label);
  switch (node.op) {
  case Op::Cell:
    return importCell(build, id);
  case Op::MatMul:
    return importProduct(build, id);
  case Op::Transpose:
    // A column or a row is the other by its shape alone.
    if (isColumn(node.inputs[0]) || node.known.cols.isConstant(1))
      return build.reshape(operand(build, node.inputs[0]), shape(id));
    return build.transpose(operand(build, node.inputs[0]), {1, 0});
  case Op::Aggregate:
    return importAggregate(build, id);
  case Op::Fill:
    return build.broadcast(operand(build, node.inputs[0]), shape(id));
  case Op::Bind: {
    SmallVector<Value> parts;
    // cbind of a column and matrices without columns is flat, too, but those are not vectors.
    bool vectors = isFlat(id) && !node.columns;
    for (int input : node.inputs)
      parts.push_back(vectors ? asVector(build, input) : asMatrix(build, input));
    Value bound = build.infer<hr::ConcatOp>(ValueRange(parts), node.columns ? 1 : 0);
    return vectors ? bound : build.reshape(bound, shape(id));
  }
  case Op::ToScalar:
    return build.reshape(operand(build, node.inputs[0]), {});
  default:
    throw InternalError("'" + label + "' is not for compiled segments");
  }
}

} // namespace

OwningOpRef<ModuleOp> importSegment(const Dag &dag, const Segment &segment, MLIRContext &context,
                                    llvm::StringRef name) {
  return SegmentImporter(dag, context, name).run(segment);
}

} // namespace headrace::script
