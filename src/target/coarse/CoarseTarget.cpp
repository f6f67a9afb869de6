#include "target/coarse/CoarseTarget.h"

#include "dialect/Hr.h"
#include "rewrite/engine/CoarseEngine.h"
#include "runtime/system/Error.h"
#include "runtime/system/MappedFile.h"
#include "target/InterpretedTarget.h"
#include "target/coarse/OffloadOperators.h"

#include <mutex>

using namespace mlir;

namespace headrace::coarse {

namespace {

class CoarseTarget final : public InterpretedTarget {
public:
  CoarseTarget(StringRef name, StringRef file)
      : InterpretedTarget(kCodeAttr), fullName(name.str()) {
    if (file.empty())
      return;
    auto mapped = MappedFile::open(file.str());
    text.assign(reinterpret_cast<const char *>(mapped->data()), mapped->size());
    accelerator = rewrite::Accelerator::parse(text, file.str());
  }

  StringRef name() const override { return fullName; }
  /// Operators left by the accelerator are the host's: kernels are formed as it likes them.
  const Machine &machine() const override {
    std::call_once(described, [&] {
      description = host().machine();
      description.policy.recipes = KernelPolicy::Recipes::Nothing;
    });
    return description;
  }
  ArrayRef<const Expansion *> expansions() const override { return host().expansions(); }
  void registerDialects(DialectRegistry &) const override {}

  void addProgramPasses(OpPassManager &program) const override {
    if (!accelerator)
      throw Error(ErrorKind::InvalidArgument,
                  "target '" + fullName +
                      "': expected the file of an accelerator, as in coarse:vector-64.json");
    program.addPass(createOffloadOperatorsPass(fullName, *accelerator, text));
  }

  using InterpretedTarget::unsupportedReason;
  std::string unsupportedReason(ModuleOp kernel) const override {
    auto program = kernel->getParentOfType<ModuleOp>();
    auto reasons = program->getAttrOfType<DictionaryAttr>(kReasonsAttr);
    std::string reason;
    program.walk([&](hr::LaunchOp launch) {
      if (!reasons || launch.getKernel() != kernel.getSymName())
        return WalkResult::advance();
      for (auto name : launch.getOperators().getAsRange<StringAttr>())
        if (auto known = reasons.getAs<StringAttr>(name)) {
          reason = known.str();
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    return reason.empty() ? "computes nothing, and its data are on the host" : reason;
  }

  ArrayRef<TargetPhase> phases() const override {
    static constexpr TargetPhase all[] = {{"operators",
                                           "level 4: kernels as operators of the accelerator",
                                           [](OpPassManager &, const Target &) {}}};
    return all;
  }

  std::string engine() const override { return std::string(rewrite::coarseEngine().name()); }

private:
  static const Target &host() { return findTarget(hostEngine); }

  std::string fullName, text;
  std::optional<rewrite::Accelerator> accelerator;
  mutable std::once_flag described;
  mutable Machine description;
};

} // namespace

std::unique_ptr<const Target> makeTarget(StringRef name, StringRef file) {
  return std::make_unique<CoarseTarget>(name, file);
}

} // namespace headrace::coarse
