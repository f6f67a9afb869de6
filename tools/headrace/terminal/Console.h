// Styles and status lines that appear only if a person at a terminal is reading.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace headrace::cli {

enum class Style { Bold, Red };

/// The text in this style if the stream is a terminal and NO_COLOR is not set.
std::string styled(std::FILE *stream, Style style, std::string_view text);

/// A line on the terminal's stderr that the next one replaces; nothing elsewhere.
void showStatus(std::string_view text);
void clearStatus();

/// Shows what is going on, and for how long, if it takes more than 0.3 s.
class Progress {
public:
  explicit Progress(std::string activity);
  ~Progress();
  Progress(const Progress &) = delete;

private:
  void show();

  std::string activity;
  std::chrono::steady_clock::time_point begin;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::thread thread;
};

} // namespace headrace::cli
