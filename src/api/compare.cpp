// Two plans beside each other: what moves from the first to the second, and why. Works on answers,
// so that one that was saved by another release can be a side.
#include <algorithm>

#include "api/answer.h"
#include "api/asks.h"
#include "api/line.h"
#include "base/checked.h"
#include "base/sort.h"
#include "base/text.h"
#include "plan/plan.h"

namespace vramwise::api {
namespace {

using json::Value;

const Value& member(const Value& value, std::string_view key) {
  static const Value kNone;
  const Value* found = value.find(key);
  return found != nullptr ? *found : kNone;
}

int64_t integer(const Value& value, std::string_view key) {
  const Value& found = member(value, key);
  return found.is_integer() ? found.as_integer() : 0;
}

std::string text(const Value& value, std::string_view key) {
  const Value& found = member(value, key);
  return found.is_string() ? found.as_string() : std::string();
}

// {"answer":{…}} is a plan that was made before; anything else is a question to be planned.
Result<Value> answer_of(const json::Reader& side) {
  if (const auto saved = side.find("answer")) {
    const bool plan = saved->is_object() && member(saved->value(), "totals").is_object() &&
                      member(saved->value(), "ledger").is_array();
    if (!plan) {
      return fail(saved->error(ErrorCode::invalid_input, "the saved answer is no plan")
                      .hint("save one with `vramwise plan … --save FILE`"));
    }
    return saved->value();
  }
  if (side.has("line")) {
    TRY_ASSIGN(const FromLine from, request_from_line(side));
    return answer_of(json::Reader(from.request, "request"));
  }
  auto question = plan::read_request(side);
  if (!question) return fail(std::move(question.error()));
  TRY_ASSIGN(const plan::Plan plan, plan::make_plan(*question, plan::Levers::skip));
  return plan_answer(Value(), plan);
}

// The fullest device is the one whose rows add up to the totals.
int64_t shown_device(const Value& answer) {
  const int64_t total = integer(member(answer, "totals"), "total_bytes");
  for (const Value& device : member(answer, "devices").as_array()) {
    if (integer(device, "reserved_bytes") == total) return integer(device, "index");
  }
  return 0;
}

struct Row {
  std::string component, item, formula, source;
  int64_t bytes = 0;
};

std::vector<Row> rows_of(const Value& answer) {
  const bool cpu_only = member(answer, "devices").as_array().empty();
  const int64_t shown = shown_device(answer);
  std::vector<Row> rows;
  for (const Value& row : member(answer, "ledger").as_array()) {
    const Value& device = member(row, "device");
    const bool here = device.is_integer() ? device.as_integer() == shown : cpu_only;
    if (!here) continue;
    rows.push_back({text(row, "component"), text(row, "item"), text(row, "formula"),
                    text(row, "source"), integer(row, "bytes")});
  }
  return rows;
}

// Rows under the same name are one thing; a row without a partner counts from zero.
Value moved_rows(const Value& a, const Value& b) {
  const std::vector<Row> first = rows_of(a);
  std::vector<Row> second = rows_of(b);
  std::vector<bool> used(second.size());
  struct Move {
    const Row* from;
    const Row* to;
    int64_t delta;
  };
  std::vector<Move> moves;
  for (const Row& row : first) {
    const Row* partner = nullptr;
    for (size_t i = 0; i < second.size() && partner == nullptr; ++i) {
      if (used[i] || second[i].component != row.component || second[i].item != row.item) continue;
      used[i] = true;
      partner = &second[i];
    }
    const int64_t to = partner != nullptr ? partner->bytes : 0;
    moves.push_back({&row, partner, saturating_subtract(to, row.bytes)});
  }
  for (size_t i = 0; i < second.size(); ++i) {
    if (!used[i]) moves.push_back({nullptr, &second[i], second[i].bytes});
  }
  sort_stable(moves, [](const Move& x, const Move& y) {
    const int64_t size_x = x.delta < 0 ? -x.delta : x.delta;
    const int64_t size_y = y.delta < 0 ? -y.delta : y.delta;
    return size_x > size_y;
  });
  Value list = Value::array();
  for (const Move& move : moves) {
    if (move.delta == 0) continue;
    const Row& named = move.from != nullptr ? *move.from : *move.to;
    Value item = Value::object();
    item.set("component", named.component);
    item.set("item", named.item);
    if (move.from != nullptr) item.set("a_bytes", move.from->bytes);
    if (move.to != nullptr) item.set("b_bytes", move.to->bytes);
    item.set("difference_bytes", move.delta);
    const std::string rule_a = move.from != nullptr ? move.from->formula : std::string();
    const std::string rule_b = move.to != nullptr ? move.to->formula : std::string();
    if (!rule_a.empty()) item.set("a_formula", rule_a);
    if (!rule_b.empty()) item.set("b_formula", rule_b);
    const std::string source = move.to != nullptr ? move.to->source : named.source;
    if (!source.empty()) item.set("source", source);
    list.push(std::move(item));
  }
  return list;
}

// What the engine runs with, option by option, where the two differ.
void add_options(const Value& a, const Value& b, const std::string& prefix, Value& list) {
  const auto note = [&](const std::string& name, const Value* from, const Value* to) {
    Value item = Value::object();
    item.set("option", name);
    if (from != nullptr) item.set("a", *from);
    if (to != nullptr) item.set("b", *to);
    list.push(std::move(item));
  };
  for (const json::Member& m : a.as_object()) {
    const std::string name = prefix + m.key;
    const Value* other = b.find(m.key);
    if (other != nullptr && m.value.is_object() && other->is_object()) {
      add_options(m.value, *other, name + ".", list);
    } else if (other == nullptr || json::dump(m.value) != json::dump(*other)) {
      note(name, &m.value, other);
    }
  }
  for (const json::Member& m : b.as_object()) {
    if (a.find(m.key) == nullptr) note(prefix + m.key, nullptr, &m.value);
  }
}

// Sentences that stand under only one of the two.
Value only_in(const Value& one, const Value& other) {
  Value list = Value::array();
  for (const std::string_view key : {"assumptions", "warnings"}) {
    for (const Value& note : member(one, key).as_array()) {
      const std::string sentence = text(note, "text");
      const json::Array& others = member(other, key).as_array();
      const bool shared = std::any_of(others.begin(), others.end(),
                                      [&](const Value& n) { return text(n, "text") == sentence; });
      if (!shared && !sentence.empty()) list.push(sentence);
    }
  }
  return list;
}

Value totals_difference(const Value& a, const Value& b) {
  Value difference = Value::object();
  for (const json::Member& m : member(a, "totals").as_object()) {
    const Value* other = member(b, "totals").find(m.key);
    if (other != nullptr && m.value.is_integer() && other->is_integer()) {
      difference.set(m.key, saturating_subtract(other->as_integer(), m.value.as_integer()));
    }
  }
  return difference;
}

std::string sentence_of(const Value& a, const Value& b, int64_t more, bool anything) {
  std::string out;
  if (more != 0) {
    out = "The second takes " + format_bytes(Bytes(more < 0 ? -more : more)) +
          (more < 0 ? " less" : " more") + " on the fullest card";
  } else {
    out = anything ? "Both take the same on the fullest card, in other parts"
                   : "Both take the same on the fullest card";
  }
  const std::string before = text(a, "outcome"), after = text(b, "outcome");
  if (before != after) {
    out += "; the verdict goes from " + replace_all(before, "_", " ") + " to " +
           replace_all(after, "_", " ");
  }
  const int64_t users = integer(b, "users") - integer(a, "users");
  if (users != 0 && a.find("users") != nullptr && b.find("users") != nullptr) {
    out += "; users " + format_grouped(integer(a, "users")) + " to " +
           format_grouped(integer(b, "users"));
  }
  return out;
}

}  // namespace

// {"ask":"compare","a":{…request…},"b":{…}}: two answers, and what moves between them.
Result<Value> ask_compare(const json::Reader& request, const Value& id) {
  Value answers[2];
  const char* const names[] = {"a", "b"};
  for (int i = 0; i < 2; ++i) {
    TRY_ASSIGN(const json::Reader side, request.require({names[i]}));
    TRY_ASSIGN(answers[i], answer_of(side));
  }
  const Value& a = answers[0];
  const Value& b = answers[1];
  Value difference = totals_difference(a, b);
  Value rows = moved_rows(a, b);
  Value options = Value::array();
  const auto engine_name = [](const Value& x) { return text(member(x, "engine"), "name"); };
  // Options of different engines have nothing to do with each other.
  if (engine_name(a) == engine_name(b)) {
    add_options(member(member(a, "engine"), "options"), member(member(b, "engine"), "options"), "",
                options);
  }
  Value block = Value::object();
  const int64_t more = integer(difference, "total_bytes");
  block.set("answer", sentence_of(a, b, more, !rows.as_array().empty()));
  block.set("difference", std::move(difference));
  block.set("rows", std::move(rows));
  block.set("options", std::move(options));
  block.set("only_a", only_in(a, b));
  block.set("only_b", only_in(b, a));
  block.set("a", a);
  block.set("b", b);
  Value answer = answer_head(id);
  answer.set("compare", std::move(block));
  return answer;
}

}  // namespace vramwise::api
