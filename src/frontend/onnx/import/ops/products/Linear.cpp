// Products of matrices and tensors, all written as contractions.
#include "frontend/common/Compute.h"
#include "frontend/common/Products.h"
#include "frontend/onnx/import/Operators.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace::onnx {

static void importMatMul(NodeContext &c) {
  Value lhs = c.input(0, Accepts::Numbers), rhs = c.input(1);
  c.checkSameType(0, 1);
  c.result(matrixProduct(c, lhs, rhs));
}

/// alpha * A' B' + beta * C; transposition is in the maps.
static void importGemm(NodeContext &c) {
  Value lhs = c.input(0, Accepts::Numbers), rhs = c.input(1);
  c.checkSameType(0, 1);
  c.checkRank(0, 2);
  c.checkRank(1, 2);
  bool transA = c.node.getInt("transA", 0) != 0, transB = c.node.getInt("transB", 0) != 0;
  if (!sameSize(c.shape(0)[transA ? 0 : 1], c.shape(1)[transB ? 1 : 0]))
    c.fail(ErrorKind::ShapeMismatch, "matrices {0}{1} and {2}{3} cannot be multiplied",
           c.text(c.shape(0)), transA ? " (transposed)" : "", c.text(c.shape(1)),
           transB ? " (transposed)" : "");
  Value product = contract(c, lhs, rhs, transA ? "km" : "mk", transB ? "nk" : "kn", "mn");

  double alpha = c.node.getFloat("alpha", 1), beta = c.node.getFloat("beta", 1);
  bool hasBias = c.has(2) && beta != 0;
  if (!hasBias && alpha == 1)
    return c.result(product);
  if (!isa<FloatType>(c.type(0).getElementType()) && (alpha != 1 || beta != 1))
    c.fail(ErrorKind::Unsupported, "alpha and beta other than 1 are supported for floats only");
  SmallVector<Value> inputs{product};
  if (hasBias) {
    inputs.push_back(c.input(2));
    c.checkSameType(0, 2);
    auto joined = broadcastShapes(shapeOf(product), c.shape(2));
    if (!joined || !llvm::equal(*joined, shapeOf(product)))
      c.fail(ErrorKind::ShapeMismatch, "{0}: expected a shape that broadcasts to {1}, got {2}",
             c.nameOfInput(2), c.text(shapeOf(product)), c.text(c.shape(2)));
  }
  c.result(c.map(inputs, [&](ScalarMath &math, ValueRange x) {
    Value result = alpha == 1 ? x[0] : math.mul(math.number(x[0], alpha), x[0]);
    if (!hasBias)
      return result;
    return math.add(result, beta == 1 ? x[1] : math.mul(math.number(x[1], beta), x[1]));
  }));
}

//===--------------------------------------------------------------------------===//
// Einsum
//===--------------------------------------------------------------------------===//

/// "ij,jk->ik" taken apart.
struct Equation {
  SmallVector<std::string> operands;
  std::string result;
};

/// Puts letters that the equation does not use in the place of each "...", aligned at the end; all
/// of them are the result.
static std::string writeOutEllipses(NodeContext &c, std::string &text) {
  constexpr StringRef kDots = "...";
  if (!StringRef(text).contains(kDots))
    return "";
  std::string free;
  for (char letter = 'a'; letter <= 'z'; ++letter)
    for (char each : {letter, llvm::toUpper(letter)})
      if (!StringRef(text).contains(each))
        free += each;
  auto [left, right] = StringRef(text).split("->");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  size_t longest = 0;
  std::string written;
  SmallVector<size_t> counts;
  for (auto [i, part] : llvm::enumerate(parts)) {
    bool hasDots = part.contains(kDots);
    size_t named = part.size() - (hasDots ? kDots.size() : 0);
    size_t rank = i < c.inputCount() ? static_cast<size_t>(c.rank(i)) : 0;
    if (hasDots && (rank < named || rank - named > free.size()))
      c.fail(ErrorKind::ShapeMismatch, "{0}: expected rank {1} or more for {2}, got {3}",
             c.nameOfInput(std::min(i, c.inputCount() - 1)), named, inQuotes(part), rank);
    counts.push_back(hasDots ? rank - named : 0);
    longest = std::max(longest, counts.back());
  }
  std::string all = free.substr(0, longest);
  auto replaced = [&](StringRef part, size_t count) {
    auto [before, after] = part.split(kDots);
    return part.contains(kDots) ? before.str() + all.substr(longest - count) + after.str()
                                : part.str();
  };
  for (auto [part, count] : llvm::zip(parts, counts))
    written += (written.empty() ? "" : ",") + replaced(part, count);
  if (StringRef(text).contains("->"))
    written += "->" + replaced(right, longest);
  text = written;
  return all;
}

