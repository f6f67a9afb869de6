#include "studio/server/PageServer.h"

#include "runtime/system/Error.h"

#include "studio/server/RequestHead.h"
#include <algorithm>
#include <chrono>
#include <cstring>
#include <httplib.h>
#include <optional>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace headrace::studio {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::string randomToken() {
  unsigned char bytes[16];
  if (::getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes))
    throw Error(ErrorKind::Io,
                std::string("no random bytes for the token: ") + std::strerror(errno));
  std::string token;
  for (unsigned char byte : bytes) {
    token += "0123456789abcdef"[byte >> 4];
    token += "0123456789abcdef"[byte & 15];
  }
  return token;
}

/// Threads that serve, and connections that wait for one. With the queue full, the thread that
/// accepts connections waits, too, and further clients wait in the listening socket's backlog: a
/// client is never turned away because others came at the same time.
class BoundedQueue : public httplib::TaskQueue {
public:
  BoundedQueue(const ServerLimits &limits, std::atomic<int> &waiting,
               const std::atomic<bool> &isStopping)
      : limits(limits), waiting(waiting), isStopping(isStopping),
        pool(static_cast<size_t>(limits.threads)) {}

  void enqueue(std::function<void()> task) override {
    while (waiting >= limits.waiting && !isStopping)
      std::this_thread::sleep_for(milliseconds(1));
    ++waiting;
    pool.enqueue([this, task = std::move(task)] {
      --waiting;
      task();
    });
  }
  void shutdown() override { pool.shutdown(); }

private:
  const ServerLimits &limits;
  std::atomic<int> &waiting;
  const std::atomic<bool> &isStopping;
  httplib::ThreadPool pool;
};

/// A connection: its reads and writes end at a deadline, whatever the client does.
class Connection : public httplib::Stream {
public:
  Connection(int socket, const std::atomic<bool> &isStopping)
      : descriptor(socket), isStopping(isStopping) {}

  /// Whether the socket is ready before the deadline; `giveUp` ends the wait early.
  bool await(short events, const std::function<bool()> &giveUp = {}) const {
    while (!isStopping) {
      auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count();
      if (left <= 0)
        return false;
      pollfd entry{descriptor, events, 0};
      int ready = ::poll(&entry, 1, static_cast<int>(std::min<int64_t>(left, 100)));
      if (ready > 0)
        return (entry.revents & events) != 0;
      if ((ready < 0 && errno != EINTR) || (giveUp && giveUp()))
        return false;
    }
    return false;
  }

  /// Reads up to the end of the headers; empty if there is none within the limits.
  std::string_view readHead(size_t most) {
    while (true) {
      size_t end = buffer.find("\r\n\r\n");
      if (end != std::string::npos)
        return std::string_view(buffer).substr(0, end + 2);
      char piece[4096];
      if (buffer.size() > most || !await(POLLIN))
        return {};
      ssize_t count = ::recv(descriptor, piece, sizeof piece, 0);
      if (count <= 0)
        return {};
      buffer.append(piece, static_cast<size_t>(count));
    }
  }
  bool hasBytes() const { return !buffer.empty(); }

  void endAfter(seconds time) { deadline = Clock::now() + time; }
  /// The first byte of an answer begins its own time.
  void answerWithin(seconds time) { answerTime = time; }

  ssize_t read(char *to, size_t size) override {
    if (!buffer.empty()) {
      size_t count = std::min(size, buffer.size());
      std::memcpy(to, buffer.data(), count);
      buffer.erase(0, count);
      return static_cast<ssize_t>(count);
    }
    return await(POLLIN) ? ::recv(descriptor, to, size, 0) : -1;
  }
  ssize_t write(const char *from, size_t size) override {
    if (answerTime) {
      endAfter(*answerTime);
      answerTime.reset();
    }
    size_t sent = 0;
    while (sent < size) {
      ssize_t count = ::send(descriptor, from + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count > 0)
        sent += static_cast<size_t>(count);
      else if (errno != EAGAIN && errno != EINTR)
        return -1;
      else if (!await(POLLOUT))
        return -1;
    }
    return static_cast<ssize_t>(size);
  }
  void refuse(const Refusal &refusal) {
    std::string body = refusal.reason + "\n";
    std::string text = "HTTP/1.1 " + std::to_string(refusal.status) +
                       " Refused\r\nContent-Type: text/plain\r\nConnection: close\r\n"
                       "Content-Length: " +
                       std::to_string(body.size()) + "\r\n\r\n" + body;
    write(text.data(), text.size());
  }

  bool is_readable() const override { return true; }
  bool is_writable() const override { return await(POLLOUT); }
  void get_remote_ip_and_port(std::string &ip, int &port) const override { name(ip, port); }
  void get_local_ip_and_port(std::string &ip, int &port) const override { name(ip, port); }
  socket_t socket() const override { return descriptor; }

private:
  static void name(std::string &ip, int &port) {
    ip = "127.0.0.1";
    port = 0;
  }

