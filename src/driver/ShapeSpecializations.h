// Versions of a program for exact sizes, next to the one that serves them all. It takes time to
// compile one, so that is done in the background, and once calls of just these sizes have taken as
// long as compiling the open version did: whoever calls with ever new sizes pays nothing, and at
// worst as much is spent on compiling as on running.
#pragma once

#include "package/Contents.h"
#include "runtime/program/Executable.h"
#include "runtime/system/ForkSafety.h"

#include <functional>
#include <list>
#include <span>

namespace headrace {

/// Safe from any thread.
class ShapeSpecializations {
public:
  /// Compiles for sizes. Throws Interrupted if others needed the compiler.
  using Compile = std::function<std::shared_ptr<const Executable>(const Sizes &)>;

  /// Keeps at most `most` specializations.
  ShapeSpecializations(size_t most, Compile compile);
  /// Waits for a compilation that is under way.
  ~ShapeSpecializations();
  ShapeSpecializations(const ShapeSpecializations &) = delete;

  /// Null if there is none.
  std::shared_ptr<const Executable> find(std::span<const int64_t> sizes);
  /// Notes a call of the open version with these sizes, which have a version of their own made once
  /// that is worth `worth` microseconds.
  void addCall(std::span<const int64_t> sizes, double microseconds, double worth);
  /// Waits until the running compilation has ended.
  void finish() const;
  size_t count() const;

private:
  struct Record {
    std::vector<int64_t> sizes;
    std::shared_ptr<const Executable> executable;
    double microseconds = 0; // of calls, since the last attempt
    int calls = 0;
    bool isTried = false; // under way, or not to be had
  };
  using Records = std::list<Record>;

  void compileFor(const std::vector<int64_t> &sizes);
  /// The record, which is the first from now on, or the end. Under the lock.
  Records::iterator recent(std::span<const int64_t> sizes);

  const size_t most;
  const Compile compile;
  Records records; // most recently used first
  mutable ForkSafeMutex mutex;
};

} // namespace headrace
