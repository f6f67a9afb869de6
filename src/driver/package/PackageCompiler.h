// Models and scripts to packages: every program, for every CPU, for every kind of size.
#pragma once

#include "driver/Model.h"
#include "driver/Settings.h"
#include "driver/programs/ScriptTrial.h"
#include "package/Contents.h"

#include <filesystem>
#include <functional>

namespace headrace {

struct PackageSettings {
  /// "cpu", or another target as in Settings ("cuda", "cuda:sm_80").
  std::string target = hostTarget;
  /// For targets other than the CPU: the CPU for kernels that the target cannot run.
  std::string fallback = portableHostTarget;
  /// For the target cpu: x86-64 microarchitecture levels, or "native".
  std::vector<std::string> processors = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};
  /// See Settings::expansion. A library routine has to be on the machine that runs the package.
  std::string expansion = "generated";
  /// See Settings::accelerator.
  std::string accelerator;
  /// See Settings::recipe; for a single model. It applies to sizes of 2 or more: versions for sizes
  /// 0 and 1 are the compiler's choice if they have other stages.
  std::string recipe;
  /// See Settings::givenInputs; for a single model.
  std::vector<std::string> givenInputs;
  /// See Settings::tuning. Results hold for code that is compiled for the CPU of this machine.
  std::string tuning = "auto";
  /// Dynamic dimensions that get a value once and for all.
  std::vector<std::pair<std::string, int64_t>> sizes;
  /// Arguments and inputs that scripts among the models are tried with.
  script::ScriptSample sample;
  /// Returns the samples that a split model is tried with; none, or no function: random numbers.
  std::function<std::vector<std::vector<RuntimeValue>>(const Model &)> samplesOf;
  /// Whether `writeIr` will be called.
  bool keepsIr = false;
  /// Called with a line on sizes that a split model's package does not serve.
  std::function<void(const std::string &)> note;
  /// Called with a line on what is being compiled.
  std::function<void(const std::string &)> progress;
};

/// Versions of a program that a package holds: sizes of 2 or more, and 0 and 1, which are programs
/// of their own. All combinations for up to two dynamic dimensions; for more, one of them 0 or 1 at
/// a time, and all 1. `fixed` has the values chosen beforehand.
std::vector<Sizes> packagedSizes(const Program &interface, const Sizes &fixed);

/// Models compiled for every CPU; written as a package, or as parts of a program.
class CompiledPackage {
public:
  /// Programs are named after their files; those named .dml are scripts. Throws Error.
  static CompiledPackage compile(std::span<const std::filesystem::path> models,
                                 const PackageSettings &settings);
  ~CompiledPackage();
  CompiledPackage(CompiledPackage &&) noexcept;

  const PackageContents &contents() const;
  /// Images of the kernels of a piece of code that other engines run.
  std::span<const DeviceImage> images(size_t code) const;

  /// A file for Package::open.
  void writePackage(const std::filesystem::path &path) const;
  /// Throws Error if `writeImage` cannot write what is compiled for a target.
  static void requireImages(const std::string &target);
  /// The package as an object, a static library or a shared one, in which `symbol` is its image.
  enum class Image { Object, StaticLibrary, SharedObject };
  void writeImage(const std::filesystem::path &path, Image kind, const std::string &symbol) const;
  /// The code of the general version of every program, for every CPU, as LLVM dialect; if
  /// PackageSettings::keepsIr was set.
  void writeIr(const std::filesystem::path &path) const;

private:
  struct Impl;
  explicit CompiledPackage(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace headrace
