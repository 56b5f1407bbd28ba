// The ask about several programs on one node.
#include "plan/node.h"

#include <algorithm>

#include "api/answer.h"
#include "api/asks.h"
#include "api/line.h"
#include "base/text.h"
#include "engines/launch/option_table.h"
#include "engines/launch/read_launch.h"
#include "plan/levers.h"
#include "plan/sentence.h"

namespace vramwise::api {
namespace {

using json::Value;

// Members of a process that are not those of a plan's request.
constexpr std::string_view kOwnMembers[] = {"name", "devices", "used_bytes", "host_bytes"};

bool is_server(const json::Reader& process) {
  return process.has("model") || process.has("line") || process.has("engine");
}

// The cards of a process: those it names, those its line leaves visible, as many as its parallel
// sizes ask for, else all of the node's.
Result<std::vector<size_t>> devices_of(const json::Reader& process, const Value& filled,
                                       size_t cards) {
  std::vector<size_t> devices;
  if (const auto given = process.find("devices")) {
    TRY_ASSIGN(const auto items, given->items());
    for (const json::Reader& item : items) {
      TRY_ASSIGN(const int64_t index, item.integer());
      if (size_t(index) >= cards) {
        return fail(
            item.error(ErrorCode::invalid_input, "the node has no card " + format_integer(index))
                .hint(cards == 0 ? "the node's hardware has no cards"
                                 : "its cards are 0 to " + format_integer(int64_t(cards) - 1)));
      }
      if (std::find(devices.begin(), devices.end(), size_t(index)) != devices.end()) {
        return fail(item.error(ErrorCode::inconsistent,
                               "card " + format_integer(index) + " is named twice"));
      }
      devices.push_back(size_t(index));
    }
    return devices;
  }
  size_t count = cards;
  if (const auto line = process.find("line")) {
    TRY_ASSIGN(const std::string text, line->string());
    TRY_ASSIGN(const auto reading, engines::launch::read_launch(text));
    if (reading.gpus.kind == engines::launch::Gpus::Kind::list) {
      for (const int64_t index : reading.gpus.indices) {
        if (index < 0 || size_t(index) >= cards) {
          return fail(line->error(ErrorCode::inconsistent,
                                  "the line asks for card " + format_integer(index) +
                                      ", the node has " + format_integer(int64_t(cards)))
                          .hint("say which of the node's cards it gets with \"devices\""));
        }
        devices.push_back(size_t(index));
      }
    }
    if (reading.gpus.number() > 0) count = size_t(reading.gpus.number());
  }
  if (devices.empty()) {
    for (size_t i = 0; i < cards; ++i) devices.push_back(i);
  }
  const Value* engine = filled.find("engine");
  const Value* name = engine != nullptr ? engine->find("name") : nullptr;
  const Value* options = engine != nullptr ? engine->find("options") : nullptr;
  if (options != nullptr && options->is_object()) {
    const auto found =
        engines::find_engine(name != nullptr ? name->as_string() : plan::Request().engine);
    const int64_t asked =
        found ? (*found)->devices_asked(engines::Options::from_json(*options)) : 0;
    if (asked > 0) count = size_t(asked);
  }
  if (count < devices.size()) devices.resize(count);
  return devices;
}

// The request of a plan that a server's process is, on the cards that it gets.
Value request_of(const json::Reader& process, const Value& hardware) {
  Value request = process.value();
  for (const std::string_view own : kOwnMembers) request.erase(own);
  request.set("hardware", hardware);
  return request;
}

Value no_cards() {
  Value none = Value::object();
  none.set("gpu", "none");
  return none;
}

Result<plan::NodeProcess> read_process(const json::Reader& from, size_t index,
                                       const plan::HardwareSpec& node) {
  plan::NodeProcess process;
  if (!from.is_object()) {
    return fail(from.error(ErrorCode::invalid_input, "a process must be an object")
                    .hint(R"(write {"name":"chat","line":"vllm serve Qwen/Qwen3-8B"})"));
  }
  TRY_ASSIGN(const auto name, from.optional_string({"name"}));
  process.name = name.value_or("process " + format_integer(int64_t(index) + 1)).substr(0, 60);
  if (!is_server(from)) {
    if (!from.has("used_bytes") && !from.has("host_bytes")) {
      return fail(from.error(ErrorCode::missing_field,
                             "'" + process.name + "' has neither line, model nor used_bytes")
                      .hint("a server has \"line\" (the command that starts it) or \"model\"; "
                            "anything else has \"used_bytes\" (what it holds on each card)"));
    }
    TRY_ASSIGN(const int64_t used, from.integer_or({"used_bytes"}, 0));
    TRY_ASSIGN(const int64_t host, from.integer_or({"host_bytes"}, 0));
    process.takes = Bytes(used);
    process.host = Bytes(host);
    if (used > 0) {
      TRY_ASSIGN(process.devices, devices_of(from, Value::object(), node.devices.size()));
    }
    return process;
  }
  if (from.has("used_bytes") || from.has("host_bytes")) {
    return fail(from.error(ErrorCode::inconsistent,
                           "'" + process.name + "' is a server and has sizes of its own")
                    .hint("leave out used_bytes and host_bytes: what a server takes is planned"));
  }
  // The machine comes from the node; the line is read as it stands.
  Value filled = request_of(from, no_cards());
  Notes told;
  if (from.has("line")) {
    TRY_ASSIGN(FromLine read, request_from_line(json::Reader(filled, "request")));
    filled = std::move(read.request);
    told.warnings = std::move(read.notes);
    filled.set("hardware", no_cards());
  }
  TRY_ASSIGN(process.devices, devices_of(from, filled, node.devices.size()));
  TRY_ASSIGN(plan::Request request, plan::read_request(json::Reader(filled, "request")));
  request.hardware = node;
  request.hardware.devices.clear();
  for (const size_t d : process.devices) {
    request.hardware.devices.push_back(node.devices[d]);
    request.hardware.devices.back().used = Bytes();
  }
  request.hardware.cpu_only = request.hardware.devices.empty();
  TRY_ASSIGN(process.server, plan::resolve(request));
  process.server->notes.append(told);
  return process;
}

Error in_process(Error error, size_t index) {
  const std::string place = "processes[" + format_integer(int64_t(index)) + "]";
  std::string& source = error.where.source;
  // A pointer into the request says where it is by itself.
  if (!contains(error.where.pointer, "/processes")) {
    source = source.empty() || source == "request" ? place : place + "." + source;
  }
  return error;
}

void set_range(Value& item, const std::string& name, const ByteRange& range) {
  item.set(name + "_bytes", range.likely);
  if (range.is_exact()) return;
  item.set(name + "_low_bytes", range.low);
  item.set(name + "_high_bytes", range.high);
}

std::string answer_of(const plan::NodeStart& start) {
  if (start.plan) return plan::sentence(*start.plan);
  if (start.verdict.outcome == plan::Outcome::fits) return "holds what it is said to hold";
  return start.verdict.explanation;
}

Value process_block(const plan::NodeProcess& process, const plan::NodeStart& start) {
  Value item = Value::object();
  item.set("name", process.name);
  item.set("kind", process.server ? "server" : "other");
  if (process.server) {
    item.set("engine", process.server->engine->name());
    item.set("model", process.server->model->id);
  }
  item.set("outcome", plan::to_string(start.verdict.outcome));
  item.set("starts", start.verdict.starts);
  item.set("answer", answer_of(start));
  if (!start.verdict.binding.empty()) item.set("binding", start.verdict.binding);
  if (start.verdict.shortfall.count() > 0) item.set("shortfall_bytes", start.verdict.shortfall);
  if (!start.verdict.engine_error.empty()) item.set("engine_error", start.verdict.engine_error);
  if (start.plan && start.plan->assessment.users >= 0) {
    item.set("users", start.plan->assessment.users);
  }
  Value cards = Value::array();
  for (size_t i = 0; i < process.devices.size(); ++i) {
    Value card = Value::object();
    card.set("device", int64_t(process.devices[i]));
    set_range(card, "found_free", start.found[i]);
    set_range(card, "takes", start.verdict.starts ? start.takes[i] : ByteRange::exactly(Bytes()));
    card.set("need_bytes", start.needs[i]);
    cards.push(std::move(card));
  }
  item.set("devices", std::move(cards));
  item.set("host_bytes", start.verdict.starts ? start.host.likely : Bytes());
  item.set("host_peak_bytes", start.host_peak);
  if (start.plan) item.set("plan", plan_answer(Value(), *start.plan));
  return item;
}

std::string flag_of(engines::launch::OptionTables& tables, std::string_view engine,
                    const std::string& name) {
  const auto* table = tables.get(engine);
  const auto* option = table != nullptr ? table->by_name(name) : nullptr;
  return option != nullptr ? std::string(engines::launch::OptionTable::best_spelling(*option))
                           : "--" + name;
}

Value change_block(const plan::NodeQuestion& question, const plan::NodeChange& change) {
  Value item = Value::object();
  if (!change.order.empty()) {
    Value order = Value::array();
    std::string names;
    for (const size_t index : change.order) {
      order.push(int64_t(index));
      names += (names.empty() ? "" : ", then ") + question.processes[index].name;
    }
    item.set("change", "start them in another order: " + names);
    item.set("cost", "the order has to be kept at every restart");
    item.set("order", std::move(order));
  }
  if (!change.options.empty()) {
    engines::launch::OptionTables tables;
    item.set("change", change.options.size() == 1 ? "take another share of the card"
                                                  : "share the cards out anew");
    item.set("cost", "smaller caches where the shares shrink");
    Value options = Value::array();
    for (const plan::NodeChange::Option& option : change.options) {
      const plan::NodeProcess& process = question.processes[option.process];
      Value one = Value::object();
      one.set("process", int64_t(option.process));
      one.set("name", process.name);
      one.set("option", flag_of(tables, process.server->engine->name(), option.name) + " " +
                            format_number(option.value.as_double()));
      Value set = Value::object();
      set.set(option.name, option.value);
      one.set("set", std::move(set));
      options.push(std::move(one));
    }
    item.set("options", std::move(options));
  }
  item.set("outcome", plan::to_string(plan::Outcome::fits));
  return item;
}

Value devices_block(const plan::NodeQuestion& question, const plan::NodePlan& plan) {
  Value list = Value::array();
  for (size_t d = 0; d < question.hardware.devices.size(); ++d) {
    const engines::Device& device = question.hardware.devices[d];
    Value item = Value::object();
    item.set("index", int64_t(d));
    item.set("gpu", device.gpu.id);
    item.set("total_bytes", device.total);
    item.set("used_bytes", device.used);
    set_range(item, "taken", plan.taken[d]);
    item.set("free_bytes", device.free() - plan.taken[d].likely);
    list.push(std::move(item));
  }
  return list;
}

}  // namespace

namespace {

// The reader of requests wants a model; a node has those of its processes.
Result<plan::HardwareSpec> hardware_of(const json::Reader& request) {
  Value alone = Value::object();
  if (const Value* hardware = request.value().find("hardware")) alone.set("hardware", *hardware);
  alone.set("model", Value::object()).set("ref", "any");
  TRY_ASSIGN(plan::Request read, plan::read_request(json::Reader(alone, "request")));
  return std::move(read.hardware);
}

std::vector<Note> unknown_members(const json::Reader& request) {
  Notes notes;
  for (const json::Member& member : request.value().as_object()) {
    const std::string_view known[] = {"schema_version", "id", "ask", "hardware", "processes"};
    if (std::find(std::begin(known), std::end(known), member.key) != std::end(known)) continue;
    notes.warn("unknown_field",
               "field '" + member.key.substr(0, 60) + "' is not known and was not used");
  }
  return notes.warnings;
}

}  // namespace

Result<Value> ask_node(const json::Reader& request, const Value& id) {
  TRY_ASSIGN(const plan::HardwareSpec spec, hardware_of(request));
  TRY_ASSIGN(const json::Reader list, request.require({"processes"}));
  TRY_ASSIGN(const auto items, list.items());
  if (items.empty() || items.size() > plan::kMostNodeProcesses) {
    return fail(
        list.error(ErrorCode::invalid_input, "'processes' must list 1 to " +
                                                 format_integer(int64_t(plan::kMostNodeProcesses)) +
                                                 " programs, in start order"));
  }
  plan::NodeQuestion question;
  TRY_ASSIGN(question.hardware, plan::resolve_hardware(spec));
  for (size_t i = 0; i < items.size(); ++i) {
    auto process = read_process(items[i], i, spec);
    if (!process) return fail(in_process(std::move(process.error()), i));
    question.processes.push_back(std::move(*process));
  }
  TRY_ASSIGN(plan::NodePlan plan, plan::plan_node(question));
  // What would help a server alone is searched only where it is needed.
  for (plan::NodeStart& start : plan.starts) {
    if (!start.plan || start.verdict.outcome == plan::Outcome::fits) continue;
    start.plan->levers =
        plan::find_levers(start.plan->resolved, start.plan->assessment, start.plan->verdict);
  }

  Value answer = answer_head(id);
  answer.set("outcome", plan::to_string(plan.verdict.outcome));
  answer.set("starts", std::all_of(plan.starts.begin(), plan.starts.end(),
                                   [](const plan::NodeStart& s) { return s.verdict.starts; }));
  answer.set("answer", plan::sentence(question, plan));
  Value block = Value::object();
  block.set("decides", int64_t(plan.decides));
  block.set("devices", devices_block(question, plan));
  Value host = Value::object();
  if (question.hardware.ram.count() > 0) host.set("ram_bytes", question.hardware.ram);
  host.set("taken_bytes", plan.host.likely);
  host.set("peak_bytes", plan.host_peak);
  block.set("host", std::move(host));
  Value processes = Value::array();
  for (size_t i = 0; i < plan.starts.size(); ++i) {
    processes.push(process_block(question.processes[i], plan.starts[i]));
  }
  block.set("processes", std::move(processes));
  Value changes = Value::array();
  for (const plan::NodeChange& change : plan.changes) {
    changes.push(change_block(question, change));
  }
  block.set("changes", std::move(changes));
  answer.set("node", std::move(block));
  const std::vector<Note> warnings = unknown_members(request);
  if (!warnings.empty()) answer.set("warnings", notes_block(warnings));
  return answer;
}

}  // namespace vramwise::api
