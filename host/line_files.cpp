#include "host/line_files.h"

#include <cstdlib>
#include <string>

#include "base/text.h"
#include "engines/launch/read_launch.h"
#include "host/files.h"
#include "host/model_source.h"

namespace vramwise::host {
namespace {

using json::Value;

// "~/models/x.gguf" as the shell of the line would read it.
std::string with_home(const std::string& path) {
  const char* home = std::getenv("HOME");
  const bool tilde = starts_with(path, "~/") && home != nullptr;
  return tilde ? home + path.substr(1) : path;
}

}  // namespace

Result<void> take_files_of_line(Value& request) {
  const Value* line = request.find("line");
  if (line == nullptr || !line->is_string()) return {};
  auto reading = engines::launch::read_launch(line->as_string());
  if (!reading) return {};  // the core says what is wrong
  engines::launch::Files files;
  for (const std::string& name : reading->files_not_seen) {
    const std::string path = with_home(name);
    if (!exists(path) || is_directory(path)) continue;
    TRY_ASSIGN(files[name], read_file(path, int64_t(engines::launch::kMaxPaste)));
  }
  if (!files.empty() && request.find("files") == nullptr) {
    Value texts = Value::object();
    for (const auto& [name, content] : files) texts.set(name, content);
    request.set("files", std::move(texts));
    // The model may stand in one of them.
    reading = engines::launch::read_launch(request.find("line")->as_string(), {}, std::move(files));
    if (!reading) return {};
  }
  const std::string model = with_home(reading->model);
  if (request.find("model") == nullptr && !model.empty() && looks_like_path(model) &&
      exists(model)) {
    request.set("model", Value::object()).set("path", model);
  }
  return {};
}

}  // namespace vramwise::host
