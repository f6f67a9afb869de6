// A program as a front end left it: level 1, and its interface.
#pragma once

#include "driver/Settings.h"
#include "runtime/Program.h"

#include "mlir/IR/BuiltinOps.h"

#include <filesystem>

namespace headrace {

struct SourceProgram {
  std::string name; // of the file, for messages
  std::shared_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Name, symbols of any size allowed, inputs and outputs.
  Program interface;
};

/// Reads and imports the file. Throws Error.
SourceProgram importFile(const std::filesystem::path &path, const Settings &settings);

} // namespace headrace
