// Random numbers. Each is a function of the seed and its position alone, so that the same program
// gives the same numbers on every machine, with any number of threads.
#include "frontend/onnx/import/ops/Composing.h"

#include <bit>
#include <numbers>

using namespace mlir;

namespace headrace::onnx {

using Compare = ScalarMath::Compare;

/// SplitMix64's increment and finalizer (Steele, Lea and Flood, 2014): bits that pass for random,
/// computed from a counter.
static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;

static uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

static Value bitsConstant(ScalarMath &m, Value like, uint64_t bits) {
  return m.op<arith::ConstantOp>(
      cast<TypedAttr>(IntegerAttr::get(like.getType(), APInt(64, bits))));
}

static Value mixed(ScalarMath &m, Value x) {
  auto step = [&](int shift, uint64_t factor) {
    Value high = m.op<arith::ShRUIOp>(x, bitsConstant(m, x, shift));
    x = m.op<arith::XOrIOp>(x, high);
    if (factor != 0)
      x = m.op<arith::MulIOp>(x, bitsConstant(m, x, factor));
  };
  step(30, 0xbf58476d1ce4e5b9);
  step(27, 0x94d049bb133111eb);
  step(31, 0);
  return x;
}

/// Where the sequence of a node begins. One without a seed has one by its name: its numbers differ
/// from those of other nodes, not from run to run.
static uint64_t seedOf(NodeContext &c) {
  const Attribute *given = c.node.find("seed");
  if (!given) {
    uint64_t hash = kStep;
    for (char letter : c.node.outputs.front())
      hash = mixed(hash ^ static_cast<unsigned char>(letter));
    return hash;
  }
  if (given->kind == Attribute::Int)
    return mixed(static_cast<uint64_t>(given->i) + kStep);
  return mixed(std::bit_cast<uint32_t>(c.node.getFloat("seed", 0)) + kStep);
}

/// Random bits number `stream` of the position, in [0, 1) with all the digits that f32 or f64 has.
static Value uniform(ScalarMath &m, Value position, uint64_t seed, int stream, Type type) {
  Value counter = m.add(m.mul(position, bitsConstant(m, position, 2 * kStep)),
                        bitsConstant(m, position, seed + stream * kStep));
  int digits = type.isF64() ? 53 : 24;
  Value bits = m.op<arith::ShRUIOp>(mixed(m, counter), bitsConstant(m, position, 64 - digits));
  return m.mul(m.op<arith::SIToFPOp>(type, bits), m.numberOf(type, std::ldexp(1.0, -digits)));
}

using Distribution = llvm::function_ref<Value(ScalarMath &, Value position, Type inner)>;

/// A tensor of random numbers, computed in f64 if that is their type, else in f32.
static Value randomTensor(NodeContext &c, ArrayRef<AffineExpr> dims, Type type,
                          Distribution distribution) {
  Type inner = type.isF64() ? type : Type(c.builder.getF32Type());
  Value flat = c.map(positions(c, c.product(dims)), [&](ScalarMath &m, ValueRange x) {
    return m.convert(distribution(m, x[0], inner), type);
  });
  return c.reshape(flat, dims);
}

static Value uniformTensor(NodeContext &c, ArrayRef<AffineExpr> dims, Type type) {
  uint64_t seed = seedOf(c);
  return randomTensor(c, dims, type, [&](ScalarMath &m, Value position, Type inner) {
    return uniform(m, position, seed, 0, inner);
  });
}

/// The type that attribute `dtype` names, else that of input 0, else f32.
static Type resultType(NodeContext &c) {
  if (Type stated = typeAttribute(c, "dtype"))
    return stated;
  return c.inputCount() > 0 ? c.type(0).getElementType() : Type(c.builder.getF32Type());
}

static SymbolicShape resultShape(NodeContext &c, bool isLike) {
  if (isLike)
    return c.shape(0);
  if (!c.node.find("shape"))
    c.fail(ErrorKind::InvalidModel, "attribute 'shape' is missing");
  SymbolicShape dims;
  for (int64_t size : c.node.getInts("shape"))
    dims.push_back(c.dim(size));
  return dims;
}

static Type checkedFloat(NodeContext &c, Type type) {
  if (!isPlainFloat(type))
    c.fail(ErrorKind::TypeMismatch, "expected a floating-point type for random values, got {0}",
           typeText(type));
  return type;
}

template <bool isLike> static void importUniform(NodeContext &c) {
  double low = c.node.getFloat("low", 0), high = c.node.getFloat("high", 1);
  uint64_t seed = seedOf(c);
  c.result(randomTensor(c, resultShape(c, isLike), checkedFloat(c, resultType(c)),
                        [&](ScalarMath &m, Value position, Type inner) {
                          Value unit = uniform(m, position, seed, 0, inner);
                          return m.add(m.mul(unit, m.number(unit, high - low)),
                                       m.number(unit, low));
                        }));
}

/// Two uniform numbers make a normal one (Box and Muller, 1958).
template <bool isLike> static void importNormal(NodeContext &c) {
  double mean = c.node.getFloat("mean", 0), scale = c.node.getFloat("scale", 1);
  uint64_t seed = seedOf(c);
  c.result(randomTensor(c, resultShape(c, isLike), checkedFloat(c, resultType(c)),
                        [&](ScalarMath &m, Value position, Type inner) {
                          Value first = uniform(m, position, seed, 0, inner);
                          Value second = uniform(m, position, seed, 1, inner);
                          Value logarithm = m.op<math::LogOp>(m.sub(m.number(first, 1), first));
                          Value radius = m.op<math::SqrtOp>(m.mul(m.number(first, -2), logarithm));
                          Value angle = m.mul(second, m.number(second, 2 * std::numbers::pi));
                          Value normal = m.mul(radius, m.op<math::CosOp>(angle));
                          return m.add(m.mul(normal, m.number(normal, scale)),
                                       m.number(normal, mean));
                        }));
}

/// 1 with the probability that the input gives.
static void importBernoulli(NodeContext &c) {
  Value probability = c.input(0, Accepts::Floats);
  Type type = resultType(c), inner = innerType(elementTypeOf(probability));
  Value drawn = uniformTensor(c, c.shape(0), inner);
  c.result(c.map({drawn, c.cast(probability, inner)}, [&](ScalarMath &m, ValueRange x) {
    return m.convert(m.compare(Compare::Less, x[0], x[1]), type);
  }));
}

/// Classes drawn by logarithms of their weights: the greatest sum of logarithm and a number of
/// Gumbel's distribution.
static void importMultinomial(NodeContext &c) {
  Value logs = c.cast(c.input(0, Accepts::Floats), c.builder.getF32Type());
  c.checkRank(0, 2);
  int64_t samples = c.node.getInt("sample_size", 1);
  Type type = typeAttribute(c, "dtype");
  if (!type)
    type = c.builder.getI32Type();
  if (samples < 1 || !isa<IntegerType>(type))
    c.fail(ErrorKind::InvalidModel, "expected a positive number of integers to draw, got {0} {1}",
           samples, typeText(type));
  AffineExpr batch = c.shape(0)[0], classes = c.shape(0)[1];
  SymbolicShape all{batch, c.dim(samples), classes};
  Value drawn = uniformTensor(c, all, c.builder.getF32Type());
  Value perSample = c.reshape(logs, {batch, c.dim(1), classes});
  Value ranked = c.map({drawn, perSample}, [](ScalarMath &m, ValueRange x) {
    // In (0, 1), where both logarithms are finite.
    Value inside = m.add(x[0], m.number(x[0], std::ldexp(1.0, -25)));
    Value gumbel = m.neg(m.op<math::LogOp>(m.neg(m.op<math::LogOp>(inside))));
    return m.add(x[1], gumbel);
  });
  Value best = c.reduce(hr::ReduceKind::Max, ranked, {2}, true);
  Value last = c.sizeAsData(classes - 1, c.builder.getI64Type());
  Value place = c.map({ranked, best, positions(c, classes), last}, [](ScalarMath &m, ValueRange x) {
    return m.select(m.compare(Compare::Equal, x[0], x[1]), x[2], x[3]);
  });
  c.result(c.cast(c.reduce(hr::ReduceKind::Min, place, {2}, false), type));
}

//===--------------------------------------------------------------------------===//
// Dropout
//===--------------------------------------------------------------------------===//

/// Whether training is known to be off. Before version 7 an attribute says so; from there on to
/// version 12 the operator is for inference.
static bool isInference(NodeContext &c) {
  if (c.opset < 7)
    return c.node.getInt("is_test", 0) != 0;
  if (!c.has(2))
    return true;
  const SymbolicValue *training = c.known(2);
  auto value = training ? training->constants() : std::nullopt;
  return value && value->size() == 1 && value->front() == 0;
}

/// A random part of the elements becomes 0, the others grow by as much as keeps their mean. The
/// second output tells which stay.
static void importDropout(NodeContext &c) {
  Type maskType = c.opset < 10 ? c.type(0).getElementType() : Type(c.builder.getI1Type());
  auto mask = [&](Value isKept) { c.result(c.cast(isKept, maskType), 1); };
  if (isInference(c)) {
    if (c.node.outputs.size() > 1)
      mask(c.broadcast(c.scalar(1, c.builder.getI1Type()), c.shape(0)));
    return c.resultIsInput();
  }
  Value x = c.input(0, Accepts::Floats);
  Type type = elementTypeOf(x), inner = innerType(type);
  Value ratio = c.has(1) ? c.cast(c.reshape(c.input(1, Accepts::Floats), {}), inner)
                         : c.scalar(c.node.getFloat("ratio", 0.5f), inner);
  Value training =
      c.has(2) ? c.reshape(c.input(2, Accepts::Booleans), {}) : c.scalar(1, c.builder.getI1Type());
  Value drawn = uniformTensor(c, c.shape(0), inner);
  Value kept = c.map({drawn, ratio, training}, [](ScalarMath &m, ValueRange v) {
    Value isInference = m.compare(Compare::Equal, v[2], m.number(v[2], 0));
    return m.op<arith::OrIOp>(m.compare(Compare::GreaterOrEqual, v[0], v[1]), isInference);
  });
  c.result(c.map({x, kept, ratio, training}, [&](ScalarMath &m, ValueRange v) {
    Value one = m.number(v[2], 1);
    Value growth = m.select(v[3], m.div(one, m.sub(one, v[2])), one);
    Value grown = m.mul(m.convert(v[0], inner), growth);
    return m.convert(m.select(v[1], grown, m.number(grown, 0)), type);
  }));
  mask(kept);
}

OperatorFamily randomOperators() {
  static const Operator table[] = {
      {"RandomUniform", 1, importUniform<false>},
      {"RandomUniformLike", 1, importUniform<true>},
      {"RandomNormal", 1, importNormal<false>},
      {"RandomNormalLike", 1, importNormal<true>},
      {"Bernoulli", 15, importBernoulli},
      {"Multinomial", 7, importMultinomial},
      {"Dropout", 1, importDropout},
  };
  return table;
}

} // namespace headrace::onnx
