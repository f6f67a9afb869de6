#include "tune/store/TunedStore.h"

#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Error.h"
#include "runtime/system/FileCache.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <mutex>
#include <sys/file.h>
#include <unistd.h>

namespace headrace::tune {

namespace fs = std::filesystem;

namespace {

constexpr uintmax_t kMaxBytes = uintmax_t{256} << 20;

/// Held while a store is changed: of several processes that add to it, none loses what another
/// adds.
class StoreLock {
public:
  explicit StoreLock(const fs::path &store)
      : descriptor(::open((store.string() + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600)) {
    if (descriptor >= 0)
      while (::flock(descriptor, LOCK_EX) != 0 && errno == EINTR)
        ;
  }
  ~StoreLock() {
    if (descriptor >= 0)
      ::close(descriptor);
  }
  StoreLock(const StoreLock &) = delete;

private:
  int descriptor;
};

} // namespace

std::vector<std::string> readLines(const fs::path &file,
                                   const std::function<void(const Json &)> &take) {
  std::vector<std::string> faults;
  std::error_code ignored;
  if (uintmax_t bytes = fs::file_size(file, ignored); !ignored && bytes > kMaxBytes)
    throw Error(ErrorKind::InvalidFile, file.string() + ": expected at most 256 MiB");
  std::ifstream stream(file, std::ios::binary);
  std::string line;
  for (size_t number = 1; std::getline(stream, line); ++number) {
    if (line.empty())
      continue;
    try {
      take(parseJson(line, "the line"));
    } catch (const JsonFault &fault) {
      faults.push_back("line " + std::to_string(number) + ": " +
                       (stream.eof() ? "torn: its writer was stopped" : fault.what()));
    }
  }
  return faults;
}

fs::path TunedStore::userFile() {
  if (const char *given = std::getenv("HEADRACE_TUNED"))
    return given;
  std::optional<fs::path> folder = userCacheFolder();
  return folder ? *folder / "tuned.jsonl" : fs::path();
}

std::shared_ptr<const TunedStore> TunedStore::of(const std::string &tuning) {
  if (tuning == "never")
    return nullptr;
  fs::path file = tuning == "auto" ? userFile() : fs::path(tuning);
  std::error_code fault;
  fs::file_time_type changed = fs::last_write_time(file, fault);
  if (fault && tuning != "auto")
    throw Error(ErrorKind::Io,
                file.string() + ": cannot read results of tuning: " + fault.message());
  if (fault)
    return nullptr;
  struct State {
    fs::file_time_type changed;
    uintmax_t bytes;
    std::shared_ptr<const TunedStore> store;
  };
  static std::mutex mutex;
  static std::map<fs::path, State> known;
  uintmax_t bytes = fs::file_size(file, fault);
  std::lock_guard lock(mutex);
  auto found = known.find(file);
  if (found == known.end() || found->second.changed != changed || found->second.bytes != bytes)
    found = known.insert_or_assign(file, State{changed, bytes, std::make_shared<TunedStore>(file)})
                .first;
  return found->second.store->empty() ? nullptr : found->second.store;
}

TunedStore::TunedStore(const fs::path &file) {
  damaged = readLines(file, [&](const Json &json) {
    TunedRecord record = recordFromJson(json);
    if (record.generator == generatorVersion)
      anchors.insert(record.anchor);
    std::pair<std::string, std::string> key(record.kernel, record.machine);
    records.insert_or_assign(std::move(key), std::move(record));
  });
}

const TunedRecord *TunedStore::find(const std::string &kernel, const std::string &machine) const {
  auto found = records.find({kernel, machine});
  bool isUsable = found != records.end() && found->second.generator == generatorVersion;
  return isUsable ? &found->second : nullptr;
}

std::string TunedStore::otherMachine(const std::string &kernel, const std::string &machine) const {
  for (auto at = records.lower_bound({kernel, ""});
       at != records.end() && at->first.first == kernel; ++at)
    if (at->first.second != machine)
      return at->first.second;
  return "";
}

std::vector<TunedRecord> TunedStore::all() const {
  std::vector<TunedRecord> result;
  for (const auto &[key, record] : records)
    result.push_back(record);
  return result;
}

void changeStore(const fs::path &file, std::span<const TunedRecord> added,
                 const std::function<bool(const TunedRecord &)> &isDropped) {
  StoreLock lock(file);
  std::map<std::pair<std::string, std::string>, TunedRecord> records;
  for (TunedRecord &record : TunedStore(file).all())
    if (!isDropped || !isDropped(record)) {
      std::pair<std::string, std::string> key(record.kernel, record.machine);
      records.insert_or_assign(std::move(key), std::move(record));
    }
  for (const TunedRecord &record : added)
    records.insert_or_assign({record.kernel, record.machine}, record);
  std::string text;
  for (const auto &[key, record] : records)
    text += toJson(record).dump() + "\n";
  writeFileAtomically(file, {std::as_bytes(std::span(text))});
}

} // namespace headrace::tune
