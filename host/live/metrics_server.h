// A page for Prometheus on this machine's own address, nothing more: GET /metrics.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/result.h"

namespace vramwise::host {

class MetricsServer {
 public:
  ~MetricsServer();
  MetricsServer() = default;
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // Listens on 127.0.0.1; port 0 takes a free one. Errors: invalid_input when the port is taken.
  Result<void> listen(int port);
  int port() const { return port_; }
  // Answers who comes within that time with the text; returns early when interrupted.
  void serve(std::chrono::milliseconds time, const std::function<std::string()>& text);

 private:
  void answer(int client, const std::function<std::string()>& text);

  int socket_ = -1;
  int port_ = 0;
};

// Sleeps, but not through an interrupt.
void pause_for(std::chrono::milliseconds time);

}  // namespace vramwise::host
