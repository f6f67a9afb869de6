// Programs compiled ahead of time: from a file, or out of the process itself, and ready to run. No
// compiler is needed.
#pragma once

#include "package/CodeFormat.h"
#include "package/Contents.h"
#include "runtime/program/Executable.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <unordered_map>

namespace headrace {

class Code;
struct Manifest;

/// A program of a package. Const calls are safe from any thread.
class PackageProgram {
public:
  /// Name, symbols, inputs and outputs.
  const Program &interface() const { return declared; }

  /// The values of the symbols for these inputs. Throws Error if they do not fit the program.
  std::vector<int64_t> bind(std::span<const Tensor> inputs) const;
  /// The version that serves inputs of these sizes. Throws Error if they do not fit the program,
  /// or the package has no version for them.
  std::shared_ptr<const Executable> find(std::span<const Tensor> inputs) const;
  /// Like `find`, but the program is as `change` makes it, with the same steps; another buffer may
  /// be an output, for example.
  std::shared_ptr<const Executable>
  findChanged(std::span<const Tensor> inputs,
              const std::function<Program(const Program &)> &change) const;

  /// The report of the version that serves these sizes; open ones are taken to be 2 or more.
  Explanation explain(const Sizes &sizes) const;

  size_t versionCount() const { return versions.size(); }
  /// The engine that it is compiled for, which runs what it can of it.
  const std::string &engine() const { return engineName; }

private:
  friend class Package;
  class Version;

  const Version &versionFor(std::span<const int64_t> symbols) const;
  std::string servedSizes() const;

  std::string source; // the package, for messages
  Program declared;
  std::string engineName;
  std::vector<std::shared_ptr<const Version>> versions; // the most special first
};

/// A script of a package: its text, and the code of its segments.
class PackageScript {
public:
  const std::string &name() const { return contents.name; }
  const std::vector<ScriptVariable> &inputs() const { return contents.inputs; }
  const std::vector<ScriptVariable> &outputs() const { return contents.outputs; }
  const std::vector<std::pair<std::string, std::string>> &files() const { return contents.files; }
  const std::vector<std::string> &scriptPath() const { return contents.scriptPath; }
  size_t segmentCount() const { return segments.size(); }
  /// The program for a segment of that key; null if there is none.
  std::shared_ptr<const PackageProgram> find(const std::string &key) const;

private:
  friend class Package;
  PackagedScript contents; // without its segments
  std::unordered_map<std::string, std::shared_ptr<const PackageProgram>> segments;
};

/// The code of a region: the versions of a program of a package.
class PackagedCode : public adaptive::RegionCode {
public:
  explicit PackagedCode(std::shared_ptr<const PackageProgram> program)
      : program(std::move(program)) {}

  const std::vector<TensorSpec> &inputs() const override { return program->interface().inputs; }
  bool accepts(std::span<const Tensor> inputs) const override;
  std::shared_ptr<const Executable> executable(std::span<const Tensor> inputs) override {
    return program->find(inputs);
  }
  Explanation explain() override { return program->explain({}); }

private:
  std::shared_ptr<const PackageProgram> program;
};

/// A split model of a package: programs, and operators of the runtime between them. Const calls are
/// safe from any thread.
class PackageSplitModel {
public:
  const std::string &name() const { return contents.name; }
  const std::vector<PackagedTensor> &inputs() const { return contents.inputs; }
  const std::vector<PackagedTensor> &outputs() const { return contents.outputs; }
  const std::string &engine() const { return engineName; }
  size_t regionCount() const { return contents.regions.size(); }
  /// The reports of the programs of all regions, in order.
  std::vector<Explanation> explain() const;

  /// Throws Error if inputs differ from their declarations, or a region is needed that the package
  /// does not have: the error names the node and the value.
  std::vector<Tensor> run(std::span<const Tensor> inputs) const;
  /// Checks the inputs as `run` does, without a run.
  void check(std::span<const Tensor> inputs) const;

private:
  friend class Package;
  std::string engineName;
  PackagedSplitModel contents; // its regions have no programs here, they are in the graphs
};

/// An open package, with the code that was chosen for this machine.
class Package {
public:
  /// Throws Error if the file is not a package, is damaged, or does not run on this machine.
  static std::shared_ptr<const Package> open(const std::filesystem::path &path);
  /// A package that is linked into the process.
  static std::shared_ptr<const Package> open(const PackageImage &image);

  /// Whether a file is to be opened as a package: by its name, never by what is in it. A package is
  /// native code: opening a file that is called a model must never run any.
  static bool isNamedLikeOne(const std::filesystem::path &path);

  const std::vector<std::shared_ptr<const PackageProgram>> &programs() const { return all; }
  const std::vector<std::shared_ptr<const PackageScript>> &scripts() const { return allScripts; }
  const std::vector<std::shared_ptr<const PackageSplitModel>> &splitModels() const {
    return allSplitModels;
  }
  /// The program of that name; of an empty name the only one. Throws Error if there is none.
  std::shared_ptr<const PackageProgram> program(const std::string &name = "") const;
  /// The script of that name; of an empty name the only one, if it is the only program. Null if
  /// there is none.
  std::shared_ptr<const PackageScript> script(const std::string &name = "") const;
  /// The split model of that name, like `script`.
  std::shared_ptr<const PackageSplitModel> splitModel(const std::string &name = "") const;

  /// The CPU level whose code was chosen, "x86-64-v3".
  const std::string &level() const { return chosenLevel; }

private:
  Package() = default;
  static std::shared_ptr<const Package>
  assemble(Manifest manifest, const std::shared_ptr<const Code> &code, const std::string &source);

  std::string source;
  std::string chosenLevel;
  std::vector<std::shared_ptr<const PackageProgram>> all;
  std::vector<std::shared_ptr<const PackageScript>> allScripts;
  std::vector<std::shared_ptr<const PackageSplitModel>> allSplitModels;
};

} // namespace headrace
