#include "driver/programs/CompiledRegion.h"

#include "runtime/system/Error.h"

namespace headrace {

CompiledRegion::CompiledRegion(LevelOneProgram program, const Settings &settings)
    : model(std::move(program), settings) {}

bool CompiledRegion::accepts(std::span<const Tensor> inputs) const {
  try {
    (void)model.bind(inputs);
    return true;
  } catch (const Error &) {
    return false; // dynamic dimensions that are not equal here, or outside of its range
  }
}

Model &modelOf(const adaptive::Region &region) {
  return static_cast<CompiledRegion &>(*region.code).model;
}

} // namespace headrace
