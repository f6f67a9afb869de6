// Another system, timed in a process of its own by a Python script over a socket.
#pragma once

#include "driver/Model.h"

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <sys/types.h>
#include <vector>

namespace headrace::cli {

/// Why there is no timing of a peer.
class PeerError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

class Peer {
public:
  /// The peers there are.
  static const std::vector<std::string> &names();

  /// Starts the peer, loads the model and runs it once. Throws PeerError.
  Peer(const std::string &name, const std::filesystem::path &modelFile,
       std::span<const TensorSpec> specs, std::span<const Tensor> inputs, int threads);
  ~Peer();
  Peer(const Peer &) = delete;

  const std::string &version() const { return peerVersion; }
  double loadMicroseconds() const { return load; }
  double firstRunMicroseconds() const { return firstRun; }
  const std::vector<Tensor> &outputs() const { return firstOutputs; }

  /// The microseconds of each call in a turn. Throws PeerError.
  std::vector<double> turn(double seconds);

private:
  void startProcess();
  void end();
  void send(const void *data, size_t size);
  void send(const nlohmann::json &request);
  void receive(void *data, size_t size);
  nlohmann::json receive();

  int channel = -1;
  pid_t process = -1;
  std::string peerVersion;
  double load = 0, firstRun = 0;
  std::vector<Tensor> firstOutputs;
};

} // namespace headrace::cli
