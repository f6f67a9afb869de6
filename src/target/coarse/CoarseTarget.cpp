#include "target/coarse/CoarseTarget.h"

#include "dialect/Hr.h"
#include "rewrite/engine/CoarseEngine.h"
#include "runtime/system/Error.h"
#include "runtime/system/FileCache.h"
#include "runtime/system/MappedFile.h"
#include "target/coarse/TakeOperators.h"

#include <mutex>

using namespace mlir;

namespace headrace::coarse {

namespace {

class CoarseTarget final : public Target {
public:
  CoarseTarget(StringRef name, StringRef file) : fullName(name.str()) {
    if (file.empty())
      return;
    auto mapped = MappedFile::open(file.str());
    text.assign(reinterpret_cast<const char *>(mapped->data()), mapped->size());
    accelerator = rewrite::Accelerator::parse(text, file.str());
  }

  StringRef name() const override { return fullName; }
  /// What the accelerator does not take is the host's: kernels are formed as it likes them.
  const Machine &machine() const override {
    std::call_once(described, [&] {
      description = host().machine();
      description.policy.recipes = KernelPolicy::Recipes::Nothing;
    });
    return description;
  }
  Work workOf(ModuleOp, ArrayRef<int64_t>, double operations) const override {
    Work work;
    work.arithmetic.push_back({OperationKind::Simple, DType::F32, operations});
    return work;
  }
  ArrayRef<const Expansion *> expansions() const override { return host().expansions(); }
  void registerDialects(DialectRegistry &) const override {}

  void addProgramPasses(OpPassManager &program) const override {
    if (!accelerator)
      throw Error(ErrorKind::InvalidArgument,
                  "target '" + fullName +
                      "': expected the file of an accelerator, as in coarse:vector-64.json");
    program.addPass(createTakeOperatorsPass(fullName, *accelerator, text));
  }

  std::string whyNot(ModuleOp kernel) const override {
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
  std::string whyNot(StringRef routine) const override {
    return "has no routine '" + routine.str() + "'";
  }

  void attachRecipe(func::FuncOp, StringRef) const override {
    throw Error(ErrorKind::InvalidArgument,
                "recipe: target '" + fullName + "' has no stages to speak of");
  }
  void addSchedulePasses(OpPassManager &) const override {}
  ArrayRef<TargetPhase> phases() const override {
    static constexpr TargetPhase all[] = {{"operators",
                                           "level 4: kernels as operators of the accelerator",
                                           [](OpPassManager &, const Target &) {}}};
    return all;
  }

  std::string engine() const override { return std::string(rewrite::coarseEngine().name()); }
  ProcessorNeeds needs() const override { return {engine(), "1", {}}; }
  CompiledKernels compile(ArrayRef<ModuleOp> kernels) const override {
    return {{}, images(kernels), nullptr};
  }
  PackagedKernels compileAhead(ArrayRef<ModuleOp> kernels) const override {
    return {{}, images(kernels)};
  }

private:
  static const Target &host() { return findTarget(hostEngine); }

  static std::vector<KernelImage> images(ArrayRef<ModuleOp> kernels) {
    std::vector<KernelImage> images;
    for (ModuleOp kernel : kernels) {
      std::string code = kernel->getAttrOfType<StringAttr>(kCodeAttr).str();
      images.push_back({kernel.getSymName()->str(), {"c_" + FileCache::key({code}), code}, {}, {}});
    }
    return images;
  }

  std::string fullName, text;
  std::optional<rewrite::Accelerator> accelerator;
  mutable std::once_flag described;
  mutable Machine description;
};

} // namespace

std::unique_ptr<const Target> makeTarget(StringRef name, StringRef file) {
  return std::make_unique<CoarseTarget>(name, file);
}

void addEngine() { headrace::addEngine(rewrite::coarseEngine()); }

} // namespace headrace::coarse
