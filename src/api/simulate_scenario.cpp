#include <vector>

#include "api/load_blocks.h"
#include "api/simulate.h"
#include "base/text.h"
#include "workload/jump_engine.h"
#include "workload/list_source.h"
#include "workload/read_scenario.h"
#include "workload/step_engine.h"

namespace vramwise::api {
namespace {

using json::Value;

// Times that are whole numbers are written as such, whatever the unit.
Value time_value(double t) {
  const int64_t whole = int64_t(t);
  return t >= 0 && t <= double(kLargestExactInteger) && double(whole) == t ? Value(whole)
                                                                           : Value(t);
}

class Recorder final : public workload::FateSink {
 public:
  Recorder(size_t requests, bool steps) : fates_(requests), wants_steps_(steps) {}
  void left(const workload::Fate& fate) override { fates_[size_t(fate.request.id)] = fate; }
  bool wants_steps() const override { return wants_steps_; }
  void step(double start, const std::vector<std::pair<int64_t, int64_t>>& scheduled,
            int64_t blocks) override {
    Value who = Value::array();
    for (const auto& [id, tokens] : scheduled) {
      Value pair = Value::array();
      pair.push(id);
      pair.push(tokens);
      who.push(std::move(pair));
    }
    Value row = Value::array();
    row.push(time_value(start));
    row.push(std::move(who));
    row.push(blocks);
    steps_.push(std::move(row));
  }
  Value events() const {
    Value list = Value::array();
    for (const workload::Fate& fate : fates_) {
      Value event = Value::object();
      if (fate.rejected) {
        event.set("rejected", true);
      } else {
        event.set("admit", time_value(fate.admit));
        event.set("first", time_value(fate.first));
        event.set("finish", time_value(fate.finish));
        event.set("preemptions", int64_t{fate.preemptions});
        event.set("hit_tokens", fate.hit_tokens);
        event.set("computed_tokens", fate.computed_tokens);
      }
      list.push(std::move(event));
    }
    return list;
  }
  Value take_steps() { return std::move(steps_); }

 private:
  std::vector<workload::Fate> fates_;
  bool wants_steps_;
  Value steps_ = Value::array();
};

}  // namespace

Result<Value> simulate_scenario(const json::Reader& request, const Observer& observer) {
  TRY_ASSIGN(const json::Reader scheduler_part, request.require({"scheduler"}));
  TRY_ASSIGN(const json::Reader load, request.require({"workload"}));
  TRY_ASSIGN(const json::Reader listed, load.require({"requests"}));
  workload::Scheduler scheduler;
  TRY(workload::read_scheduler(scheduler_part, scheduler));
  workload::StepTime time;
  std::string unit = "steps";
  if (const auto part = request.find("step_time")) {
    unit = "seconds";
    TRY(workload::read_step_time(*part, time, unit));
  }
  TRY_ASSIGN(std::vector<workload::Arrival> requests, workload::read_requests(listed));
  TRY_ASSIGN(const auto detail, request.optional_string({"detail"}));
  TRY_ASSIGN(const auto method, request.optional_string({"method"}));
  const size_t count = requests.size();
  workload::ListSource source(std::move(requests));
  Recorder recorder(count, detail.value_or("") == "trace");
  const workload::Limits limits = limits_of(observer);
  const std::string how = method.value_or("auto");
  if (how == "jumping" && !workload::can_jump(scheduler)) {
    return fail(Error(ErrorCode::unsupported,
                      "the event-jumping engine runs vLLM's rules without prefix caching and chunk "
                      "thresholds")
                    .at("method")
                    .hint("leave \"method\" out, or ask for \"stepwise\""));
  }
  TRY_ASSIGN(const workload::Totals totals,
             how == "stepwise"
                 ? workload::run_stepwise(scheduler, time, source, nullptr, &recorder, limits)
                 : workload::run_engine(scheduler, time, source, nullptr, &recorder, limits));
  Value block = Value::object();
  block.set("answer", format_grouped(totals.requests) + " requests in " +
                          format_grouped(totals.steps) + " steps, " +
                          format_grouped(totals.preemptions) + " preemptions");
  block.set("unit", unit);
  block.set("steps", totals.steps);
  block.set("peak_blocks", totals.peak_blocks);
  block.set("peak_running", totals.peak_running);
  block.set("peak_waiting", totals.peak_waiting);
  block.set("preemptions", totals.preemptions);
  block.set("scheduled_tokens", totals.scheduled_tokens);
  block.set("block_steps", totals.block_steps);
  block.set("rejected", totals.rejected);
  block.set("end", time_value(totals.end));
  if (totals.stopped) block.set("stopped", true);
  block.set("events", recorder.events());
  if (detail.value_or("") == "trace") block.set("trace", recorder.take_steps());
  return block;
}

}  // namespace vramwise::api
