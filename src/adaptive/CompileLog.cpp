#include "adaptive/CompileLog.h"

#include "runtime/system/ForkSafety.h"
#include "runtime/system/Text.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>

namespace headrace::adaptive {
namespace {

using Clock = std::chrono::steady_clock;

struct Log {
  ForkSafeMutex mutex;
  LogWriter writer;
  std::atomic<bool> isOn{false};
  const Clock::time_point start = Clock::now();
};

Log &theLog() {
  static auto *log = new Log; // background work may outlive statics
  return *log;
}

const char *nameOf(VersionEvent event) {
  constexpr std::array names = {"compiled", "kept", "replaced", "dropped"};
  return names.at(static_cast<size_t>(event));
}

std::string decimal(const char *format, double value) {
  std::array<char, 32> text{};
  int length = std::snprintf(text.data(), text.size(), format, value);
  return {text.data(), static_cast<size_t>(length)};
}

} // namespace

void logCompilations(LogWriter writer) {
  Log &log = theLog();
  std::lock_guard lock(log.mutex);
  log.isOn = writer != nullptr;
  log.writer = std::move(writer);
}

void logCompilations() {
  logCompilations([](const std::string &line) {
    std::string whole = line + "\n"; // one write: lines of threads do not mix
    std::fwrite(whole.data(), 1, whole.size(), stderr);
  });
}

bool isCompilationLogged() { return theLog().isOn; }

void logVersion(VersionEvent event, const VersionName &version, const std::string &cause,
                std::optional<double> milliseconds) {
  Log &log = theLog();
  if (!log.isOn)
    return;
  double seconds = std::chrono::duration<double>(Clock::now() - log.start).count();
  std::string line =
      "[" + decimal("%7.3f", seconds) + " s] " + nameOf(event) + " " + escaped(version.program);
  if (!version.sizes.empty())
    line += " (" + escaped(version.sizes) + ")";
  if (milliseconds)
    line += " in " + decimal("%.1f", *milliseconds) + " ms";
  if (!cause.empty())
    line += ": " + escaped(cause);
  std::lock_guard lock(log.mutex);
  if (log.writer)
    log.writer(line);
}

} // namespace headrace::adaptive
