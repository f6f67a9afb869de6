#include "target/vta/VtaTarget.h"

#include "dialect/Hr.h"
#include "runtime/system/Error.h"
#include "runtime/system/FileCache.h"
#include "runtime/vta/VtaEngine.h"
#include "target/vta/KernelCommands.h"
#include "target/vta/OffloadOperators.h"
#include "target/vta/OperatorAttribute.h"
#include "target/vta/VtaDialect.h"
#include "target/vta/schedule/choose/OperatorSpace.h"
#include "transform/recipe/KernelModel.h"

#include <mutex>

using namespace mlir;

namespace headrace::vta {

namespace {

class VtaTarget final : public Target {
public:
  VtaTarget(StringRef name, StringRef file) : fullName(name.str()) {
    if (!file.empty())
      settings = Configuration::read(file.str());
  }

  const Configuration &configuration() const { return settings; }

  StringRef name() const override { return fullName; }
  /// Operators left by the accelerator are the host's: kernels are formed as it likes them.
  const Machine &machine() const override {
    std::call_once(described, [&] { description = host().machine(); });
    return description;
  }
  headrace::Work workOf(ModuleOp, ArrayRef<int64_t>, double operations) const override {
    headrace::Work work;
    work.arithmetic.push_back({OperationKind::Simple, DType::F32, operations});
    return work;
  }
  std::optional<double> countedMicroseconds(ModuleOp kernel) const override {
    auto cycles = kernel->getAttrOfType<IntegerAttr>(kCyclesAttr);
    return static_cast<double>(cycles.getInt()) / megahertz;
  }
  ArrayRef<const Expansion *> expansions() const override { return host().expansions(); }
  void registerDialects(DialectRegistry &registry) const override { registry.insert<VtaDialect>(); }

  void addProgramPasses(OpPassManager &program) const override {
    program.addPass(createOffloadOperatorsPass(fullName, settings));
  }

  std::string unsupportedReason(ModuleOp kernel) const override {
    auto program = kernel->getParentOfType<ModuleOp>();
    auto reasons = program->getAttrOfType<DictionaryAttr>(kReasonsAttr);
    std::string reason;
    program.walk([&](hr::LaunchOp launch) {
      if (launch.getKernel() != kernel.getSymName())
        return WalkResult::advance();
      for (auto name : launch.getOperators().getAsRange<StringAttr>())
        if (auto known = reasons ? reasons.getAs<StringAttr>(name) : StringAttr()) {
          reason = known.str();
          return WalkResult::interrupt();
        } else if (name.getValue().ends_with(kPackSuffix) ||
                   name.getValue().ends_with(kUnpackSuffix)) {
          reason = "changes between the host's layout and the accelerator's";
        }
      return WalkResult::interrupt();
    });
    return reason.empty() ? "its results are not 8-bit integers" : reason;
  }
  std::string unsupportedReason(StringRef routine) const override {
    return "has no routine '" + routine.str() + "'";
  }

  void attachRecipe(func::FuncOp, StringRef) const override {
    throw Error(ErrorKind::InvalidArgument,
                "recipe: expected the lines of a schedule under 'kernel NAME:' for target '" +
                    fullName + "'");
  }
  void addSchedulePasses(OpPassManager &kernels) const override {
    kernels.addPass(createAttachSchedulePass(settings));
  }
  std::vector<std::unique_ptr<ScheduleSpace>> schedules(ModuleOp kernel) const override {
    std::vector<std::unique_ptr<ScheduleSpace>> spaces;
    // Launches come with level 1, schedules with level 3.
    auto own = kernel->getAttrOfType<StringAttr>(kRecipeAttr);
    if (!own)
      return spaces;
    Operator op = operatorOf(kernel);
    Schedule schedule = parseSchedule(own.getValue(), op);
    spaces.push_back(std::make_unique<OperatorSpace>(std::move(op), settings, schedule));
    return spaces;
  }
  ArrayRef<TargetPhase> phases() const override {
    static constexpr TargetPhase all[] = {
        {"commands", "level 4: kernels as instructions of the accelerator",
         [](OpPassManager &kernels, const Target &target) {
           kernels.addPass(
               createWriteCommandsPass(static_cast<const VtaTarget &>(target).configuration()));
         }}};
    return all;
  }

  std::string engine() const override { return std::string(vtaEngine().name()); }
  ProcessorNeeds needs() const override { return {engine(), "1", {}}; }
  CompiledKernels compile(ArrayRef<ModuleOp> kernels) const override {
    return {{}, images(kernels), nullptr};
  }
  PackagedKernels compileAot(ArrayRef<ModuleOp> kernels) const override {
    return {{}, images(kernels)};
  }

private:
  static const Target &host() { return findTarget(hostEngine); }

  static std::vector<KernelImage> images(ArrayRef<ModuleOp> kernels) {
    std::vector<KernelImage> images;
    for (ModuleOp kernel : kernels) {
      std::string code = codeOf(kernel);
      images.push_back({kernel.getSymName()->str(), {"v_" + FileCache::key({code}), code}, {}, {}});
    }
    return images;
  }

  std::string fullName;
  Configuration settings;
  mutable std::once_flag described;
  mutable Machine description;
};

} // namespace

std::unique_ptr<const Target> makeTarget(StringRef name, StringRef file) {
  return std::make_unique<VtaTarget>(name, file);
}

} // namespace headrace::vta
