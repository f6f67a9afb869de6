// Any bytes as an ONNX file: read, and if that succeeds, imported; and if that does, run on
// small inputs, operator by operator, with the operators of the host in between.
#include "dialect/Hr.h"
#include "driver/Model.h"
#include "driver/programs/ModelFile.h"
#include "driver/split/SplitProgram.h"
#include "frontend/onnx/import/Importer.h"
#include "frontend/onnx/read/OnnxReader.h"
#include "runtime/system/Error.h"
#include "runtime/system/Interruption.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "TinyInputs.h"
#include <chrono>
#include <fstream>
#include <unistd.h>

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

/// A directory with a file that models may have their weights in, for as long as the process lives.
struct FolderOfWeights {
  std::filesystem::path path;
  FolderOfWeights() {
    std::string name = std::filesystem::temp_directory_path() / "fuzz-onnx-XXXXXX";
    path = ::mkdtemp(name.data());
    std::ofstream(path / "weights.bin", std::ios::binary) << std::string(256, '\1');
  }
  ~FolderOfWeights() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

/// Cheap, since its context is there already: what most inputs end in.
bool canBeImported(const onnx::Model &file) {
  onnx::importModel(file, contextForNext(), "fuzz.onnx");
  return true;
}

/// Whether no value is known to be so large that it takes long to compute.
bool isSmall(mlir::ModuleOp program) {
  constexpr int64_t most = 1 << 20; // elements
  bool isLarge = false;
  program.walk([&](mlir::Operation *op) {
    for (mlir::Type type : op->getResultTypes())
      if (auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type))
        isLarge |= tensor.hasStaticShape() && tensor.getNumElements() > most;
  });
  return !isLarge;
}

void runBounded(onnx::Model file) {
  Settings settings;
  settings.maxIterations = 20;
  ModelFile made = programOf(std::move(file), "fuzz.onnx", settings);
  if (made.program && !isSmall(*made.program->module))
    return;
  std::unique_ptr<Model> model = made.splitProgram
                                     ? std::make_unique<Model>(std::move(made.splitProgram))
                                     : std::make_unique<Model>(std::move(*made.program), settings);
  std::optional<std::vector<RuntimeValue>> inputs = tinyInputs(model->inputValues());
  if (!inputs)
    return;
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  InterruptionSource limit([end] { return std::chrono::steady_clock::now() > end; });
  model->referenceValues(*inputs);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const FolderOfWeights folder;
  try {
    onnx::Model file =
        onnx::readModel(std::as_bytes(std::span(data, size)), nullptr, folder.path, "fuzz.onnx");
    if (split::SplitProgram::isNeededFor(file) || canBeImported(file))
      runBounded(std::move(file));
  } catch (const Error &) {       // NOLINT(bugprone-empty-catch): what most inputs end in
  } catch (const Interrupted &) { // NOLINT(bugprone-empty-catch): it takes too long
  }
  return 0;
}
