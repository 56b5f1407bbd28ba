#include "workload/replicas.h"

#include <algorithm>
#include <deque>
#include <memory>

#include "base/text.h"
#include "workload/step_engine.h"

namespace vramwise::workload {
namespace {

// What the router has given to one server.
class Inbox final : public Source {
 public:
  Inbox(const Source& all, int64_t longest_output) : all_(all), longest_output_(longest_output) {}
  double next_time() const override { return requests_.empty() ? known_ : requests_.front().time; }
  Arrival take() override {
    const Arrival request = requests_.front();
    requests_.pop_front();
    return request;
  }
  bool draining() const override { return all_.draining(); }
  int64_t longest_output() const override { return longest_output_; }
  void put(const Arrival& request) { requests_.push_back(request); }
  void known_until(double time) { known_ = time; }
  int64_t size() const { return int64_t(requests_.size()); }

 private:
  const Source& all_;
  int64_t longest_output_;
  double known_ = 0;
  std::deque<Arrival> requests_;
};

struct Server {
  Inbox inbox;
  std::unique_ptr<Engine> engine;
};

// vLLM's count. What is in the inbox waits already.
int64_t load_of(const Server& server) {
  return 4 * (server.engine->waiting() + server.inbox.size()) + server.engine->running();
}

size_t choose(const std::vector<std::unique_ptr<Server>>& servers, Router router, size_t turn) {
  if (router == Router::round_robin) return turn;
  size_t best = turn;
  for (size_t k = 1; k < servers.size(); ++k) {
    const size_t other = (turn + k) % servers.size();
    if (load_of(*servers[other]) < load_of(*servers[best])) best = other;
  }
  return best;
}

}  // namespace

std::string_view to_string(Router router) {
  return router == Router::round_robin ? "round_robin" : "least_requests";
}

Result<Router> router_of(std::string_view name) {
  if (name == "round_robin") return Router::round_robin;
  if (name == "least_requests") return Router::least_requests;
  return fail(
      Error(ErrorCode::not_found, "unknown router '" + std::string(name.substr(0, 60)) + "'")
          .hint("routers: least_requests, round_robin"));
}

bool follows_answers(const Arrivals& arrivals, const Trace* trace) {
  if (arrivals.kind == Arrivals::Kind::closed || arrivals.kind == Arrivals::Kind::sessions) {
    return true;
  }
  return arrivals.kind == Arrivals::Kind::trace && trace != nullptr &&
         std::any_of(trace->rows.begin(), trace->rows.end(),
                     [](const TraceRow& row) { return row.session >= 0; });
}

Result<Totals> run_replicas(const Scheduler& scheduler, const StepTime& time, Source& source,
                            Router router, std::vector<Meter>& meters, const Limits& limits) {
  TRY(check(scheduler));
  std::vector<std::unique_ptr<Server>> servers;
  for (Meter& meter : meters) {
    servers.push_back(std::make_unique<Server>(Server{{source, source.longest_output()}, nullptr}));
    Server& server = *servers.back();
    server.engine = make_engine(scheduler, time, server.inbox, &meter, nullptr);
  }
  size_t turn = 0;
  bool stopped = false;
  while (!stopped) {
    const double next = source.next_time();
    for (const auto& server : servers) {
      server->inbox.known_until(next);
      TRY(server->engine->advance(next, limits));
      stopped = stopped || server->engine->totals().stopped;
    }
    if (!(next < kNever)) break;
    servers[choose(servers, router, turn)]->inbox.put(source.take());
    turn = (turn + 1) % servers.size();
  }
  Totals sum;
  for (const auto& server : servers) sum.add(server->engine->totals());
  return sum;
}

}  // namespace vramwise::workload
