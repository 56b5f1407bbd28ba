#include "apps/cli/doctor.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "base/text.h"
#include "host/machine/local_hardware.h"
#include "json/value.h"
#include "report/fields.h"
#include "report/table.h"

namespace vramwise::cli {
namespace {

using host::Card;
using host::Finding;
using host::Machine;
using report::Ink;
using report::Style;

std::string size(const Style& style, Bytes bytes) {
  return report::size_text(style, bytes.count());
}

bool has_problem(const Machine& machine) {
  return std::any_of(machine.findings.begin(), machine.findings.end(),
                     [](const Finding& f) { return f.weight == Finding::Weight::problem; });
}

std::string first_line(const Machine& machine, const std::vector<Card>& usable,
                       const Style& style) {
  if (usable.empty()) {
    return machine.cards.empty() ? "no GPU found; " + size(style, machine.host.usable()) +
                                       " of host memory for llama.cpp and Ollama"
                                 : "no GPU here can be used";
  }
  Bytes free;
  Bytes total;
  bool slices = false;
  for (const Card& card : usable) {
    free += card.free;
    total += card.total;
    slices = slices || !card.slice.empty();
  }
  const std::string what = slices ? "GPU or slice" : "GPU";
  const std::string plural = slices ? "GPUs and slices" : "GPUs";
  return std::to_string(usable.size()) + " " + (usable.size() == 1 ? what : plural) + ", " +
         size(style, free) + " free of " + size(style, total);
}

// "NVML, driver 570.86.15, CUDA up to 12.8"
std::string source_line(const Machine& machine) {
  if (machine.source.empty()) return {};
  std::string text = "read by " + machine.source;
  if (!machine.driver.empty()) text += ", driver " + machine.driver;
  if (!machine.cuda.empty()) text += ", CUDA up to " + machine.cuda;
  return report::safe(text);
}

std::string basis_text(const std::string& basis) {
  if (basis == "cuda") return "as CUDA says";
  if (basis == "reserved") return "less what the driver keeps";
  if (basis == "catalog") return "as the catalog has it";
  if (basis == "rule") return "estimated";
  return "as the driver says";
}

std::string cards_table(const std::vector<Card>& usable, const Style& style) {
  report::Table table({{"name"},
                       {"--gpu", report::Align::left, 1},
                       {"catalog", report::Align::left, 3},
                       {"total", report::Align::right},
                       {"used", report::Align::right},
                       {"free", report::Align::right},
                       {"busy", report::Align::right, 4},
                       {"total is", report::Align::left, 5}});
  for (size_t i = 0; i < usable.size(); ++i) {
    const Card& card = usable[i];
    table.add({report::safe(card.name), "local:" + std::to_string(i),
               card.gpu.empty() ? "unknown" : card.gpu, size(style, card.total),
               size(style, card.used), size(style, card.free),
               card.busy_percent ? std::to_string(*card.busy_percent) + " %" : "",
               basis_text(card.total_basis)});
  }
  return table.draw(style);
}

std::string processes_table(const std::vector<Card>& usable, const Style& style) {
  report::Table table(
      {{"process"}, {"pid", report::Align::right}, {"on"}, {"holds", report::Align::right}});
  bool any = false;
  for (size_t i = 0; i < usable.size(); ++i) {
    auto processes = usable[i].processes;
    std::stable_sort(processes.begin(), processes.end(), [](const auto& a, const auto& b) {
      return a.used.value_or(Bytes()) > b.used.value_or(Bytes());
    });
    for (const host::CardProcess& process : processes) {
      any = true;
      table.add({process.name.empty() ? "(not visible here)" : report::safe(process.name),
                 std::to_string(process.pid), "local:" + std::to_string(i),
                 process.used ? size(style, *process.used) : "not told"});
    }
  }
  return any ? table.draw(style) : std::string();
}

std::string host_lines(const Machine& machine, const Style& style) {
  const host::HostMemory& host = machine.host;
  std::string text = size(style, host.total) + ", " + size(style, host.available) + " available, " +
                     std::to_string(host.processors) +
                     (host.processors == 1 ? " processor" : " processors");
  if (host.limit) {
    text += "; limited to " + size(style, *host.limit) + ", " + size(style, host.limit_used) +
            " used (" + host.limit_source + ")";
  }
  std::string out = "host memory  " + report::wrap(text, style.width, 13, 13) + "\n";
  if (host.shared_memory) out += "/dev/shm     " + size(style, *host.shared_memory) + "\n";
  return out;
}

// Commands that make sense now, with what they answer.
std::vector<std::pair<std::string, std::string>> next_steps(const Machine& machine,
                                                            const std::vector<Card>& usable) {
  if (!usable.empty()) {
    return {{"vramwise models --gpu local", "what runs here"},
            {"vramwise plan MODEL --gpu local", "with what is in use now"}};
  }
  if (!machine.cards.empty() || has_problem(machine)) return {};
  return {{"vramwise plan MODEL --gpu none -e llama.cpp", "on this machine"},
          {"vramwise gpus MODEL", "which GPU to get"}};
}

}  // namespace

std::string doctor_text(const Machine& machine, const Style& style) {
  const auto usable = host::usable_cards(machine);
  std::string out = report::paint(style, Ink::bold, first_line(machine, usable, style)) + "\n";
  if (const std::string source = source_line(machine); !source.empty()) {
    out += report::paint(style, Ink::dim, source) + "\n";
  }
  if (!usable.empty()) out += "\n" + cards_table(usable, style);
  if (const std::string table = processes_table(usable, style); !table.empty()) {
    out += "\n" + table;
  }
  out += "\n" + host_lines(machine, style);
  for (const Finding& finding : machine.findings) {
    const bool problem = finding.weight == Finding::Weight::problem;
    // The limit stands with the memory already.
    if (finding.id == "memory_limit") continue;
    const std::string mark = problem ? "problem: " : "note: ";
    out += "\n" + report::paint(style, problem ? Ink::red : Ink::plain, mark) +
           report::wrap(report::safe(finding.text), style.width, 2, int(mark.size())) + "\n";
    if (!finding.next.empty()) {
      out += "  " + report::wrap(report::safe(finding.next), style.width, 2, 2) + "\n";
    }
  }
  std::string lead = "next: ";
  for (const auto& [command, what] : next_steps(machine, usable)) {
    out += (lead == "next: " ? "\n" : "") + report::paint(style, Ink::dim, lead) +
           report::pad_right(command, 45) + report::paint(style, Ink::dim, what) + "\n";
    lead = "      ";
  }
  return out;
}

DoctorCommand::DoctorCommand(const Program& program)
    : Command(program.app.add_subcommand("doctor",
                                         "this machine: GPUs, what holds their memory, limits")),
      output_(program.output) {
  add_output_options(*command_, output_);
}

int DoctorCommand::run(const std::string& /*launch_line*/) {
  const Machine machine = host::detect_machine();
  if (output_.json) {
    json::Value answer = json::Value::object();
    answer.set("schema_version", 1);
    answer.set("doctor", host::to_json(machine));
    std::cout << json::dump(answer, 2) << "\n";
  } else {
    std::cout << doctor_text(machine, output_.style());
  }
  std::cout.flush();
  return has_problem(machine) && !output_.exit_zero ? 1 : 0;
}

}  // namespace vramwise::cli
