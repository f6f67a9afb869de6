// Results of tuning that compilations use: a file of one record per line, in the user's cache or
// elsewhere. A damaged line is left out and named; the others hold.
#pragma once

#include "tune/store/TunedRecord.h"
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <unordered_set>

namespace headrace::tune {

class TunedStore {
public:
  /// The file that HEADRACE_TUNED names, else one in the user's cache; empty if there is none.
  static std::filesystem::path userFile();
  /// The store that `Settings::tuning` names, read once for each state of its file; null if it is
  /// "never", or there is nothing in the store. Throws Error if another file cannot be read.
  static std::shared_ptr<const TunedStore> of(const std::string &tuning);

  /// Reads a file; an absent one is empty.
  explicit TunedStore(const std::filesystem::path &file);

  /// The record for this kernel on this machine, by this version of the generator; null if there is
  /// none.
  const TunedRecord *find(const std::string &kernel, const std::string &machine) const;
  /// Another machine that has a record for this kernel; empty if there is none.
  std::string otherMachine(const std::string &kernel, const std::string &machine) const;
  /// Whether a kernel with this operator may have a record.
  bool hasAnchor(const std::string &anchor) const { return anchors.contains(anchor); }
  bool empty() const { return records.empty(); }
  std::vector<TunedRecord> all() const;
  /// "line 3: expected 'kernel'": the lines that were left out.
  const std::vector<std::string> &faults() const { return damaged; }

private:
  std::map<std::pair<std::string, std::string>, TunedRecord> records; // by kernel and machine
  std::unordered_set<std::string> anchors;
  std::vector<std::string> damaged;
};

/// Adds records to a file, in place of those of the same kernels and machines; those of kernels and
/// machines in `dropped` go. One process at a time; readers see the old file or the new one. Throws
/// Error if the file cannot be written.
void changeStore(const std::filesystem::path &file, std::span<const TunedRecord> added,
                 const std::function<bool(const TunedRecord &)> &isDropped = nullptr);

/// Calls `take` with the JSON of each line, and returns the lines that are damaged ("line 3: ...");
/// `take` throws JsonFault for a line that is not what it expects. A last line without an end is
/// torn: its writer was stopped.
std::vector<std::string> readLines(const std::filesystem::path &file,
                                   const std::function<void(const Json &)> &take);

} // namespace headrace::tune
