// Errors of passes: what a pass rejects is not supported, all else is a mistake of the compiler.
#include "driver/RunPasses.h"
#include "runtime/system/Error.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace headrace {
namespace {

/// Fails at the module, in the words that `report` has for it.
class FailingPass : public PassWrapper<FailingPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FailingPass)
  explicit FailingPass(std::function<void(Operation *)> report) : report(std::move(report)) {}
  void runOnOperation() override {
    report(getOperation());
    signalPassFailure();
  }

private:
  std::function<void(Operation *)> report;
};

void runFailing(std::function<void(Operation *)> report) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  Location place = NameLoc::get(StringAttr::get(&context, "conv1"));
  OwningOpRef<ModuleOp> program = ModuleOp::create(place);
  PassManager manager(&context);
  manager.addPass(std::make_unique<FailingPass>(std::move(report)));
  runPasses(manager, *program, "model", "kernels");
}

template <class Exception> std::string errorOf(std::function<void(Operation *)> report) {
  try {
    runFailing(std::move(report));
  } catch (const Exception &error) {
    return error.what();
  }
  return "no such error";
}

TEST(RunPasses, WhatAPassRejectsIsNotSupported) {
  EXPECT_EQ(errorOf<Error>([](Operation *op) { op->emitError("a window of rank 9"); }),
            "model: operator 'conv1': a window of rank 9");
}

TEST(RunPasses, WhatAVerifierFindsIsAMistakeOfTheCompiler) {
  std::string error = errorOf<InternalError>(
      [](Operation *op) { op->emitOpError("operand #0 must be of a float type"); });
  EXPECT_TRUE(StringRef(error).contains("kernels failed: operator 'conv1': 'builtin.module' op "
                                        "operand #0 must be of a float type"))
      << error;
  error = errorOf<InternalError>([](Operation *op) {
    op->emitError("failed to legalize operation 'math.log' that was explicitly marked illegal");
  });
  EXPECT_TRUE(StringRef(error).contains("'math.log'")) << error;
}

} // namespace
} // namespace headrace
