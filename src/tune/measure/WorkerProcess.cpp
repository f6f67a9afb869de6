#include "tune/measure/WorkerProcess.h"

#include "runtime/system/Error.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace headrace::tune {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

fs::path workerProgram() {
  if (const char *given = std::getenv("HEADRACE_TUNE_WORKER"); given && *given)
    return given;
  constexpr const char *name = "headrace-tune-worker";
  std::error_code ignored;
  std::vector<fs::path> candidates = {fs::read_symlink("/proc/self/exe", ignored).parent_path()};
  Dl_info here{};
  if (::dladdr(reinterpret_cast<const void *>(&workerProgram), &here) && here.dli_fname) {
    fs::path library = fs::absolute(here.dli_fname, ignored).parent_path();
    candidates.push_back(library);
    // In a build, the extension is in python/headrace, the programs are in bin.
    candidates.push_back(library.parent_path().parent_path() / "bin");
  }
  for (const fs::path &folder : candidates)
    if (fs::exists(folder / name, ignored))
      return folder / name;
  throw Error(ErrorKind::Unsupported, std::string("tuning measures by the program ") + name +
                                          ", which is not installed next to " +
                                          (candidates.front() / "headrace").string());
}

void WorkerProcess::start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error(ErrorKind::Io, std::string("no socket for measuring: ") + std::strerror(errno));
  channel = ends[0];
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, ends[1], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // An interrupt of the terminal is for the tuner, which then ends this process.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  std::string name = program.string();
  char *arguments[] = {name.data(), nullptr};
  int fault = ::posix_spawn(&process, name.c_str(), &files, &attributes, arguments, environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  ::close(ends[1]);
  if (fault == 0)
    return;
  process = -1;
  end();
  throw Error(ErrorKind::Io, name + ": cannot start: " + std::strerror(fault));
}

void WorkerProcess::end() {
  if (channel >= 0)
    ::close(channel);
  channel = -1;
  if (process > 0) {
    ::kill(process, SIGKILL);
    (void)reap();
  }
}

/// Waits for the process's end; how it ended.
std::string WorkerProcess::reap() {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR)
    ;
  process = -1;
  if (WIFSIGNALED(status)) {
    const char *name = ::sigabbrev_np(WTERMSIG(status));
    return name ? std::string("SIG") + name : "signal " + std::to_string(WTERMSIG(status));
  }
  return "exit " + std::to_string(WEXITSTATUS(status));
}

WorkerProcess::Answer WorkerProcess::ask(const Json &request, double seconds) {
  if (process < 0)
    start();
  std::string line = request.dump() + "\n";
  for (size_t sent = 0; sent < line.size();) {
    ssize_t bytes = ::send(channel, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (bytes < 0 && errno == EINTR)
      continue;
    if (bytes < 0)
      break; // it has died: no answer will come
    sent += static_cast<size_t>(bytes);
  }
  auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::string answer;
  Answer result;
  while (true) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd waited{channel, POLLIN, 0};
    int ready = left > 0 ? ::poll(&waited, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready <= 0) {
      this->end();
      result.kind = Answer::Kind::TimedOut;
      return result;
    }
    char buffer[4096];
    ssize_t bytes = ::recv(channel, buffer, sizeof buffer, 0);
    if (bytes < 0 && errno == EINTR)
      continue;
    if (bytes <= 0)
      break;
    answer.append(buffer, static_cast<size_t>(bytes));
    if (answer.ends_with('\n'))
      try {
        result.json = parseJson(answer, "the answer");
        result.kind = Answer::Kind::Answered;
        return result;
      } catch (const JsonFault &) {
        this->end();
        result.reason = "its answer could not be read";
        return result;
      }
  }
  ::close(channel);
  channel = -1;
  // It is ending, unless it only closed the channel.
  for (int i = 0; i < 50; ++i) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == process)
      break;
    ::poll(nullptr, 0, 10);
  }
  ::kill(process, SIGKILL);
  result.reason = reap();
  return result;
}

} // namespace headrace::tune
