// The pass playground: reads IR, runs the passes named on the command line, writes IR.
#include "target/Passes.h"
#include "target/Target.h"
#include "target/cpu/Passes.h"
#include "target/cuda/Passes.h"
#include "transform/Passes.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

#include "Answers.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<headrace::hr::HrDialect>();
  headrace::findTarget("cpu").registerDialects(registry);
  headrace::findTarget("cuda:sm_90a").registerDialects(registry);
  headrace::registerHeadracePasses();
  headrace::registerHeadraceTargetPasses();
  headrace::registerHeadraceCpuPasses();
  headrace::registerHeadraceCudaPasses();
  headrace::registerAnswerPasses();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Headrace's pass playground\n", registry));
}
