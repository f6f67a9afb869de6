#include "driver/split/Executors.h"

#include "driver/CompiledRegion.h"

namespace headrace::split {

std::vector<Tensor>
ReferenceExecutor::runRegion(const std::shared_ptr<const adaptive::Region> &region,
                             std::span<const Tensor> inputs) {
  return modelOf(*region).reference(inputs);
}

/// In the declared types, as the nodes between programs take them.
std::vector<Tensor>
RoundedExecutor::runRegion(const std::shared_ptr<const adaptive::Region> &region,
                           std::span<const Tensor> inputs) {
  Model &model = modelOf(*region);
  std::vector<Tensor> results = model.roundedReference(inputs, seed, scale);
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].dtype() == DType::F64)
      results[i] = results[i].converted(model.outputs()[i].dtype);
  return results;
}

std::vector<Tensor> SizeExecutor::runRegion(const std::shared_ptr<const adaptive::Region> &region,
                                            std::span<const Tensor> inputs) {
  Model &model = modelOf(*region);
  std::vector<int64_t> symbols = model.bind(inputs);
  std::vector<Tensor> results;
  for (const TensorSpec &spec : model.outputs()) {
    Shape shape;
    for (const DimExpr &dim : spec.dims)
      shape.push_back(dim.evaluate(symbols));
    results.push_back(Tensor::allocate(spec.dtype, std::move(shape)));
  }
  return results;
}

} // namespace headrace::split
