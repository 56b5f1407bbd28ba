#include "apps/cli/batch.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "api/answer.h"
#include "api/api.h"
#include "base/text.h"
#include "host/files.h"
#include "host/machine/local_hardware.h"
#include "host/model_source.h"
#include "json/parse.h"
#include "report/style.h"

namespace vramwise::cli {

BatchCommand::BatchCommand(const Program& program)
    : Command(
          program.app.add_subcommand("batch", "JSON Lines requests in, one answer a line out")) {
  command_->add_option("FILE", path_, "requests, one a line; - reads standard input")->required();
}

int BatchCommand::run(const std::string& /*launch_line*/) {
  std::ifstream file;
  if (path_ != "-") {
    if (host::is_directory(path_)) {
      std::cerr << "error: '" << path_ << "' is a folder, a file of JSON Lines is needed\n";
      return 3;
    }
    file.open(path_);
    if (!file) {
      const bool absent = errno == ENOENT;
      std::cerr << "error: cannot open '" << report::safe(path_) << "': " << std::strerror(errno)
                << "\n";
      return absent ? 4 : 3;
    }
  }
  std::istream& in = path_ == "-" ? std::cin : file;
  std::ios::sync_with_stdio(false);
  bool any_error = false;
  std::string line;
  while (std::getline(in, line)) {
    if (trim(line).empty()) continue;
    json::Value answer;
    if (auto request = json::parse(line, "request")) {
      auto resolved = host::resolve_sources(*request, {.quiet = true, .hubs = false});
      if (resolved) resolved = host::resolve_local_hardware(*request);
      const json::Value* id = request->find("id");
      answer = resolved ? api::handle_value(*request, line)
                        : api::error_answer(id != nullptr ? *id : json::Value(), resolved.error());
    } else {
      answer = api::error_answer(json::Value(), request.error());
    }
    if (answer.find("error") != nullptr) any_error = true;
    std::cout << json::dump(answer) << '\n';
  }
  std::cout.flush();
  return any_error ? 3 : 0;
}

}  // namespace vramwise::cli
