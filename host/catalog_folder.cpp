#include "host/catalog_folder.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/text.h"
#include "catalog/catalog.h"
#include "catalog/gpu.h"
#include "host/files.h"
#include "json/parse.h"
#include "plan/resolve.h"

namespace vramwise::host {
namespace {

namespace fs = std::filesystem;
using catalog::Kind;

// A config with all its layer lists is far below; a larger file is something else.
constexpr int64_t kFileLimit = int64_t{4} << 20;
constexpr size_t kMostFiles = 10'000;

struct Folder {
  Kind kind;
  const char* name;
};
// GPUs before the instances that name them.
constexpr Folder kFolders[] = {{Kind::gpu, "gpus"},           {Kind::model, "models"},
                               {Kind::weights, "weights"},    {Kind::engine, "engines"},
                               {Kind::instance, "instances"}, {Kind::options, "options"},
                               {Kind::speed, "speeds"},       {Kind::workload, "workloads"}};

Result<std::vector<std::string>> json_files(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code fault;
  for (fs::recursive_directory_iterator it(folder, fault), end; !fault && it != end;
       it.increment(fault)) {
    if (it->path().extension() == ".json" && it->is_regular_file(fault)) {
      files.push_back(it->path().generic_string());
    }
    if (files.size() > kMostFiles) {
      return fail(Error(ErrorCode::too_large,
                        "more than " + format_grouped(int64_t(kMostFiles)) + " catalog files")
                      .at(folder.string()));
    }
  }
  if (fault) {
    return fail(Error(ErrorCode::invalid_input, "the folder cannot be read: " + fault.message())
                    .at(folder.string()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The id of a config.json of a model: its path below the folder.
std::string id_of(const fs::path& file, const fs::path& folder) {
  fs::path id = file.lexically_relative(folder);
  id = id.filename() == "config.json" && id.has_parent_path() ? id.parent_path()
                                                              : id.replace_extension();
  return id.generic_string();
}

// The text of an entry: the file's, or a model's config put into one.
Result<std::string> entry_text(Kind kind, std::string text, const std::string& file,
                               const fs::path& folder) {
  if (kind != Kind::model) return text;
  TRY_ASSIGN(json::Value value, json::parse(text, file));
  const bool config =
      value.find("id") == nullptr && value.find("config") == nullptr &&
      (value.find("model_type") != nullptr || value.find("architectures") != nullptr);
  if (!config) return text;
  json::Value entry = json::Value::object();
  entry.set("id", id_of(file, folder));
  entry.set("config", std::move(value));
  return json::dump(entry);
}

// Read as a plan would read it.
Result<bool> check(Kind kind, const std::string& id) {
  if (kind == Kind::gpu) {
    TRY(catalog::find_gpu(id));
  } else if (kind == Kind::model) {
    plan::ModelSpec spec;
    spec.ref = id;
    std::string weights;
    Notes notes;
    TRY(plan::resolve_model(spec, weights, notes));
  } else if (kind == Kind::instance) {
    TRY_ASSIGN(const catalog::Entry entry, catalog::find(kind, id));
    const json::Value* gpu = entry.value.find("gpu");
    TRY(catalog::find_gpu(gpu != nullptr ? gpu->as_string() : std::string()));
  }
  return true;
}

}  // namespace

Result<int> add_catalog_folder(const std::string& folder) {
  int added = 0;
  bool any = false;
  for (const Folder& part : kFolders) {
    const fs::path path = fs::path(folder) / part.name;
    if (!is_directory(path.string())) continue;
    any = true;
    TRY_ASSIGN(const std::vector<std::string> files, json_files(path));
    for (const std::string& file : files) {
      TRY_ASSIGN(std::string text, read_file(file, kFileLimit));
      TRY_ASSIGN(text, entry_text(part.kind, std::move(text), file, path));
      TRY_ASSIGN(const std::string id, catalog::add_overlay(part.kind, text, file));
      auto checked = check(part.kind, id);
      if (!checked) {
        Error error = std::move(checked.error());
        return fail(std::move(error).at(file));
      }
      ++added;
    }
  }
  if (any) return added;
  return fail(Error(ErrorCode::not_found, is_directory(folder) ? "the folder holds no catalog"
                                                               : "there is no such folder")
                  .at(folder)
                  .hint("a catalog is a folder with gpus/, models/ or instances/, one JSON file a "
                        "thing"));
}

}  // namespace vramwise::host
