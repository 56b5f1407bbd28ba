#include "host/machine/machine.h"

namespace vramwise::host {
namespace {

using json::Value;

Value card_json(const Card& card) {
  Value out = Value::object();
  out.set("index", card.index);
  out.set("name", card.name);
  if (!card.id.empty()) out.set("id", card.id);
  out.set("vendor", card.vendor);
  if (!card.gpu.empty()) out.set("gpu", card.gpu);
  if (!card.slice.empty()) out.set("slice", card.slice);
  if (card.divided) out.set("divided", true);
  if (card.unified) out.set("unified_memory", true);
  out.set("driver_total_bytes", card.driver_total);
  out.set("total_bytes", card.total);
  out.set("total_basis", card.total_basis);
  out.set("used_bytes", card.used);
  out.set("free_bytes", card.free);
  if (card.busy_percent) out.set("busy_percent", *card.busy_percent);
  Value processes = Value::array();
  for (const CardProcess& process : card.processes) {
    Value& entry = processes.push(Value::object());
    entry.set("pid", process.pid);
    if (!process.name.empty()) entry.set("name", process.name);
    if (process.used) entry.set("used_bytes", *process.used);
  }
  out.set("processes", std::move(processes));
  return out;
}

}  // namespace

Value to_json(const Machine& machine) {
  Value out = Value::object();
  if (!machine.source.empty()) out.set("source", machine.source);
  if (!machine.driver.empty()) out.set("driver_version", machine.driver);
  if (!machine.cuda.empty()) out.set("cuda_version", machine.cuda);
  Value& cards = out.set("cards", Value::array());
  for (const Card& card : machine.cards) cards.push(card_json(card));
  const HostMemory& host = machine.host;
  Value& memory = out.set("host", Value::object());
  memory.set("total_bytes", host.total);
  memory.set("available_bytes", host.available);
  memory.set("usable_bytes", host.usable());
  if (host.limit) {
    memory.set("limit_bytes", *host.limit);
    memory.set("limit_used_bytes", host.limit_used);
    memory.set("limit_source", host.limit_source);
  }
  memory.set("processors", host.processors);
  if (host.shared_memory) memory.set("shared_memory_bytes", *host.shared_memory);
  Value& findings = out.set("findings", Value::array());
  for (const Finding& finding : machine.findings) {
    Value& entry = findings.push(Value::object());
    entry.set("id", finding.id);
    entry.set("weight", finding.weight == Finding::Weight::problem ? "problem" : "note");
    entry.set("text", finding.text);
    if (!finding.next.empty()) entry.set("next", finding.next);
  }
  return out;
}

}  // namespace vramwise::host
