// Base of targets whose kernels are text for an engine to interpret: no schedules, no library
// routines, and an attribute of a kernel's module as its code.
#pragma once

#include "runtime/system/Error.h"
#include "runtime/system/FileCache.h"
#include "target/Target.h"

namespace headrace {

class InterpretedTarget : public Target {
public:
  /// `codeAttr` names the attribute, a string, which the last phase leaves.
  explicit InterpretedTarget(llvm::StringLiteral codeAttr) : codeAttr(codeAttr) {}

  Work workOf(mlir::ModuleOp, llvm::ArrayRef<int64_t>, double operations) const override {
    Work work;
    work.arithmetic.push_back({OperationKind::Simple, DType::F32, operations});
    return work;
  }

  using Target::unsupportedReason;
  std::string unsupportedReason(llvm::StringRef routine) const override {
    return "has no routine '" + routine.str() + "'";
  }

  void attachRecipe(mlir::func::FuncOp, llvm::StringRef) const override {
    throw Error(ErrorKind::InvalidArgument,
                "recipe: target '" + name().str() + "' has no stages that a recipe could name");
  }
  void addSchedulePasses(mlir::OpPassManager &) const override {}

  ProcessorNeeds needs() const override { return {engine(), "1", {}}; }
  CompiledKernels compile(llvm::ArrayRef<mlir::ModuleOp> kernels) const override {
    return {{}, images(kernels), nullptr};
  }
  PackagedKernels compileAot(llvm::ArrayRef<mlir::ModuleOp> kernels) const override {
    return {{}, images(kernels)};
  }

private:
  std::vector<KernelImage> images(llvm::ArrayRef<mlir::ModuleOp> kernels) const {
    std::vector<KernelImage> images;
    for (mlir::ModuleOp kernel : kernels) {
      std::string code = kernel->getAttrOfType<mlir::StringAttr>(codeAttr).str();
      images.push_back(
          {kernel.getSymName()->str(), {engine() + "_" + FileCache::key({code}), code}, {}, {}});
    }
    return images;
  }

  llvm::StringLiteral codeAttr;
};

} // namespace headrace
