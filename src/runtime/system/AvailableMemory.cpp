#include "runtime/system/AvailableMemory.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace headrace {

namespace fs = std::filesystem;

namespace {

constexpr size_t unlimited = SIZE_MAX;

/// The number in a file of one; nothing if the file is absent or says "max".
std::optional<size_t> numberIn(const fs::path &path) {
  std::ifstream file(path);
  size_t number = 0;
  if (file >> number)
    return number;
  return std::nullopt;
}

/// The number behind a word in a file of lines `word number`.
std::optional<size_t> entryIn(const fs::path &path, const std::string &word) {
  std::ifstream file(path);
  std::string found;
  size_t number = 0;
  while (file >> found) {
    if (found == word && file >> number)
      return number;
    file.ignore(256, '\n');
  }
  return std::nullopt;
}

std::optional<size_t> machineEntry(const char *name) {
  constexpr size_t kilobyte = 1024;
  std::optional<size_t> entry = entryIn("/proc/meminfo", name);
  return entry ? std::optional(*entry * kilobyte) : std::nullopt;
}

/// The names that a version of control groups gives to the files of one.
struct GroupFiles {
  const char *limit, *usage, *cache;
};
constexpr GroupFiles versionOne{"memory.limit_in_bytes", "memory.usage_in_bytes",
                                "total_inactive_file"};
constexpr GroupFiles versionTwo{"memory.max", "memory.current", "inactive_file"};

size_t leftOfGroup(const fs::path &group, const GroupFiles &files) {
  std::optional<size_t> limit = numberIn(group / files.limit);
  if (!limit)
    return unlimited;
  // Cached files count as used, but give way.
  size_t used = numberIn(group / files.usage).value_or(0);
  size_t cached = entryIn(group / "memory.stat", files.cache).value_or(0);
  used -= std::min(used, cached);
  return *limit - std::min(*limit, used);
}

/// The memory left within the limits of a group and of those around it.
size_t leftOfGroups(const fs::path &root, const fs::path &group, const GroupFiles &files) {
  size_t left = leftOfGroup(root, files);
  fs::path path = root;
  for (const fs::path &part : group.relative_path())
    left = std::min(left, leftOfGroup(path /= part, files));
  return left;
}

/// Within the limits of all control groups that the process is in.
size_t groupMemory() {
  size_t left = unlimited;
  std::ifstream groups("/proc/self/cgroup");
  // Lines `number:controllers:path`; version two has no controllers.
  for (std::string line; std::getline(groups, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    fs::path group = line.substr(second + 1);
    if (controllers == ",,")
      left = std::min(left, leftOfGroups("/sys/fs/cgroup", group, versionTwo));
    else if (controllers.find(",memory,") != std::string::npos)
      left = std::min(left, leftOfGroups("/sys/fs/cgroup/memory", group, versionOne));
  }
  return left;
}

} // namespace

std::optional<size_t> availableMemory() {
  std::optional<size_t> machine = machineEntry("MemAvailable:");
  size_t memory = std::min(machine.value_or(unlimited), groupMemory());
  if (memory == unlimited)
    return std::nullopt;
  return memory + machineEntry("SwapFree:").value_or(0);
}

std::string memoryText(size_t bytes) {
  struct Unit {
    double size;
    const char *name;
  };
  constexpr Unit units[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}};
  for (const Unit &unit : units)
    if (static_cast<double>(bytes) >= unit.size) {
      char text[32];
      std::snprintf(text, sizeof text, "%.1f %s", static_cast<double>(bytes) / unit.size,
                    unit.name);
      return text;
    }
  return std::to_string(bytes) + " B";
}

static std::string reasonOf(std::optional<size_t> available) {
  return available ? memoryText(*available) + " are available" : "the system rejects it";
}

static std::string needOf(size_t bytes, const std::string &purpose, const std::string &reason) {
  return "needs " + memoryText(bytes) + (purpose.empty() ? "" : " for " + purpose) + ", " + reason;
}

OutOfMemory::OutOfMemory(const std::string &what, size_t bytes, std::string reason,
                         const std::string &purpose)
    : Error(ErrorKind::InvalidArgument, what + ": " + needOf(bytes, purpose, reason)),
      neededBytes(bytes), reasonText(std::move(reason)),
      needText(needOf(bytes, purpose, reasonText)) {}

OutOfMemory::OutOfMemory(const std::string &what, size_t bytes, std::optional<size_t> available)
    : OutOfMemory(what, bytes, reasonOf(available), "") {}

OutOfMemory OutOfMemory::withPurpose(const std::string &what, const std::string &purpose) const {
  return {what, neededBytes, reasonText, purpose};
}

} // namespace headrace
