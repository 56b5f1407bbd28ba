#include "apps/cli/calibration.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>

#include "base/text.h"
#include "host/calibration_store.h"
#include "host/files.h"
#include "json/parse.h"
#include "report/fields.h"
#include "report/table.h"

namespace vramwise::cli {
namespace {

constexpr int64_t kLargestImport = int64_t{16} << 20;

json::Value store_document(json::Value runs) {
  json::Value document = json::Value::object();
  document.set("schema_version", 1);
  document.set("runs", std::move(runs));
  return document;
}

// "+128.00 MiB", empty when the term was not measured.
std::string shift_of(const json::Value& run, std::string_view name) {
  const json::Value& term = report::member(report::member(run, "terms"), name);
  if (term.is_null()) return "";
  const int64_t shift =
      report::integer(term, "measured_bytes") - report::integer(term, "planned_bytes");
  return (shift > 0 ? "+" : "") + format_bytes(Bytes(shift));
}

}  // namespace

CalibrationCommand::CalibrationCommand(const Program& program)
    : Command(program.app.add_subcommand("calibration", "runs measured here, which plans use")),
      output_(program.output) {
  command_->require_subcommand(0, 1);
  list_ = command_->add_subcommand("list", "what was saved, and how far it lay off the plan");
  remove_ = command_->add_subcommand("remove", "forget a run");
  remove_->add_option("NUMBER", number_, "as in the list; or all")->required();
  export_ = command_->add_subcommand("export", "all runs as one JSON document");
  import_ = command_->add_subcommand("import", "add the runs of an exported document");
  import_->add_option("FILE", file_, "the document; - reads standard input")->required();
  for (CLI::App* sub : {list_, remove_, export_, import_}) add_output_options(*sub, output_);
}

int CalibrationCommand::run(const std::string& /*launch_line*/) {
  if (remove_->parsed()) return remove();
  if (export_->parsed()) return export_runs();
  if (import_->parsed()) return import_runs();
  return list();
}

int CalibrationCommand::list() const {
  const auto runs = host::load_calibration();
  if (!runs) return show_error(runs.error(), output_);
  if (output_.json) {
    std::cout << json::dump(store_document(*runs), 2) << "\n";
    return 0;
  }
  if (runs->as_array().empty()) {
    std::cout << "No runs are saved (vramwise verify run.log --save).\n";
    return 0;
  }
  report::Table table({{"#", report::Align::right, 0},
                       {"engine", report::Align::left, 0},
                       {"model", report::Align::left, 0},
                       {"GPU", report::Align::left, 0},
                       {"weights", report::Align::right, 2},
                       {"activations", report::Align::right, 2},
                       {"outside torch", report::Align::right, 1},
                       {"graphs", report::Align::right, 3},
                       {"from", report::Align::left, 4}});
  int64_t number = 0;
  for (const json::Value& run : runs->as_array()) {
    const int64_t devices = std::max<int64_t>(1, report::integer(run, "devices"));
    table.add({format_integer(++number),
               report::text(run, "engine") + " " + report::text(run, "version"),
               report::text(run, "model"),
               (devices > 1 ? format_integer(devices) + " x " : "") + report::text(run, "gpu"),
               shift_of(run, "weights"), shift_of(run, "activations"), shift_of(run, "non_torch"),
               shift_of(run, "graphs"), report::text(run, "source")});
  }
  std::cout << "Measured less planned, by run:\n\n" << table.draw(output_.style());
  return 0;
}

int CalibrationCommand::remove() const {
  size_t removed = 0;
  const auto changed = host::change_calibration([&](json::Array& runs) -> Result<bool> {
    if (number_ == "all") {
      removed = runs.size();
      runs.clear();
      return true;
    }
    const auto n = parse_integer(number_);
    if (!n || *n < 1 || *n > int64_t(runs.size())) {
      return fail(Error(ErrorCode::not_found, "there is no run '" + number_.substr(0, 40) + "'")
                      .at("NUMBER")
                      .hint("list them: vramwise calibration list"));
    }
    runs.erase(runs.begin() + (*n - 1));
    removed = 1;
    return true;
  });
  if (!changed) return show_error(changed.error(), output_);
  std::cout << "Removed " << removed << (removed == 1 ? " run.\n" : " runs.\n");
  return 0;
}

int CalibrationCommand::export_runs() const {
  auto runs = host::load_calibration();
  if (!runs) return show_error(runs.error(), output_);
  std::cout << json::dump(store_document(std::move(*runs)), 2) << "\n";
  return 0;
}

int CalibrationCommand::import_runs() const {
  const auto text = host::read_file(file_, kLargestImport);
  if (!text) return show_error(text.error(), output_);
  const auto document = json::parse(*text, file_);
  if (!document) return show_error(document.error(), output_);
  const json::Value* added = document->find("runs");
  if (added == nullptr || !added->is_array()) {
    return show_error(Error(ErrorCode::invalid_input, "the document has no list 'runs'")
                          .at(file_)
                          .hint("vramwise calibration export writes one"),
                      output_);
  }
  size_t count = 0;
  const auto changed = host::change_calibration([&](json::Array& runs) -> Result<bool> {
    for (const json::Value& run : added->as_array()) {
      // What is there already is not counted twice.
      if (std::find(runs.begin(), runs.end(), run) != runs.end()) continue;
      if (!run.is_object() || run.find("engine") == nullptr || run.find("terms") == nullptr) {
        return fail(
            Error(ErrorCode::invalid_input, "one of the runs has no engine or no terms").at(file_));
      }
      runs.push_back(run);
      ++count;
    }
    return true;
  });
  if (!changed) return show_error(changed.error(), output_);
  std::cout << "Added " << count << (count == 1 ? " run.\n" : " runs.\n");
  return 0;
}

}  // namespace vramwise::cli
