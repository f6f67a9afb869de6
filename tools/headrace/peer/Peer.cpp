#include "peer/Peer.h"

#include "runtime/system/Error.h"

#include "peer/PeerScript.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace headrace::cli {

using nlohmann::json;

const std::vector<std::string> &Peer::names() {
  static const std::vector<std::string> names = {"onnxruntime", "openvino"};
  return names;
}

Peer::Peer(const std::string &name, const std::filesystem::path &modelFile,
           std::span<const TensorSpec> specs, std::span<const Tensor> inputs, int threads) {
  startProcess();
  try {
    json tensors = json::array();
    for (size_t i = 0; i < inputs.size(); ++i)
      tensors.push_back({{"name", specs[i].name},
                         {"dtype", nameOf(inputs[i].dtype())},
                         {"shape", inputs[i].shape()},
                         {"bytes", inputs[i].bytes()}});
    send(json{{"peer", name},
              {"model", std::filesystem::absolute(modelFile).string()},
              {"threads", threads},
              {"inputs", tensors}});
    for (const Tensor &input : inputs)
      send(input.data(), input.bytes());

    json ready = receive();
    peerVersion = ready.at("version").get<std::string>();
    load = ready.at("load_us").get<double>();
    firstRun = ready.at("first_run_us").get<double>();
    for (const json &about : ready.at("outputs")) {
      std::optional<DType> dtype = parseDType(about.at("dtype").get<std::string>());
      if (!dtype)
        throw PeerError("its answer has an unknown type");
      Tensor output = Tensor::allocate(*dtype, about.at("shape").get<Shape>());
      receive(output.data(), output.bytes());
      firstOutputs.push_back(std::move(output));
    }
  } catch (const json::exception &) {
    end();
    throw PeerError("its answer could not be read");
  } catch (...) {
    end();
    throw;
  }
}

Peer::~Peer() { end(); }

std::vector<double> Peer::turn(double seconds) {
  try {
    send(json{{"seconds", seconds}});
    return receive().at("times_us").get<std::vector<double>>();
  } catch (const json::exception &) {
    throw PeerError("its answer could not be read");
  }
}

void Peer::startProcess() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw PeerError(fmt::format("no socket: {}", std::strerror(errno)));
  channel = ends[0];

  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, ends[1], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string script(peerScript());
  std::string python = "python3", command = "-c";
  char *arguments[] = {python.data(), command.data(), script.data(), nullptr};
  int error = ::posix_spawnp(&process, python.c_str(), &files, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  if (error == 0)
    return;
  process = -1;
  end();
  throw PeerError(fmt::format("cannot start python3: {}", std::strerror(error)));
}

// The script ends when its channel does; a turn it is in the middle of is not waited for.
void Peer::end() {
  if (channel >= 0)
    ::close(channel);
  channel = -1;
  if (process < 0)
    return;
  ::kill(process, SIGTERM);
  while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR)
    ;
  process = -1;
}

void Peer::send(const void *data, size_t size) {
  const char *rest = static_cast<const char *>(data);
  while (size > 0) {
    // No signal: a peer that has died is its own problem, reported when its answer is missing.
    ssize_t sent = ::send(channel, rest, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent < 0)
      return;
    rest += sent;
    size -= static_cast<size_t>(sent);
  }
}

void Peer::send(const json &request) {
  std::string line = request.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  send(line.data(), line.size());
}

void Peer::receive(void *data, size_t size) {
  char *rest = static_cast<char *>(data);
  while (size > 0) {
    ssize_t received = ::recv(channel, rest, size, 0);
    if (received < 0 && errno == EINTR)
      continue;
    if (received <= 0)
      throw PeerError("its process ended without an answer");
    rest += received;
    size -= static_cast<size_t>(received);
  }
}

json Peer::receive() {
  std::string line;
  for (char c = 0; receive(&c, 1), c != '\n';)
    line += c;
  json answer = json::parse(line);
  if (answer.contains("error"))
    throw PeerError(answer["error"].get<std::string>());
  return answer;
}

} // namespace headrace::cli
