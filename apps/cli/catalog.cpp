#include "apps/cli/catalog.h"

#include <CLI/CLI.hpp>

#include "api/api.h"

namespace vramwise::cli {

CatalogCommand::CatalogCommand(const Program& program)
    : Command(program.app.add_subcommand("catalog", "what is known: gpus, models, weights, …")),
      output_(program.output) {
  command_->add_option("KIND", kind_,
                       "gpus, models, weights, engines, families, instances, speeds, workloads");
  command_->add_option("NAME", name_, "show this entry with its sources");
  add_output_options(*command_, output_);
}

int CatalogCommand::run(const std::string& /*launch_line*/) {
  json::Value request = json::Value::object();
  request.set("ask", "catalog");
  if (!kind_.empty()) request.set("kind", kind_);
  if (!name_.empty()) request.set("name", name_);
  request.set("rows", true);
  return show(api::handle_value(request), output_, false);
}

}  // namespace vramwise::cli
