#include "api/verify.h"

#include <algorithm>

#include "api/answer.h"
#include "api/asks.h"
#include "api/line.h"
#include "base/text.h"
#include "plan/plan.h"
#include "verify/log_reader.h"
#include "verify/measured.h"
#include "verify/post_mortem.h"
#include "verify/reconcile.h"
#include "verify/repair.h"
#include "verify/request.h"

namespace vramwise::api {
namespace {

using json::Value;

Value amount(double value, verify::Unit unit) {
  if (unit == verify::Unit::bytes) return Value(int64_t(value));
  const auto whole = int64_t(value);
  return double(whole) == value ? Value(whole) : Value(value);
}

Value read_block(const verify::Log& log) {
  Value block = Value::object();
  block.set("bytes", log.bytes);
  block.set("lines", log.lines);
  block.set("matched", log.matched);
  if (log.truncated) block.set("truncated", true);
  if (log.starts > 1) block.set("starts", log.starts);
  if (!log.servers.empty()) {
    Value servers = Value::array();
    for (const verify::LogServer& s : log.servers) {
      Value item = Value::object();
      item.set("name", s.name);
      item.set("engine", s.engine);
      item.set("model", s.model);
      servers.push(std::move(item));
    }
    block.set("servers", std::move(servers));
    block.set("server", log.server);
  }
  return block;
}

// Every value that was read, for programs and for what no row shows.
Value logged_block(const verify::Log& log) {
  Value list = Value::array();
  for (const verify::Reading& r : log.readings) {
    Value item = Value::object();
    item.set("field", r.field);
    if (!r.device.empty()) item.set("device", r.device);
    if (!r.rank.empty()) item.set("rank", r.rank);
    if (r.number) {
      item.set("value", amount(r.last, r.unit));
      if (r.unit == verify::Unit::bytes) item.set("unit", "bytes");
      if (r.count > 1 && r.smallest != r.largest) {
        item.set("smallest", amount(r.smallest, r.unit));
        item.set("largest", amount(r.largest, r.unit));
      }
    } else {
      item.set("text", r.text);
    }
    item.set("printed", r.text);
    item.set("log_line", r.line);
    if (r.count > 1) item.set("times", r.count);
    list.push(std::move(item));
  }
  return list;
}

Value rows_block(const verify::Reconciliation& r) {
  Value list = Value::array();
  for (const verify::Row& row : r.rows) {
    const verify::Expected& e = row.expected;
    Value item = Value::object();
    item.set("line", e.line);
    item.set("field", e.field);
    item.set("component", verify::to_string(e.component));
    if (e.unit == verify::Unit::bytes) item.set("unit", "bytes");
    item.set("predicted", amount(e.likely, e.unit));
    if (e.low != e.high) {
      item.set("low", amount(e.low, e.unit));
      item.set("high", amount(e.high, e.unit));
    }
    item.set("logged", amount(row.logged.value, e.unit));
    item.set("difference", amount(row.difference, e.unit));
    item.set("exact", row.exact);
    item.set("within_bar", row.within_bar);
    item.set("log_line", row.logged.line);
    if (row.logged.ranks.size() > 1) {
      Value ranks = Value::array();
      for (const verify::Reading* reading : row.logged.ranks) {
        Value rank = Value::object();
        rank.set("rank", reading->rank);
        rank.set("logged", amount(reading->last, e.unit));
        ranks.push(std::move(rank));
      }
      item.set("ranks", std::move(ranks));
    }
    list.push(std::move(item));
  }
  return list;
}

Value attribution_block(const verify::Reconciliation& r) {
  Value list = Value::array();
  for (const verify::Attribution& a : r.attributions) {
    Value item = Value::object();
    item.set("component", verify::to_string(a.component));
    item.set("difference_bytes", int64_t(a.bytes));
    item.set("beyond_bar", a.beyond_bar);
    item.set("text", a.text);
    list.push(std::move(item));
  }
  return list;
}

Value checks_block(const std::vector<verify::Check>& checks) {
  Value list = Value::array();
  for (const verify::Check& c : checks) {
    Value item = Value::object();
    item.set("id", c.id);
    item.set("holds", c.holds);
    item.set("difference_bytes", int64_t(c.difference));
    item.set("text", c.text);
    list.push(std::move(item));
  }
  return list;
}

Value notes_list(const std::vector<Note>& notes) {
  Value list = Value::array();
  for (const Note& note : notes) {
    Value item = Value::object();
    item.set("id", note.id);
    item.set("text", note.text);
    list.push(std::move(item));
  }
  return list;
}

// The plan at the cache memory that was logged; nothing where the engine takes none.
std::optional<plan::Plan> plan_at_logged_cache(const verify::Log& log, const plan::Plan& plan) {
  const std::string_view option = verify::cache_bytes_option(plan.resolved.engine->name());
  const verify::Reading* cache = log.one("available");
  if (option.empty() || cache == nullptr || cache->last <= 0) return std::nullopt;
  plan::Resolved again = plan.resolved;
  again.settings.options.set(option, Value(int64_t(cache->last)));
  auto made = plan::make_plan(std::move(again), plan::Levers::skip);
  if (!made) return std::nullopt;
  return std::move(*made);
}

Value failure_block(const verify::Log& log, const verify::PostMortem& m,
                    const std::optional<verify::Repair>& repair) {
  Value block = Value::object();
  block.set("cause", verify::to_string(m.cause));
  if (m.phase) block.set("phase", verify::to_string(*m.phase));
  block.set("kind", m.failure->id);
  block.set("text", m.text);
  block.set("log_line", m.failure->line);
  block.set("printed", m.failure->text);
  if (!m.failure->rank.empty()) block.set("rank", m.failure->rank);
  if (m.needed) block.set("needed", amount(*m.needed, verify::Unit::none));
  if (m.available) block.set("available", amount(*m.available, verify::Unit::none));
  if (m.shortfall) {
    block.set("shortfall", amount(*m.shortfall, verify::Unit::none));
    block.set("shortfall_is_least", m.shortfall_is_least);
  }
  if (m.others > 0) block.set("other_processes_bytes", int64_t(m.others));
  if (m.failure->has("estimated_length")) {
    block.set("estimated_length", int64_t(m.failure->number("estimated_length")));
  }
  Value advice = Value::array();
  for (const verify::Advice& a : m.advice) {
    Value item = Value::object();
    item.set("knob", a.knob);
    item.set("direction", a.direction);
    item.set("text", a.text);
    advice.push(std::move(item));
  }
  block.set("advice", std::move(advice));
  block.set("failures", int64_t(log.failures.size()));
  if (repair) {
    block.set("reproduced", repair->reproduced);
    Value changes = Value::array();
    for (const auto& [kind, lever] : repair->changes) {
      Value item = Value::object();
      item.set("kind", verify::to_string(kind));
      item.set("change", lever.change);
      if (!lever.option.empty()) item.set("option", lever.option);
      if (!lever.cost.empty()) item.set("cost", lever.cost);
      item.set("outcome", plan::to_string(lever.after.outcome));
      item.set("set", lever.set);
      changes.push(std::move(item));
    }
    block.set("changes", std::move(changes));
    if (!repair->none_because.empty()) block.set("no_changes_because", repair->none_because);
    if (repair->reproduced) block.set("as_it_was", repair->as_it_was);
  }
  return block;
}

std::string status_of(const verify::Log& log) {
  if (!log.failures.empty() && !log.serving) return "failed";
  if (!log.failures.empty()) return "failed_later";
  return log.serving ? "started" : "incomplete";
}

std::string sentence(const verify::Log& log, const verify::Reconciliation* r,
                     const std::vector<std::string>& lacking) {
  std::string text;
  if (r == nullptr) {
    text = "read " + format_grouped(int64_t(log.readings.size())) + " values";
    std::vector<std::string> why;
    for (const std::string& part : lacking) {
      const bool named = part == "model" && !log.config.model.empty();
      why.push_back(named ? "the catalog does not know its model '" +
                                log.config.model.substr(0, 120) + "'"
                          : "the log does not name the " + part);
    }
    if (!why.empty()) text += "; nothing to set beside them: " + join(why, " and ");
    return text;
  }
  size_t exact = 0, within = 0;
  for (const verify::Row& row : r->rows) {
    exact += row.exact ? 1 : 0;
    within += row.within_bar ? 1 : 0;
  }
  const auto n = int64_t(r->rows.size());
  if (n == 0) return "the log prints none of the lines that were predicted";
  if (r->agrees) {
    text = "as predicted: " + format_integer(n) + (n == 1 ? " line" : " lines") +
           " within the bars, " + format_integer(int64_t(exact)) + " to the printed digit";
  } else {
    text = format_integer(n - int64_t(within)) + " of " + format_integer(n) +
           (n == 1 ? " line is" : " lines are") + " not as predicted";
    for (const verify::Check& c : r->checks) {
      if (!c.holds && n == int64_t(within)) text = "the log's own numbers do not agree: " + c.text;
    }
  }
  if (!r->attributions.empty() && r->attributions.front().beyond_bar) {
    text += "; what is off: " + r->attributions.front().text;
  }
  return text;
}

std::string asked_engine(const Value& request) {
  const Value* engine = request.find("engine");
  const Value* name = engine == nullptr ? nullptr : engine->find("name");
  if (name == nullptr) return {};
  const auto found = engines::find_engine(name->as_string());
  return found ? std::string((*found)->name()) : std::string();
}

Result<Value> verify_answer(const verify::Log& log, const json::Reader& given, const Value& id) {
  Value request_value = given.value();
  if (given.has("line")) {
    TRY_ASSIGN(FromLine from, request_from_line(given));
    request_value = std::move(from.request);
  }
  request_value.erase("log");
  const verify::LogRequest asked = verify::request_of(log, request_value);
  Value answer = answer_head(id);
  Value block = Value::object();
  const std::string status = status_of(log);
  block.set("status", status);
  block.set("phase", verify::to_string(log.phase));
  const std::string engine =
      log.config.engine.empty() ? asked_engine(asked.request) : log.config.engine;
  block.set("engine", engine);
  if (!log.config.version.empty()) block.set("version", log.config.version);
  if (!log.config.model.empty()) block.set("model", log.config.model);
  block.set("read", read_block(log));

  Notes notes = asked.notes;
  std::optional<plan::Plan> plan, pool;
  std::optional<verify::Reconciliation> result;
  if (log.readings.empty() && log.failures.empty()) {
    return fail(Error(ErrorCode::invalid_input,
                      "no line of the log is one that a serving engine prints about memory")
                    .at("log")
                    .hint("engines read: vLLM, SGLang, TensorRT-LLM, llama.cpp, Ollama")
                    .hint("give the log from the start of the process, up to where it serves"));
  }
  if (asked.lacking.empty()) {
    TRY_ASSIGN(const plan::Request question,
               plan::read_request(json::Reader(asked.request, "request")));
    TRY_ASSIGN(plan, plan::make_plan(question, plan::Levers::skip));
    pool = plan_at_logged_cache(log, *plan);
    result = verify::reconcile(log, *plan, pool ? &*pool : nullptr);
  }
  auto mortem = verify::post_mortem(log, engine);
  std::optional<verify::Repair> repair;
  if (mortem && plan && plan->resolved.engine->name() == asked_engine(asked.request)) {
    repair = verify::repair(log, *mortem, plan->resolved);
    std::erase_if(mortem->advice, [&](const verify::Advice& a) {
      return verify::turned_back(*repair, plan->assessment.effective, a);
    });
  }
  block.set("answer",
            mortem ? mortem->text : sentence(log, result ? &*result : nullptr, asked.lacking));
  if (mortem) block.set("failure", failure_block(log, *mortem, repair));
  if (plan && !mortem) {
    Value run = verify::measured_run(log, *plan);
    if (!run.is_null()) block.set("measured", std::move(run));
  }
  if (result) {
    block.set("agrees", result->agrees);
    block.set("rows", rows_block(*result));
    block.set("attribution", attribution_block(*result));
    block.set("checks", checks_block(result->checks));
  } else {
    Value lacking = Value::array();
    for (const std::string& part : asked.lacking) lacking.push(part);
    block.set("lacking", std::move(lacking));
    block.set("checks", checks_block(verify::check_log(log)));
  }
  block.set("logged", logged_block(log));
  block.set("request", asked.request);
  answer.set("verify", std::move(block));
  if (plan) {
    notes.append(plan->resolved.notes);
    notes.append(plan->assessment.notes);
  }
  // The log shows what that variable would ask for; nobody set it.
  const auto variable = [](const auto& entry) { return entry.first == "VLLM_FORCE_AOT_LOAD"; };
  if (plan && std::any_of(log.config.env.begin(), log.config.env.end(), variable)) {
    std::erase_if(notes.warnings, [](const Note& note) { return note.id == "first_start"; });
    notes.assume("restart",
                 "read as a restart, which loads what an earlier start compiled; a first start "
                 "has less room for the cache");
  }
  answer.set("assumptions", notes_list(notes.assumptions));
  answer.set("warnings", notes_list(notes.warnings));
  return answer;
}

}  // namespace

Result<std::optional<Need>> attach_log(Value& request, std::span<const BlobPart> parts) {
  // A start is at the head of a log, what it died of at its tail.
  constexpr int64_t kWhole = int64_t{32} << 20, kHalf = kWhole / 2;
  Value* log = request.is_object() ? request.find("log") : nullptr;
  if (log == nullptr || !log->is_object()) return std::optional<Need>();
  const json::Reader reader(*log, "log");
  TRY_ASSIGN(const int64_t blob, reader.require_integer({"blob"}, 0, 4096));
  TRY_ASSIGN(const int64_t size, reader.require_integer({"size_bytes"}, 0));
  std::vector<Need> ranges;
  if (size <= kWhole) {
    ranges.push_back({blob, 0, size});
  } else {
    ranges = {{blob, 0, kHalf}, {blob, size - kHalf, kHalf}};
  }
  std::string text;
  for (const Need& need : ranges) {
    const BlobPart* found = nullptr;
    for (const BlobPart& part : parts) {
      const bool holds = part.blob == need.blob && part.offset <= need.offset &&
                         part.offset + int64_t(part.bytes.size()) >= need.offset + need.bytes;
      if (holds) found = &part;
    }
    if (found == nullptr && need.bytes > 0) return std::optional<Need>(need);
    if (found != nullptr) {
      text += found->bytes.substr(size_t(need.offset - found->offset), size_t(need.bytes));
    }
    if (ranges.size() > 1) text += '\n';
  }
  *log = Value(std::move(text));
  return std::optional<Need>();
}

struct LogSession::State {
  verify::LogReader reader;
};

LogSession::LogSession() : state_(std::make_unique<State>()) {}
LogSession::~LogSession() = default;
LogSession::LogSession(LogSession&&) noexcept = default;
LogSession& LogSession::operator=(LogSession&&) noexcept = default;

void LogSession::feed(std::string_view bytes) { state_->reader.feed(bytes); }

Value LogSession::answer(const Value& request) {
  state_->reader.finish();
  const Value* given_id = request.find("id");
  const Value id = given_id != nullptr ? *given_id : Value();
  auto answer = verify_answer(state_->reader.log(), json::Reader(request, "request"), id);
  return answer ? std::move(*answer) : error_answer(id, answer.error());
}

bool LogSession::settled() const {
  const verify::Log& log = state_->reader.log();
  return log.serving || !log.failures.empty();
}

int64_t LogSession::matched() const { return state_->reader.log().matched; }

Result<Value> ask_verify(const json::Reader& request, const Value& id) {
  TRY_ASSIGN(const std::string text, request.require_string({"log"}));
  return verify_answer(verify::read_log(text), request, id);
}

}  // namespace vramwise::api
