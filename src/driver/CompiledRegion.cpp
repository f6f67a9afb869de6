#include "driver/CompiledRegion.h"

#include "runtime/system/Error.h"

namespace headrace {

CompiledRegion::CompiledRegion(LevelOneProgram program, const Settings &settings)
    : part(program.part), model(std::move(program), settings) {}

bool CompiledRegion::accepts(std::span<const Tensor> inputs) const {
  try {
    (void)model.bind(inputs);
    return true;
  } catch (const Error &) {
    return false; // dynamic dimensions that are not equal here, or outside of its range
  }
}

CompiledRegion &codeOf(const adaptive::Region &region) {
  return static_cast<CompiledRegion &>(*region.code);
}

Model &modelOf(const adaptive::Region &region) { return codeOf(region).model; }

} // namespace headrace
