// Versions of a program for exact sizes, in addition to the general one that serves all sizes. It
// takes time to compile one, so that is done in the background, once calls of just these sizes have
// taken as long as compiling the general version did: a caller with ever new sizes waits for
// nothing, and at worst as much time is spent on compiling as on running.
#pragma once

#include "runtime/program/Executable.h"

#include "adaptive/VersionStore.h"
#include <functional>
#include <list>
#include <span>

namespace headrace::adaptive {

/// Safe from any thread.
class ExactVersions {
public:
  using ExactSizes = std::vector<int64_t>;
  /// Compiles for sizes. Throws Interrupted if others need the compiler.
  using Compile = std::function<std::shared_ptr<const Executable>(const ExactSizes &)>;
  /// The name for the log of the version for these sizes; of the general one that serves them.
  struct Names {
    std::function<VersionName(const ExactSizes &)> exact, general;
  };

  /// Keeps at most `max` versions.
  ExactVersions(size_t max, Compile compile, Names names);
  /// Waits for a compilation that is under way.
  ~ExactVersions();
  ExactVersions(const ExactVersions &) = delete;

  /// Null if there is none.
  std::shared_ptr<const Executable> find(std::span<const int64_t> sizes);
  /// Records a call of the general version; compiles a version for these sizes once accumulated
  /// time reaches `worth`, in microseconds.
  void addCall(std::span<const int64_t> sizes, double microseconds, double worth);
  /// Waits until the running compilation has ended.
  void finish() const;
  size_t count() const { return versions.size(); }

private:
  struct Record {
    ExactSizes sizes;
    double microseconds = 0; // of calls, since the last attempt
    int calls = 0;
    bool isTried = false; // under way, or not to be had
  };

  void compileFor(const ExactSizes &sizes, double spent);

  const Compile compile;
  const Names names;
  VersionStore<ExactSizes, const Executable> versions;
  std::list<Record> records; // most recently used first
  mutable ForkSafeMutex mutex;
};

} // namespace headrace::adaptive
