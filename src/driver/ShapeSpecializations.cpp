#include "driver/ShapeSpecializations.h"

#include "driver/BackgroundWork.h"
#include "runtime/system/Interruption.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace headrace {
namespace {

/// Each may keep weights in an order of its own, and temporaries.
constexpr size_t kMaxVersions = 8;
/// Sizes whose calls are counted.
constexpr size_t kMaxRecords = 32;
/// The first call of a program is slower, and two may be chance.
constexpr int kFewestCalls = 3;

} // namespace

ShapeSpecializations::ShapeSpecializations(size_t most, Compile compile)
    : most(std::min(most, kMaxVersions)), compile(std::move(compile)) {}

ShapeSpecializations::~ShapeSpecializations() { background::cancel(this); }

ShapeSpecializations::Records::iterator
ShapeSpecializations::recent(std::span<const int64_t> sizes) {
  auto found = std::ranges::find_if(
      records, [&](const Record &record) { return std::ranges::equal(record.sizes, sizes); });
  if (found != records.end())
    records.splice(records.begin(), records, found);
  return found;
}

std::shared_ptr<const Executable> ShapeSpecializations::find(std::span<const int64_t> sizes) {
  std::lock_guard lock(mutex);
  auto found = recent(sizes);
  return found == records.end() ? nullptr : found->executable;
}

void ShapeSpecializations::addCall(std::span<const int64_t> sizes, double microseconds,
                                   double worth) {
  std::vector<int64_t> wanted;
  Records dropped; // let go of outside the lock
  {
    std::lock_guard lock(mutex);
    auto record = recent(sizes);
    if (record == records.end()) {
      records.emplace_front().sizes.assign(sizes.begin(), sizes.end());
      record = records.begin();
      if (records.size() > kMaxRecords)
        dropped.splice(dropped.begin(), records, std::prev(records.end()));
    }
    record->microseconds += microseconds;
    ++record->calls;
    if (record->isTried || record->microseconds < worth || record->calls < kFewestCalls)
      return;
    record->isTried = true;
    wanted = record->sizes;
  }
  background::add(this, [this, wanted] { compileFor(wanted); });
}

void ShapeSpecializations::compileFor(const std::vector<int64_t> &sizes) {
  std::shared_ptr<const Executable> executable, dropped; // let go of outside the lock
  bool isPutOff = false;
  try {
    executable = compile(Sizes(sizes.begin(), sizes.end()));
  } catch (const Interrupted &) {
    isPutOff = true;
  } catch (const std::exception &) { // NOLINT(bugprone-empty-catch)
    // The open version goes on to serve sizes whose own version cannot be had.
  }
  std::lock_guard lock(mutex);
  auto record = std::ranges::find(records, sizes, &Record::sizes);
  if (record == records.end())
    return;
  record->executable = executable;
  if (isPutOff) {
    record->isTried = false;
    record->microseconds = 0;
    return;
  }
  size_t versions = 0;
  for (Record &each : records)
    if (each.executable && ++versions > most) {
      dropped = std::exchange(each.executable, nullptr);
      each.isTried = false;
      each.microseconds = 0;
    }
}

void ShapeSpecializations::finish() const { background::finish(this); }

size_t ShapeSpecializations::count() const {
  std::lock_guard lock(mutex);
  auto isThere = [](const Record &record) { return record.executable != nullptr; };
  return static_cast<size_t>(std::ranges::count_if(records, isThere));
}

} // namespace headrace
