#include "host/live/metrics_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "host/interrupt.h"

namespace vramwise::host {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostRequest = 8192;
constexpr auto kPatience = std::chrono::milliseconds(1000);  // with one client

int left_until(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return int(std::clamp<int64_t>(left.count(), 0, 3'600'000));
}

// 0: the time is over or the process was interrupted.
int wait_for(int fd, short events, Clock::time_point end) {
  while (!interrupted()) {
    pollfd waiting[2] = {{fd, events, 0}, {interrupt_descriptor(), POLLIN, 0}};
    const int n = ::poll(waiting, 2, left_until(end));
    if (n < 0 && errno == EINTR) continue;
    if (n > 0 && waiting[0].revents != 0) return 1;
    if (n <= 0) return 0;
  }
  return 0;
}

}  // namespace

void pause_for(std::chrono::milliseconds time) { wait_for(-1, 0, Clock::now() + time); }

MetricsServer::~MetricsServer() {
  if (socket_ >= 0) ::close(socket_);
}

Result<void> MetricsServer::listen(int port) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(uint16_t(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (socket_ < 0 || ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket_, 16) != 0 ||
      ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return fail(
        Error(ErrorCode::invalid_input,
              "cannot listen on 127.0.0.1:" + std::to_string(port) + ": " + std::strerror(errno))
            .at("--listen")
            .hint("choose another port, or 0 for a free one"));
  }
  port_ = ntohs(address.sin_port);
  return {};
}

void MetricsServer::answer(int client, const std::function<std::string()>& text) {
  const auto end = Clock::now() + kPatience;
  std::string request;
  std::array<char, 1024> buffer;
  while (!contains(request, "\r\n\r\n") && request.size() < kMostRequest) {
    if (wait_for(client, POLLIN, end) == 0) return;
    const ssize_t n = ::read(client, buffer.data(), buffer.size());
    if (n <= 0) return;
    request.append(buffer.data(), size_t(n));
  }
  const bool get = starts_with(request, "GET ");
  const std::string_view rest = std::string_view(request).substr(get ? 4 : 0);
  const std::string_view path = rest.substr(0, rest.find_first_of(" ?"));
  const bool known = get && (path == "/metrics" || path == "/");
  const std::string body = known ? text() : "only GET /metrics\n";
  std::string reply = known ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 404 Not Found\r\n";
  reply += "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
  size_t done = 0;
  while (done < reply.size() && wait_for(client, POLLOUT, end) != 0) {
    const ssize_t n = ::send(client, reply.data() + done, reply.size() - done, MSG_NOSIGNAL);
    if (n <= 0) return;
    done += size_t(n);
  }
}

void MetricsServer::serve(std::chrono::milliseconds time,
                          const std::function<std::string()>& text) {
  const auto end = Clock::now() + time;
  while (wait_for(socket_, POLLIN, end) != 0) {
    const int client = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0) continue;
    answer(client, text);
    ::close(client);
  }
}

}  // namespace vramwise::host
