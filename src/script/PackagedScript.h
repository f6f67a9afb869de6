// Scripts of packages: run like any other, with code that is there already.
#pragma once

#include "package/Package.h"

#include "script/ScriptSession.h"

namespace headrace::script {

/// `options` say where print goes and what file names are relative to; text, functions and code
/// come from the package.
std::unique_ptr<ScriptSession> openScript(std::shared_ptr<const PackageScript> script,
                                          ScriptOptions options = {});

/// A packaged script that is called like a program: inputs and outputs in their declared order.
class ScriptProgram {
public:
  explicit ScriptProgram(std::shared_ptr<const PackageScript> script, ScriptOptions options = {});

  const PackageScript &script() const { return *declared; }
  /// Matrices are f64 of rank 2, or of rank 1 for a column; numbers have rank 0. Any number of
  /// threads may call; one runs at a time. Throws Error.
  std::vector<Tensor> run(std::span<const Tensor> inputs,
                          const std::map<std::string, std::string> &arguments = {}) const;

private:
  std::shared_ptr<const PackageScript> declared;
  std::unique_ptr<ScriptSession> session;
};

} // namespace headrace::script
