// Any bytes as an ONNX file: read, and where that succeeds, imported as a program.
#include "dialect/Hr.h"
#include "frontend/onnx/import/Importer.h"
#include "frontend/onnx/read/OnnxReader.h"
#include "runtime/system/Error.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace headrace;

namespace {

std::unique_ptr<mlir::MLIRContext> makeContext() {
  mlir::DialectRegistry registry;
  registry.insert<hr::HrDialect, mlir::func::FuncDialect>();
  auto context =
      std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

// A context keeps every type and attribute it met: a new one now and then bounds the memory.
mlir::MLIRContext &contextForNext() {
  static std::unique_ptr<mlir::MLIRContext> context;
  static int served = 0;
  if (!context || ++served % 1000 == 0)
    context = makeContext();
  return *context;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    onnx::Model model =
        onnx::readModel(std::as_bytes(std::span(data, size)), nullptr, "", "fuzz.onnx");
    onnx::importModel(model, contextForNext(), "fuzz.onnx");
  } catch (const Error &) { // NOLINT(bugprone-empty-catch): what most inputs end in
  }
  return 0;
}
