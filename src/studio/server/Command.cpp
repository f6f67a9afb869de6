#include "studio/server/Command.h"

#include "runtime/system/Error.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace headrace::studio {

namespace {

/// More than any program of tens of thousands of nodes prints.
constexpr size_t kMaxOutput = 1u << 30, kMaxError = 1u << 16;

struct Pipe {
  Pipe() {
    if (::pipe2(ends, O_CLOEXEC) != 0)
      throw Error(ErrorKind::Io, std::string("cannot start headrace: ") + std::strerror(errno));
  }
  ~Pipe() {
    closeEnd(0);
    closeEnd(1);
  }
  Pipe(const Pipe &) = delete;
  void closeEnd(int end) {
    if (ends[end] >= 0)
      ::close(ends[end]);
    ends[end] = -1;
  }
  int ends[2] = {-1, -1};
};

int start(std::vector<std::string> words, const Pipe &output, const Pipe &error) {
  std::vector<char *> pointers;
  for (std::string &word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output.ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, error.ends[1], STDERR_FILENO);
  // Studio waits for its signals; the command handles them as usual.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  int failed = ::posix_spawnp(&pid, pointers[0], &actions, &attributes, pointers.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed)
    throw Error(ErrorKind::Io, "cannot start " + words[0] + ": " + std::strerror(failed));
  return pid;
}

/// Reads both until both end, and keeps the first of the one and the last of the other.
void readBoth(int output, int error, CommandResult &result) {
  pollfd entries[2] = {{output, POLLIN, 0}, {error, POLLIN, 0}};
  char piece[65536];
  while (entries[0].fd >= 0 || entries[1].fd >= 0) {
    if (::poll(entries, 2, -1) < 0 && errno != EINTR)
      return;
    for (int i = 0; i < 2; ++i) {
      if (entries[i].fd < 0 || entries[i].revents == 0)
        continue;
      ssize_t count = ::read(entries[i].fd, piece, sizeof piece);
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0) {
        entries[i].fd = -1;
        continue;
      }
      std::string &text = i == 0 ? result.output : result.error;
      if (i == 1 && text.size() > kMaxError)
        text.erase(0, text.size() - kMaxError / 2);
      if (text.size() < kMaxOutput)
        text.append(piece, static_cast<size_t>(count));
    }
  }
}

/// "headrace: error: conv1: ..." without the program's name.
std::string withoutName(std::string text) {
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  if (size_t at = text.rfind("headrace: error: "); at != std::string::npos)
    return text.substr(at + std::strlen("headrace: error: "));
  return text;
}

} // namespace

CommandResult Command::run(const std::vector<std::string> &arguments) {
  std::vector<std::string> all = words;
  all.insert(all.end(), arguments.begin(), arguments.end());
  Pipe output, error;
  int pid = 0;
  {
    std::lock_guard lock(mutex);
    if (isOver)
      return {130, "", "studio ends"};
    pid = start(all, output, error);
    running.insert(pid);
  }
  output.closeEnd(1);
  error.closeEnd(1);
  CommandResult result;
  readBoth(output.ends[0], error.ends[0], result);
  // Until it is waited for, its number is not another process's.
  siginfo_t info;
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  std::lock_guard lock(mutex);
  running.erase(pid);
  int status = 0;
  ::waitpid(pid, &status, 0);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.error = withoutName(std::move(result.error));
  if (result.code != 0 && WIFSIGNALED(status))
    result.error = WTERMSIG(status) == SIGTERM
                       ? "cancelled"
                       : "headrace ended with signal " + std::to_string(WTERMSIG(status)) +
                             "; please report this with the model and the recipe";
  if (result.code != 0 && result.error.empty())
    result.error = "headrace ended with " + std::to_string(result.code);
  return result;
}

void Command::cancel(bool forGood) {
  std::lock_guard lock(mutex);
  isOver = isOver || forGood;
  for (int pid : running)
    ::kill(pid, SIGTERM);
}

std::string shellText(const std::vector<std::string> &words) {
  auto isSafe = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("_-+=/.,:@%*", c);
  };
  std::string line;
  for (const std::string &word : words) {
    line += line.empty() ? "" : " ";
    if (!word.empty() && std::ranges::all_of(word, isSafe)) {
      line += word;
      continue;
    }
    line += '\'';
    for (char c : word)
      line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

} // namespace headrace::studio
