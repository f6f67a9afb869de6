#include "driver/RunPasses.h"

#include "dialect/ConstantPool.h"
#include "runtime/system/Error.h"
#include "runtime/system/ForkSafety.h"
#include "runtime/system/Interruption.h"
#include "runtime/system/Text.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace headrace {

// Each pass would take a quarter of the compile time; a phase is verified in any build.
#ifdef NDEBUG
constexpr bool verifiesEachPass = false;
#else
constexpr bool verifiesEachPass = true;
#endif

/// The user's operator a diagnostic speaks of, if its place names one.
static std::string nameOf(Location location) {
  if (auto name = dyn_cast<NameLoc>(location))
    return name.getName().str();
  return "";
}

/// Whether MLIR speaks, as in "'arith.addf' op requires ...": its verifiers and conversions find
/// mistakes of the compiler, whereas passes reject an operator in words of their own.
static bool isOfMlir(StringRef message) {
  return (message.starts_with("'") && message.contains("' op ")) ||
         message.starts_with("failed to legalize operation");
}

void runPasses(PassManager &manager, ModuleOp program, const std::string &modelName,
               const std::string &stage) {
  std::string refused, broken;
  ScopedDiagnosticHandler collect(program.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    std::string name = nameOf(diagnostic.getLocation()), message = diagnostic.str();
    std::string &kind = name.empty() || isOfMlir(message) ? broken : refused;
    if (kind.empty())
      kind = (name.empty() ? "" : "operator " + inQuotes(name) + ": ") + message;
    return success();
  });
  manager.enableVerifier(verifiesEachPass);
  LogicalResult result = [&] {
    CompilerSection section;
    return success(succeeded(manager.run(program)) &&
                   (verifiesEachPass || succeeded(verify(program))));
  }();
  pollInterruption(); // passes that were skipped leave no result
  if (succeeded(result))
    return;
  if (!refused.empty())
    throw Error(ErrorKind::Unsupported, modelName + ": " + refused);
  throw InternalError(modelName + ": " + stage + " failed: " + broken);
}

func::FuncOp entryFunction(ModuleOp program) {
  auto function = program.lookupSymbol<func::FuncOp>("main");
  if (!function)
    throw InternalError("the program has no entry");
  return function;
}

std::string printed(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto flags = OpPrintingFlags().elideLargeElementsAttrs(16).elideLargeResourceString(0);
  ConstantPool::of(op->getContext()).withoutData([&] { op->print(os, flags); });
  return text;
}

std::string textAttribute(ModuleOp module, StringRef name) {
  auto text = module->getAttrOfType<StringAttr>(name);
  return text ? text.str() : "";
}

} // namespace headrace
