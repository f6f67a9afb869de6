#include "adaptive/ExactVersions.h"

#include "runtime/system/Interruption.h"

#include "adaptive/BackgroundWork.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <utility>

namespace headrace::adaptive {
namespace {

/// Each may keep weights in an order of its own, and temporaries.
constexpr size_t kMaxVersions = 8;
/// Sizes whose calls are counted.
constexpr size_t kMaxRecords = 32;
/// The first call of a program is slower, and two may be chance.
constexpr int kFewestCalls = 3;

} // namespace

ExactVersions::ExactVersions(size_t max, Compile compile, Names names)
    : compile(std::move(compile)), names(std::move(names)),
      versions(std::min(max, kMaxVersions), [this](const ExactSizes &sizes, const Executable &) {
        return this->names.exact(sizes);
      }) {}

ExactVersions::~ExactVersions() { background::cancel(this); }

std::shared_ptr<const Executable> ExactVersions::find(std::span<const int64_t> sizes) {
  return versions.size() == 0 ? nullptr : versions.find(ExactSizes(sizes.begin(), sizes.end()));
}

void ExactVersions::addCall(std::span<const int64_t> sizes, double microseconds, double worth) {
  ExactSizes wanted;
  double spent = 0;
  {
    std::lock_guard lock(mutex);
    auto record = std::ranges::find_if(
        records, [&](const Record &each) { return std::ranges::equal(each.sizes, sizes); });
    if (record == records.end()) {
      records.emplace_front().sizes.assign(sizes.begin(), sizes.end());
      if (records.size() > kMaxRecords)
        records.pop_back();
    } else {
      records.splice(records.begin(), records, record);
    }
    Record &own = records.front();
    own.microseconds += microseconds;
    ++own.calls;
    if (own.isTried || own.microseconds < worth || own.calls < kFewestCalls)
      return;
    own.isTried = true;
    wanted = own.sizes;
    spent = own.microseconds;
  }
  background::add(this, [this, wanted, spent] { compileFor(wanted, spent); });
}

static double millisecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

void ExactVersions::compileFor(const ExactSizes &sizes, double spent) {
  std::shared_ptr<const Executable> executable;
  bool isPutOff = false;
  std::string fault;
  auto begin = std::chrono::steady_clock::now();
  try {
    executable = compile(sizes);
  } catch (const Interrupted &) {
    isPutOff = true;
    fault = "put off, as the compiler is needed for others";
  } catch (const std::exception &error) {
    // The general version goes on to serve sizes that have no version of their own.
    fault = error.what();
  }
  if (executable) {
    if (isCompilationLogged()) {
      logVersion(VersionEvent::Compiled, names.exact(sizes),
                 "in the background, after calls of " + std::to_string(std::lround(spent / 1000)) +
                     " ms",
                 millisecondsSince(begin));
      logVersion(VersionEvent::Replaced, names.general(sizes),
                 "by the version for " + names.exact(sizes).sizes + ", for calls with these sizes");
    }
    versions.add(sizes, executable);
  } else if (isCompilationLogged()) {
    logVersion(VersionEvent::Kept, names.general(sizes),
               "no version for " + names.exact(sizes).sizes + ": " + fault);
  }
  std::lock_guard lock(mutex);
  auto record = std::ranges::find(records, sizes, &Record::sizes);
  if (record == records.end())
    return;
  if (executable) { // counted anew once the version is dropped
    records.erase(record);
  } else if (isPutOff) {
    record->isTried = false;
    record->microseconds = 0;
  }
}

void ExactVersions::finish() const { background::finish(this); }

} // namespace headrace::adaptive
