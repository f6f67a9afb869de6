#include "transform/choices/Verbs.h"

#include "dialect/Hr.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using llvm::StringRef;

namespace headrace {
namespace {

constexpr StringRef kLayouts[] = {"channels-last", "channels-first", "blocked8", "blocked16"},
                    kPlans[] = {"greedily", "by-time"}, kWays[] = {"strictly", "where-possible"};

std::string whyNoNormalization(Operation *op) {
  return isa<hr::BatchNormOp>(op) ? "" : "it is not a batch normalization";
}

std::string whyNoKernel(Operation *op) {
  auto known = dyn_cast<hr::OperatorInterface>(op);
  if (!known || isa<hr::ConstantOp>(op))
    return "it is not an operator";
  return known.getFusionRole() == FusionRole::View ? "it is another view of its operand" : "";
}

std::string whyNoPacking(Operation *op) {
  bool hasWeights = isa<hr::OperatorInterface>(op) && op->getNumOperands() > 1 &&
                    isa_and_nonnull<hr::ConstantOp>(op->getOperand(1).getDefiningOp());
  auto known = dyn_cast<hr::OperatorInterface>(op);
  if (!known || known.getFusionRole() != FusionRole::Anchor)
    return "it is not a matmul or convolution";
  return hasWeights ? "" : "its weights are not constant";
}

using Object = Verb::Object;

} // namespace

namespace verbs {

const Verb fold{"fold",
                "into",
                Object::Operator,
                "moves a normalization into the weights of the convolution before it",
                "a batch normalization and the convolution whose result it reads",
                "leave",
                false,
                "",
                {},
                whyNoNormalization};
const Verb leave{"leave",
                 "",
                 Object::None,
                 "computes a normalization by itself",
                 "a batch normalization",
                 "fold",
                 false,
                 "",
                 {},
                 whyNoNormalization};
const Verb layout{"layout",
                  "",
                  Object::Word,
                  "stores images with their channels last, first or in blocks",
                  "an operator on images",
                  "",
                  true,
                  "",
                  kLayouts,
                  whyNoKernel};
const Verb expand{"expand",
                  "as",
                  Object::Name,
                  "computes an operator by generated code or by a library",
                  "an operator that the target has several implementations of",
                  "",
                  true,
                  "",
                  {},
                  whyNoKernel};
const Verb fuse{"fuse",
                "into",
                Object::Operator,
                "computes both in one kernel, so that the value between them is not stored",
                "an operator and another that reads its result",
                "separate",
                false,
                "",
                {},
                whyNoKernel};
const Verb separate{"separate",
                    "",
                    Object::None,
                    "gives an operator a kernel of its own",
                    "an operator",
                    "fuse",
                    false,
                    "",
                    {},
                    whyNoKernel};
const Verb walk{"walk",
                "along",
                Object::Name,
                "lets a kernel go through blocks of rows, all its operators a few rows at a time",
                "the last operator of a kernel",
                "",
                true,
                "",
                {},
                whyNoKernel};
const Verb merge{"merge",
                 "into",
                 Object::Operator,
                 "computes two kernels that read the same data in one",
                 "the last operators of two kernels over the same domain",
                 "separate",
                 false,
                 "",
                 {},
                 whyNoKernel};
const Verb plan{"plan",    "",     Object::Word, "decides how kernels are planned",
                "kernels", "",     true,         "kernels",
                kPlans,    nullptr};
const Verb pack{"pack",
                "by",
                Object::Number,
                "stores constant weights in tiles of this many columns",
                "a matmul or convolution with constant weights",
                "",
                true,
                "",
                {},
                whyNoPacking};
const Verb slice{
    "slice",
    "by",
    Object::Number,
    "computes a chain of kernels slice by slice, while the values of a slice are in cache",
    "the first operator of a chain of kernels",
    "",
    true,
    "",
    {},
    whyNoKernel};
const Verb keep{"keep",
                "",
                Object::None,
                "stores a value for the backward program",
                "a value of the forward program that the backward one reads",
                "recompute",
                false,
                "",
                {},
                whyNoKernel};
const Verb recompute{"recompute",
                     "",
                     Object::None,
                     "computes a value again in the backward program",
                     "a value of the forward program that the backward one reads",
                     "keep",
                     false,
                     "",
                     {},
                     whyNoKernel};
const Verb follow{
    "follow", "",     Object::Word, "says what happens to steps that cannot be followed",
    "recipe", "",     false,        "recipe",
    kWays,    nullptr};

} // namespace verbs

llvm::ArrayRef<const Verb *> allVerbs() {
  static const Verb *const all[] = {
      &verbs::fold,     &verbs::leave, &verbs::layout,    &verbs::expand, &verbs::fuse,
      &verbs::separate, &verbs::walk,  &verbs::merge,     &verbs::plan,   &verbs::pack,
      &verbs::slice,    &verbs::keep,  &verbs::recompute, &verbs::follow};
  return all;
}

const Verb *findVerb(StringRef name) {
  const auto *found =
      llvm::find_if(allVerbs(), [&](const Verb *verb) { return verb->name == name; });
  return found == allVerbs().end() ? nullptr : *found;
}

} // namespace headrace
