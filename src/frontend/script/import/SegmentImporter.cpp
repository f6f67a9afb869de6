#include "frontend/script/import/SegmentImporter.h"

#include "frontend/common/OperatorBuilder.h"
#include "frontend/common/ProgramWriter.h"
#include "frontend/script/import/CellFormula.h"

using namespace mlir;

namespace headrace::script {

namespace {

class SegmentImporter {
public:
  SegmentImporter(const Dag &dag, MLIRContext &context, llvm::StringRef name)
      : dag(dag), writer(context, name), f64(Float64Type::get(&context)) {}

  OwningOpRef<ModuleOp> run(const Segment &segment) {
    for (int input : segment.inputs)
      values[input] = writer.addInput("v" + std::to_string(input), inputType(dag.nodes[input]));
    for (int symbol : segment.hiddenSymbols)
      writer.addInput("size" + std::to_string(symbol),
                      tensorType({dim(Size::symbol(symbol)), dim(Size(0))}, f64));
    for (int id : segment.nodes)
      values[id] = import(dag.nodes[id]);
    for (int output : segment.outputs)
      writer.addOutput("v" + std::to_string(output), values.at(output));
    return writer.finish();
  }

private:
  Value import(const Node &node);
  Value importCell(OperatorBuilder &build, const Node &node);
  Value importProduct(OperatorBuilder &build, const Node &node);
  Value importAggregate(OperatorBuilder &build, const Node &node);

  AffineExpr dim(const Size &size);
  SymbolicShape shape(const Known &known) { return {dim(known.rows), dim(known.cols)}; }
  RankedTensorType inputType(const Node &node) {
    return node.isMatrix() ? tensorType(shape(node.known), f64) : RankedTensorType::get({}, f64);
  }
  Value operand(OperatorBuilder &build, int id);

  const Dag &dag;
  ProgramWriter writer;
  mlir::Type f64;
  std::map<int, Value> values;
};

AffineExpr SegmentImporter::dim(const Size &size) {
  AffineExpr expr = constantDim(size.offsetValue(), writer.builder.getContext());
  for (const Size::Term &term : size.terms())
    expr = expr + writer.symbols.get("s" + std::to_string(term.symbol)) * term.factor;
  return expr;
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

Value SegmentImporter::importCell(OperatorBuilder &build, const Node &node) {
  // Literals stand in the formula, where algebra finds them.
  SmallVector<Value> inputs;
  for (int input : node.inputs)
    if (dag.nodes[input].op != Op::Literal)
      inputs.push_back(values.at(input));
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

Value SegmentImporter::importProduct(OperatorBuilder &build, const Node &node) {
  MLIRContext *context = build.context;
  AffineExpr m = getAffineDimExpr(0, context), n = getAffineDimExpr(1, context),
             k = getAffineDimExpr(2, context);
  auto map = [&](AffineExpr first, AffineExpr second) {
    return AffineMap::get(3, 0, {first, second}, context);
  };
  SmallVector<AffineMap> maps{node.transposeLeft ? map(k, m) : map(m, k),
                              node.transposeRight ? map(n, k) : map(k, n), map(m, n)};
  return build.infer<hr::ContractOp>(operand(build, node.inputs[0]), operand(build, node.inputs[1]),
                                     build.builder.getAffineMapArrayAttr(maps));
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

Value SegmentImporter::importAggregate(OperatorBuilder &build, const Node &node) {
  SmallVector<int64_t> axes;
  if (node.extent != Extent::EachRow)
    axes.push_back(0);
  if (node.extent != Extent::EachColumn)
    axes.push_back(1);
  return build.reduce(reduceKind(node.aggregate), operand(build, node.inputs[0]), axes,
                      /*keepDims=*/node.extent != Extent::All);
}

Value SegmentImporter::import(const Node &node) {
  // "sum:12": what reports call the operator.
  std::string label = operationName(node);
  if (node.place.source)
    label += ":" + std::to_string(node.place.source->line(node.place.offset));
  Location loc = NameLoc::get(writer.builder.getStringAttr(label));
  OperatorBuilder build(writer.builder, writer.symbols, writer.diagnostics, loc, label);
  switch (node.op) {
  case Op::Cell:
    return importCell(build, node);
  case Op::MatMul:
    return importProduct(build, node);
  case Op::Transpose:
    return build.transpose(operand(build, node.inputs[0]), {1, 0});
  case Op::Aggregate:
    return importAggregate(build, node);
  case Op::Fill:
    return build.broadcast(operand(build, node.inputs[0]), shape(node.known));
  case Op::Bind: {
    SmallVector<Value> parts;
    for (int input : node.inputs)
      parts.push_back(operand(build, input));
    return build.infer<hr::ConcatOp>(ValueRange(parts), node.columns ? 1 : 0);
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
