// What would make a node fit, planned again as a whole: another start order, other shares.
#include <algorithm>

#include "engines/launch/option_table.h"
#include "plan/node.h"

namespace vramwise::plan {
namespace {

// 24 orders of 4 servers; with more, the order is left to the person.
constexpr size_t kMostOrdered = 4;

bool fits(const NodeQuestion& question, const NodeChange& change) {
  const auto verdict = judge_node(question, change);
  return verdict && verdict->outcome == Outcome::fits;
}

// The first other order of the servers, nearest to the asked one, in which all fit. Whatever else
// holds memory keeps its turn.
void find_order(const NodeQuestion& question, std::vector<NodeChange>& out) {
  std::vector<size_t> turns;
  for (size_t i = 0; i < question.processes.size(); ++i) {
    if (question.processes[i].server) turns.push_back(i);
  }
  if (turns.size() < 2 || turns.size() > kMostOrdered) return;
  std::vector<size_t> order(question.processes.size());
  std::vector<size_t> servers = turns;
  while (std::next_permutation(servers.begin(), servers.end())) {
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (size_t i = 0; i < turns.size(); ++i) order[turns[i]] = servers[i];
    NodeChange change;
    change.order = order;
    if (!fits(question, change)) continue;
    out.push_back(std::move(change));
    return;
  }
}

// A server whose engine takes a share of the card.
struct Sharing {
  size_t process = 0;
  std::string option;
  int least = 0;  // percent with which it alone fits on what is left
};

NodeChange with_shares(const std::vector<Sharing>& servers, int extra) {
  NodeChange change;
  for (const Sharing& s : servers) {
    const double share = double(std::min(99, s.least + extra)) / 100;
    change.options.push_back({s.process, s.option, json::Value(share)});
  }
  return change;
}

// Each server gets the least share that holds its own load, in start order; then all of them as
// much more, in equal parts, as still fits.
void find_shares(const NodeQuestion& question, std::vector<NodeChange>& out) {
  engines::launch::OptionTables tables;
  std::vector<Sharing> servers;
  NodeQuestion so_far = question;
  so_far.processes.clear();
  for (size_t i = 0; i < question.processes.size(); ++i) {
    so_far.processes.push_back(question.processes[i]);
    const auto& server = question.processes[i].server;
    if (!server) continue;
    const auto* table = tables.get(server->engine->name());
    const auto* share = table != nullptr ? table->by_idea("memory_fraction") : nullptr;
    if (share == nullptr) continue;
    const std::string& option = share->name;
    Sharing sharing{i, option, 0};
    for (int percent = 1; percent < 100 && sharing.least == 0; ++percent) {
      std::vector<Sharing> tried = servers;
      tried.push_back({i, option, percent});
      if (fits(so_far, with_shares(tried, 0))) sharing.least = percent;
    }
    if (sharing.least == 0) return;
    servers.push_back(std::move(sharing));
  }
  if (servers.empty() || !fits(question, with_shares(servers, 0))) return;
  int extra = 0;
  for (int step = 64; step > 0; step /= 2) {
    if (extra + step < 99 && fits(question, with_shares(servers, extra + step))) extra += step;
  }
  out.push_back(with_shares(servers, extra));
}

}  // namespace

std::vector<NodeChange> find_node_changes(const NodeQuestion& question) {
  std::vector<NodeChange> changes;
  find_order(question, changes);
  find_shares(question, changes);
  return changes;
}

}  // namespace vramwise::plan
