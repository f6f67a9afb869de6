#include "frontend/onnx/import/ops/sequences/RecurrentActivations.h"

#include "dialect/scalar/Formulas.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace::onnx {

Value Activation::apply(ScalarMath &m, Value x) const {
  auto number = [&](double value) { return m.number(x, value); };
  if (name == "affine")
    return m.add(m.mul(number(alpha), x), number(beta));
  if (name == "leakyrelu")
    return formulas::leakyRelu(m, x, number(alpha));
  if (name == "thresholdedrelu")
    return m.select(m.compare(ScalarMath::Compare::GreaterOrEqual, x, number(alpha)), x, number(0));
  if (name == "scaledtanh")
    return m.mul(number(alpha), m.op<math::TanhOp>(m.mul(number(beta), x)));
  if (name == "hardsigmoid")
    return formulas::hardSigmoid(m, x, alpha, beta);
  if (name == "elu")
    return formulas::elu(m, x, number(alpha));
  return findFormula(name)->write(m, x);
}

namespace {

/// A function's parameters if the node gives no numbers.
struct KnownActivation {
  StringRef name;
  int parameters;
  double alpha = 0, beta = 0;
};
constexpr KnownActivation kActivations[] = {
    {"tanh", 0},
    {"sigmoid", 0},
    {"relu", 0},
    {"affine", 2, 1, 0},
    {"leakyrelu", 1, 0.01},
    {"thresholdedrelu", 1, 1},
    {"scaledtanh", 2, 1, 1},
    {"hardsigmoid", 2, 0.2, 0.5},
    {"elu", 1, 1},
    {"softsign", 0},
    {"softplus", 0},
};

} // namespace

SmallVector<Activation> readActivations(NodeContext &c, ArrayRef<StringRef> usual,
                                        size_t directions) {
  SmallVector<std::string> names;
  if (const Attribute *given = c.node.find("activations"))
    names.assign(given->strings.begin(), given->strings.end());
  if (names.empty())
    for (size_t i = 0; i < directions; ++i)
      names.append(usual.begin(), usual.end());
  // The default of RNN is for two directions, and is written out for one as well.
  if (usual.size() == 1 && directions == 1 && names.size() == 2)
    names.pop_back();
  if (names.size() != usual.size() * directions)
    c.fail(ErrorKind::InvalidModel, "attribute 'activations': expected {0} functions, got {1}",
           usual.size() * directions, names.size());
  auto numbers = [&](const char *attribute) {
    const Attribute *given = c.node.find(attribute);
    return given ? given->floats : std::vector<float>();
  };
  std::vector<float> alphas = numbers("activation_alpha"), betas = numbers("activation_beta");
  size_t alpha = 0, beta = 0;
  SmallVector<Activation> activations;
  for (const std::string &name : names) {
    std::string lower = StringRef(name).lower();
    const auto *known = llvm::find_if(
        kActivations, [&](const KnownActivation &each) { return each.name == lower; });
    if (known == std::end(kActivations))
      c.fail(ErrorKind::Unsupported, "the activation {0} is not supported", inQuotes(name));
    Activation each{lower, known->alpha, known->beta};
    if (known->parameters > 0 && alpha < alphas.size())
      each.alpha = alphas[alpha++];
    if (known->parameters > 1 && beta < betas.size())
      each.beta = betas[beta++];
    activations.push_back(each);
  }
  return activations;
}

} // namespace headrace::onnx