static Equation parseEquation(NodeContext &c) {
  std::string text = c.node.getString("equation", "");
  llvm::erase(text, ' ');
  bool hasResult = StringRef(text).contains("->");
  std::string between = writeOutEllipses(c, text);
  auto [left, right] = StringRef(text).split("->");
  SmallVector<StringRef> parts;
  left.split(parts, ',');
  Equation equation;
  for (StringRef part : parts)
    equation.operands.push_back(part.str());
  equation.result = right.str();
  if (!hasResult) {
    // Without a result every letter that occurs once, in alphabetical order.
    for (char letter : left)
      if (llvm::isAlpha(letter) && left.count(letter) == 1 && !StringRef(between).contains(letter))
        equation.result += letter;
    llvm::sort(equation.result);
    equation.result = between + equation.result;
  }
  return equation;
}

static void checkLetters(NodeContext &c, StringRef letters, const char *what) {
  for (char letter : letters)
    if (!llvm::isAlpha(letter) || letters.count(letter) != 1)
      c.fail(ErrorKind::Unsupported,
             "expected letters that differ for each dimension of {0} in the equation, got {1}",
             what, inQuotes(letters));
}

/// A letter that an input has twice takes its diagonal.
static Value diagonal(NodeContext &c, Value input, std::string &letters) {
  SymbolicShape shape = shapeOf(input), domain;
  std::string kept;
  SmallVector<AffineExpr> at;
  for (auto [letter, size] : llvm::zip(letters, shape)) {
    size_t place = kept.find(letter);
    if (place == std::string::npos) {
      place = kept.size();
      kept += letter;
      domain.push_back(size);
    } else if (!sameSize(domain[place], size)) {
      c.fail(ErrorKind::ShapeMismatch, "expected equal sizes for {0} in the equation, got {1}",
             inQuotes({&letter, 1}), c.text(shape));
    }
    at.push_back(getAffineDimExpr(place, c.context));
  }
  if (kept.size() == letters.size())
    return input;
  letters = kept;
  return writeCompute(c, {domain, 0, {}, {{input, at}}, {}},
                      [](PointMath &m) { return m.read(0); });
}

static void importEinsum(NodeContext &c) {
  Equation equation = parseEquation(c);
  size_t count = equation.operands.size();
  if (count != c.inputCount())
    c.fail(ErrorKind::InvalidModel, "expected {0} inputs for the equation, got {1}", count,
           c.inputCount());
  if (count > 2)
    c.fail(ErrorKind::Unsupported, "expected one or two inputs, got {0}", count);
  SmallVector<Value> inputs = c.inputsOfOneType(Accepts::Numbers);
  std::string letters;
  for (size_t i = 0; i < count; ++i) {
    c.checkRank(i, equation.operands[i].size());
    inputs[i] = diagonal(c, inputs[i], equation.operands[i]);
    checkLetters(c, equation.operands[i], "an input");
    for (char letter : equation.operands[i])
      if (letters.find(letter) == std::string::npos)
        letters += letter;
  }
  checkLetters(c, equation.result, "the result");
  for (char letter : equation.result)
    if (letters.find(letter) == std::string::npos)
      c.fail(ErrorKind::InvalidModel, "the result's {0} is a dimension of no input",
             inQuotes({&letter, 1}));

  if (count == 2)
    return c.result(contract(c, inputs[0], inputs[1], equation.operands[0], equation.operands[1],
                             equation.result));
  // One input: sum what the result lacks, then reorder.
  SmallVector<int64_t> summed, permutation;
  std::string kept;
  for (auto [i, letter] : llvm::enumerate(equation.operands[0]))
    if (equation.result.find(letter) == std::string::npos)
      summed.push_back(i);
    else
      kept += letter;
  for (char letter : equation.result)
    permutation.push_back(kept.find(letter));
  Value total =
      summed.empty() ? inputs[0] : c.reduce(hr::ReduceKind::Sum, inputs[0], summed, false);
  c.result(c.transpose(total, permutation));
}

OperatorFamily linearOperators() {
  static const Operator table[] = {
      {"MatMul", 7, importMatMul},
      {"Gemm", 7, importGemm},
      {"Einsum", 12, importEinsum},
  };
  return table;
}

} // namespace headrace::onnx
