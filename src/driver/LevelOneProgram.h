// A program at level 1, as front ends hand it to the driver.
#pragma once

#include "driver/Settings.h"
#include "runtime/program/Program.h"
#include "runtime/system/MappedFile.h"
#include "runtime/tensor/SizeRange.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace headrace {

class LongLock;

struct LevelOneProgram {
  std::string name; // for messages and reports
  std::shared_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The files that its constants are in.
  std::vector<std::shared_ptr<const MappedFile>> files = {};
  /// The program for some sizes, in the same context: another one if this one is guarded against
  /// them. Throws Error if there is none. Null if its front end wrote it once and for all, or
  /// for any sizes.
  std::function<LevelOneProgram(const SizeRanges &)> importFor = {};

  /// Which part of the program called `name` it is, for the log; empty if it is all of it.
  std::string part = {};
  /// The lock of the context, which programs that share it compile under; null if none does yet.
  std::shared_ptr<LongLock> contextLock = {};

  /// Name, symbols of any size allowed, inputs and outputs.
  Program interface() const;
};

/// Reads and imports a file that is one program. Throws Error.
LevelOneProgram importFile(const std::filesystem::path &path, const Settings &settings);

/// Throws Error if a setting has no meaning.
void checkSettings(const Settings &settings);

} // namespace headrace
