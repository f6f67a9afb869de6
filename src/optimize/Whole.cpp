#include "optimize/Whole.h"

namespace headrace::optimize {

std::string Whole::recipe() const {
  if (parts.size() == 1)
    return parts.front().plan.recipe.text();
  std::string text = split.text();
  for (const Part &part : parts)
    text += part.name + ":\n" + part.plan.recipe.text();
  return text;
}

Figures Whole::figures() const {
  std::vector<const Figures *> figures;
  for (const Part &part : parts)
    figures.push_back(&part.plan.figures);
  return sumOf(figures);
}

Figures sumOf(const std::vector<const Figures *> &parts) {
  Figures sum = *parts.front();
  for (const Figures *part : llvm::ArrayRef(parts).drop_front()) {
    sum.microseconds += part->microseconds;
    sum.bytes += part->bytes;
    sum.operations += part->operations;
    sum.kernels += part->kernels;
    sum.peakBytes = sum.peakBytes && part->peakBytes
                        ? std::optional(std::max(*sum.peakBytes, *part->peakBytes))
                        : std::nullopt;
  }
  return sum;
}

} // namespace headrace::optimize
