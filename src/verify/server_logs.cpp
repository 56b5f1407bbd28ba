#include "verify/server_logs.h"

#include <algorithm>

namespace vramwise::verify {
namespace {

constexpr size_t kMaxServices = 16;

}  // namespace

size_t weight_of(const Log& log) {
  size_t weight = log.readings.size() + log.failures.size() + log.config.options.entries().size();
  weight += (log.config.engine.empty() ? 0 : 1) + (log.config.model.empty() ? 0 : 1);
  for (const Failure& f : log.failures) weight += f.captures.size();
  return weight;
}

LogBuilder* ServerLogs::of(std::string_view service) {
  if (service.empty()) return nullptr;
  for (auto& [name, builder] : named_) {
    if (name == service) return &builder;
  }
  if (named_.size() >= kMaxServices) return nullptr;
  named_.emplace_back().name = std::string(service);
  return &named_.back().builder;
}

void ServerLogs::take(std::string_view service, const KnownLine& row,
                      const std::vector<Capture>& captures, std::string_view clean, size_t at,
                      int64_t number, RankTags& tags) {
  whole.take(row, captures, clean, at, number, tags);
  if (LogBuilder* own = of(service)) own->take(row, captures, clean, at, number, tags);
}

void ServerLogs::drop_failures(std::string_view service, size_t count) {
  const auto drop = [count](Log& log) {
    log.failures.resize(log.failures.size() - std::min(count, log.failures.size()));
  };
  drop(whole.log);
  if (LogBuilder* own = of(service)) drop(own->log);
}

void ServerLogs::close() {
  whole.close();
  std::vector<LogServer> servers;
  Log* chosen = nullptr;
  std::string chosen_name;
  const auto better = [&](const Log& log) {
    if (chosen == nullptr) return true;
    if (log.failures.empty() != chosen->failures.empty()) return chosen->failures.empty();
    return chosen->failures.empty() && weight_of(log) > weight_of(*chosen);
  };
  for (auto& [name, builder] : named_) {
    builder.close();
    const LogConfig& config = builder.log.config;
    if (config.model.empty()) continue;  // a proxy, a database; a worker on another node
    servers.push_back({name, config.engine, config.model});
    if (!better(builder.log)) continue;
    chosen = &builder.log;
    chosen_name = name;
  }
  const bool several = std::any_of(servers.begin(), servers.end(), [&](const LogServer& s) {
    return s.model != servers.front().model;
  });
  if (!several) return;
  chosen->bytes = whole.log.bytes;
  chosen->matched = whole.log.matched;
  whole.log = std::move(*chosen);
  whole.log.servers = std::move(servers);
  whole.log.server = std::move(chosen_name);
  named_.clear();
}

}  // namespace vramwise::verify