  int descriptor;
  const std::atomic<bool> &isStopping;
  std::string buffer;
  Clock::time_point deadline = Clock::now();
  std::optional<seconds> answerTime;
};

} // namespace

/// What cpp-httplib's server of TLS is to its plain one: a server with connections of its own.
class PageServer::Impl : public httplib::Server {
public:
  Impl(int port, PageServer::Handler handler, const ServerLimits &limits)
      : limits(limits), handler(std::move(handler)) {
    identity.token = randomToken();
    new_task_queue = [this] { return new BoundedQueue(this->limits, waiting, isStopping); };
    set_payload_max_length(limits.bodyBytes);
    // Not SO_REUSEPORT: no other process may take requests for this port.
    set_socket_options([](int socket) {
      int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    set_default_headers({{"X-Content-Type-Options", "nosniff"},
                         {"Referrer-Policy", "no-referrer"},
                         {"Cache-Control", "no-store"},
                         {"Cross-Origin-Resource-Policy", "same-origin"},
                         {"Cross-Origin-Opener-Policy", "same-origin"},
                         {"Content-Security-Policy",
                          "default-src 'none'; script-src 'self'; style-src 'self'; "
                          "connect-src 'self'; img-src 'self' data: blob:; base-uri 'none'; "
                          "form-action 'none'; frame-ancestors 'none'"}});
    auto answer = [this](const httplib::Request &request, httplib::Response &response) {
      respond(request, response);
    };
    Get("/.*", answer);
    Post("/.*", answer);
    if (port > 0 && !bind_to_port("127.0.0.1", port))
      throw Error(ErrorKind::InvalidArgument,
                  "--port: expected a free port, got " + std::to_string(port));
    identity.port = port > 0 ? port : bind_to_any_port("127.0.0.1");
    if (identity.port <= 0)
      throw Error(ErrorKind::Io, "no port of 127.0.0.1 is free");
    ::listen(svr_sock_, limits.waiting); // cpp-httplib's own backlog is 5
  }

  void end() {
    isStopping = true;
    stop();
  }

  ServerIdentity identity;

private:
  void respond(const httplib::Request &request, httplib::Response &response) {
    PageRequest asked;
    asked.isPost = request.method == "POST";
    asked.path = request.path.substr(identity.token.size() + 2); // as the head was checked
    size_t mark = request.target.find('?');
    asked.query = mark == std::string::npos ? "" : request.target.substr(mark + 1);
    asked.body = request.body;
    PageAnswer answer = handler(asked);
    response.status = answer.status;
    response.set_content(std::move(answer.body), answer.type);
  }

  bool process_and_close_socket(int socket) override {
    serve(socket);
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return true;
  }

  void serve(int socket) {
    Connection connection(socket, isStopping);
    bool isLast = false;
    while (!isLast && !isStopping) {
      // Whoever says nothing makes room for those who wait.
      connection.endAfter(seconds(limits.idleSeconds));
      if (!connection.hasBytes() && !connection.await(POLLIN, [&] { return waiting > 0; }))
        return;
      connection.endAfter(seconds(limits.requestSeconds));
      std::string_view head = connection.readHead(limits.headBytes);
      if (head.empty() || head.size() > limits.headBytes)
        return connection.refuse({431, "expected shorter headers, sooner"});
      if (Refusal refusal = refusalOf(head, identity, limits.bodyBytes); refusal.status)
        return connection.refuse(refusal);
      connection.answerWithin(seconds(limits.answerSeconds));
      bool isClosed = false;
      // Within one machine, compressing megabytes takes far longer than sending them.
      auto unpacked = [](httplib::Request &request) { request.headers.erase("Accept-Encoding"); };
      if (!process_request(connection, false, isClosed, unpacked))
        return;
      isLast = isClosed;
    }
  }

  const ServerLimits limits;
  PageServer::Handler handler;
  std::atomic<int> waiting = 0;
  std::atomic<bool> isStopping = false;
};

PageServer::PageServer(int port, Handler handler, const ServerLimits &limits)
    : impl(std::make_unique<Impl>(port, std::move(handler), limits)) {}
PageServer::~PageServer() = default;

std::string PageServer::address() const {
  return "http://127.0.0.1:" + std::to_string(impl->identity.port) + "/" + impl->identity.token +
         "/";
}

void PageServer::run() { impl->listen_after_bind(); }
void PageServer::stop() { impl->end(); }

std::string queryValue(const std::string &query, const std::string &name) {
  httplib::Params parameters;
  httplib::detail::parse_query_text(query, parameters);
  auto found = parameters.find(name);
  return found == parameters.end() ? "" : found->second;
}

} // namespace headrace::studio
