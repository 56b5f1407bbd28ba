#include "apps/cli/batch.h"

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

int run_batch(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    if (host::is_directory(path)) {
      std::cerr << "error: '" << path << "' is a folder, a file of JSON Lines is needed\n";
      return 3;
    }
    file.open(path);
    if (!file) {
      const bool absent = errno == ENOENT;
      std::cerr << "error: cannot open '" << report::safe(path) << "': " << std::strerror(errno)
                << "\n";
      return absent ? 4 : 3;
    }
  }
  std::istream& in = path == "-" ? std::cin : file;
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
