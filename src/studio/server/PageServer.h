// An HTTP server for one user on this machine: it listens on the loopback interface only, answers
// only requests that name it and carry its random token, and bounds what every client can take:
// connections, time, header and body. cpp-httplib reads requests and writes answers; what it is
// given is checked before it sees it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

namespace headrace::studio {

struct PageRequest {
  bool isPost = false;
  std::string path;  ///< without the token: "api/graph"
  std::string query; ///< as in the address, still escaped
  std::string body;
};

struct PageAnswer {
  int status = 200;
  std::string type = "application/json";
  std::string body;
};

struct ServerLimits {
  int threads = 24;           ///< connections that are served at a time
  int waiting = 128;          ///< connections beyond them; further ones are not accepted yet
  size_t headBytes = 16384;   ///< request line and headers
  size_t bodyBytes = 4 << 20; ///< body of a request
  int requestSeconds = 10;    ///< from the first byte of a request to its last
  int answerSeconds = 30;     ///< from the first byte of an answer to its last
  int idleSeconds = 20;       ///< between requests
};

class PageServer {
public:
  using Handler = std::function<PageAnswer(const PageRequest &)>;

  /// Binds to the port, or to any free one for 0. Throws Error if it is taken.
  PageServer(int port, Handler handler, const ServerLimits &limits = {});
  ~PageServer();

  /// http://127.0.0.1:PORT/TOKEN/
  std::string address() const;
  /// Answers until `stop`.
  void run();
  /// May be called by any thread; ends connections.
  void stop();

private:
  class Impl;
  std::unique_ptr<Impl> impl;
};

/// The parameter's value in a query, unescaped; empty if it has none.
std::string queryValue(const std::string &query, const std::string &name);

} // namespace headrace::studio
