#include "host/hub.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/text.h"
#include "formats/http/head.h"
#include "host/environment.h"
#include "host/file_source.h"
#include "host/files.h"
#include "json/parse.h"
#include "json/reader.h"

namespace vramwise::host {
namespace {

using json::Value;

constexpr int64_t kListLimit = int64_t{32} << 20;
constexpr size_t kMostFiles = 20'000;

std::string_view kind_name(HubKind kind) {
  return kind == HubKind::modelscope ? "ModelScope" : "the hub";
}

std::string default_revision(HubKind kind) {
  return kind == HubKind::modelscope ? "master" : "main";
}

std::string encode_path(std::string_view path) {
  std::string encoded;
  for (const std::string_view part : split(path, '/')) {
    if (!encoded.empty()) encoded += '/';
    encoded += formats::encode_path_part(part);
  }
  return encoded;
}

bool is_commit(std::string_view text) {
  return text.size() == 40 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// A path inside a repository that cannot lead out of a folder.
bool is_inner_path(std::string_view path) {
  if (path.empty() || path.size() > 1024 || path[0] == '/') return false;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return !contains(path, "\\");
}

Error hub_error(const HttpReply& reply, HubKind kind, const std::string& id,
                const std::string& revision, bool has_token) {
  const std::string reason(reply.first_head.find("x-error-code"));
  const std::string page = hub_endpoint(kind) + "/" + id;
  if (reason == "GatedRepo" || reply.status == 403) {
    Error error(ErrorCode::invalid_input, "access to " + id + " is restricted");
    error.hints.push_back(has_token ? "your token has no access yet: ask for it at " + page
                                    : "accept its licence at " + page + ", then set HF_TOKEN");
    error.hints.push_back("or give its config.json, or a catalog name (vramwise catalog models)");
    return std::move(error).at(page);
  }
  if (reason == "RevisionNotFound") {
    return Error(ErrorCode::not_found, id + " has no revision '" + revision + "'").at(page);
  }
  if (reply.status == 401 || reply.status == 404) {
    Error error(ErrorCode::not_found, "there is no model " + id + " on " +
                                          std::string(kind_name(kind)) +
                                          (reply.status == 401 ? ", or it is private" : ""));
    if (!has_token) error.hints.push_back("a private model needs a token: set HF_TOKEN");
    error.hints.push_back("names of the catalog: vramwise catalog models");
    return std::move(error).at(page);
  }
  return Error(ErrorCode::invalid_input, std::string(kind_name(kind)) + " answers " +
                                             format_integer(reply.status) + " for " + id)
      .at(page);
}

Value to_json(const HubRepo& repo) {
  Value list = Value::array();
  for (const HubFile& file : repo.files) {
    Value item = Value::object();
    item.set("path", file.path);
    item.set("bytes", file.bytes);
    item.set("content_id", file.content_id);
    list.push(std::move(item));
  }
  Value root = Value::object();
  root.set("commit", repo.commit);
  root.set("files", std::move(list));
  return root;
}

Result<HubRepo> from_json(std::string_view text) {
  HubRepo repo;
  TRY_ASSIGN(const Value root, json::parse(text, "cached list"));
  const json::Reader reader(root, "cached list");
  TRY_ASSIGN(repo.commit, reader.require_string({"commit"}));
  TRY_ASSIGN(const json::Reader files, reader.require({"files"}));
  TRY_ASSIGN(const auto items, files.items());
  for (const json::Reader& item : items) {
    HubFile file;
    TRY_ASSIGN(file.path, item.require_string({"path"}));
    TRY_ASSIGN(file.bytes, item.require_integer({"bytes"}, -1));
    TRY_ASSIGN(file.content_id, item.require_string({"content_id"}));
    repo.files.push_back(std::move(file));
  }
  return repo;
}

}  // namespace

bool is_repo_id(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size()) return false;
  if (text.size() > 200 || text.find('/', slash + 1) != std::string_view::npos) return false;
  if (contains(text, "..") || text[0] == '.' || text[slash + 1] == '.') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  });
}

std::string hub_endpoint(HubKind kind) {
  std::string endpoint = kind == HubKind::modelscope ? env("MS_ENDPOINT") : env("HF_ENDPOINT");
  if (endpoint.empty() && kind == HubKind::modelscope) endpoint = env("MODELSCOPE_ENDPOINT");
  if (endpoint.empty()) {
    return kind == HubKind::modelscope ? "https://modelscope.cn" : "https://huggingface.co";
  }
  if (!contains(endpoint, "://")) endpoint = "https://" + endpoint;
  while (ends_with(endpoint, "/")) endpoint.pop_back();
  return endpoint;
}

namespace {

std::string hf_home() {
  std::string home_folder = env("HF_HOME");
  if (home_folder.empty()) {
    const std::string cache = cache_home();
    if (!cache.empty()) home_folder = cache + "/huggingface";
  }
  return home_folder;
}

std::string first_line(const std::string& path) {
  if (path.empty() || !exists(path)) return {};
  const auto text = read_file(path, 64 << 10);
  return text ? std::string(trim(std::string_view(*text).substr(0, text->find('\n')))) : "";
}

}  // namespace

std::string hub_token(HubKind kind) {
  if (kind == HubKind::modelscope) {
    for (const char* name : {"MS_TOKEN", "MODELSCOPE_API_TOKEN"}) {
      const std::string token(trim(env(name)));
      if (!token.empty()) return token;
    }
    return {};
  }
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_HUB_TOKEN"}) {
    const std::string token(trim(env(name)));
    if (!token.empty()) return token;
  }
  if (env_flag("HF_HUB_DISABLE_IMPLICIT_TOKEN")) return {};
  std::string path = env("HF_TOKEN_PATH");
  if (path.empty() && !hf_home().empty()) path = hf_home() + "/token";
  std::string token = first_line(path);
  if (token.empty() && !home().empty()) token = first_line(home() + "/.huggingface/token");
  return token;
}

bool hub_offline() { return env_flag("HF_HUB_OFFLINE") || env_flag("TRANSFORMERS_OFFLINE"); }

std::string local_snapshot(const std::string& id, const std::string& revision) {
  if (!is_repo_id(id)) return {};
  std::string cache = env("HF_HUB_CACHE");
  if (cache.empty()) cache = env("HUGGINGFACE_HUB_CACHE");
  if (cache.empty() && !hf_home().empty()) cache = hf_home() + "/hub";
  if (cache.empty()) return {};
  const std::string folder = cache + "/models--" + replace_all(id, "/", "--");
  if (!is_directory(folder)) return {};
  const std::string wanted = revision.empty() ? "main" : revision;
  std::string commit = is_commit(wanted) ? wanted : "";
  if (commit.empty() && is_inner_path(wanted)) commit = first_line(folder + "/refs/" + wanted);
  if (!is_commit(commit)) return {};
  const std::string snapshot = folder + "/snapshots/" + commit;
  return is_directory(snapshot) ? snapshot : "";
}

std::vector<std::string> snapshot_files(const std::string& folder) {
  std::vector<std::string> files;
  if (auto names = list_files(folder)) files = std::move(*names);
  DIR* handle = ::opendir(folder.c_str());
  if (handle == nullptr) return files;
  while (const dirent* entry = ::readdir(handle)) {
    const std::string name = entry->d_name;
    if (name[0] == '.' || !is_directory(folder + "/" + name)) continue;
    if (auto inner = list_files(folder + "/" + name)) {
      for (const std::string& file : *inner) files.push_back(name + "/" + file);
    }
  }
  ::closedir(handle);
  std::sort(files.begin(), files.end());
  return files;
}

Hub::Hub(HttpClient& client, const HeadCache& cache, Progress& progress)
    : client_(client), cache_(cache), progress_(progress) {}

Result<HubRepo> Hub::list_hugging_face(const std::string& id, const std::string& revision) {
  HttpRequest request;
  request.url = hub_endpoint(HubKind::hugging_face) + "/api/models/" + id + "/revision/" +
                formats::encode_path_part(revision) + "?blobs=true";
  request.token = hub_token(HubKind::hugging_face);
  request.accept = "application/json";
  request.body_limit = kListLimit;
  TRY_ASSIGN(const HttpReply reply, client_.get(request));
  if (reply.status != 200) {
    return fail(hub_error(reply, HubKind::hugging_face, id, revision, !request.token.empty()));
  }
  TRY_ASSIGN(const Value root, json::parse(reply.body, "the hub's list of " + id));
  const json::Reader reader(root, "the hub's list of " + id);
  HubRepo repo;
  TRY_ASSIGN(const auto commit, reader.optional_string({"sha"}));
  repo.commit = commit.value_or("");
  TRY_ASSIGN(const json::Reader siblings, reader.require({"siblings"}));
  TRY_ASSIGN(const auto items, siblings.items());
  for (const json::Reader& item : items) {
    HubFile file;
    TRY_ASSIGN(file.path, item.require_string({"rfilename"}));
    if (!is_inner_path(file.path)) continue;
    TRY_ASSIGN(const auto size, item.optional_integer({"size"}));
    TRY_ASSIGN(const auto blob, item.optional_string({"blobId"}));
    file.bytes = size.value_or(-1);
    file.content_id = blob.value_or("");
    if (const auto lfs = item.find("lfs"); lfs && lfs->is_object()) {
      TRY_ASSIGN(const auto sha, lfs->optional_string({"sha256", "oid"}));
      TRY_ASSIGN(const auto lfs_size, lfs->optional_integer({"size"}));
      if (sha) file.content_id = *sha;
      if (lfs_size) file.bytes = *lfs_size;
    }
    repo.files.push_back(std::move(file));
    if (repo.files.size() > kMostFiles) {
      return fail(siblings.error(ErrorCode::too_large, "more than 20,000 files"));
    }
  }
  return repo;
}

Result<HubRepo> Hub::list_modelscope(const std::string& id, const std::string& revision) {
  HttpRequest request;
  request.url = hub_endpoint(HubKind::modelscope) + "/api/v1/models/" + id +
                "/repo/files?Revision=" + formats::encode_path_part(revision) + "&Recursive=True";
  request.token = hub_token(HubKind::modelscope);
  request.accept = "application/json";
  request.body_limit = kListLimit;
  TRY_ASSIGN(const HttpReply reply, client_.get(request));
  if (reply.status != 200) {
    return fail(hub_error(reply, HubKind::modelscope, id, revision, !request.token.empty()));
  }
  TRY_ASSIGN(const Value root, json::parse(reply.body, "ModelScope's list of " + id));
  const json::Reader reader(root, "ModelScope's list of " + id);
  TRY_ASSIGN(const json::Reader data, reader.require({"Data"}));
  TRY_ASSIGN(const json::Reader files, data.require({"Files"}));
  TRY_ASSIGN(const auto items, files.items());
  HubRepo repo;
  for (const json::Reader& item : items) {
    TRY_ASSIGN(const auto type, item.optional_string({"Type"}));
    if (type == std::optional<std::string>("tree")) continue;
    HubFile file;
    TRY_ASSIGN(file.path, item.require_string({"Path"}));
    if (!is_inner_path(file.path)) continue;
    TRY_ASSIGN(const auto size, item.optional_integer({"Size"}));
    TRY_ASSIGN(const auto sha, item.optional_string({"Sha256"}));
    file.bytes = size.value_or(-1);
    file.content_id = sha.value_or("");
    repo.files.push_back(std::move(file));
    if (repo.files.size() > kMostFiles) {
      return fail(files.error(ErrorCode::too_large, "more than 20,000 files"));
    }
  }
  return repo;
}

Result<HubRepo> Hub::list(HubKind kind, const std::string& id, const HubOptions& options) {
  const std::string revision = options.revision.empty() ? default_revision(kind) : options.revision;
  const std::string key = hub_endpoint(kind) + " " + id + " " + revision;
  // A commit never changes.
  if (options.offline || is_commit(revision)) {
    if (const auto entry = cache_.find("lists", key)) {
      if (auto repo = from_json(entry->bytes)) {
        repo->kind = kind;
        repo->id = id;
        repo->revision = revision;
        return std::move(*repo);
      }
    }
    if (options.offline) {
      return fail(Error(ErrorCode::not_found, id + " is not cached, and the network is not used")
                      .hint("ask once without --offline (or HF_HUB_OFFLINE)")
                      .hint("names of the catalog need no network: vramwise catalog models"));
    }
  }
  progress_.begin("asking " + hub_endpoint(kind) + " about " + id);
  TRY_ASSIGN(HubRepo repo, kind == HubKind::modelscope ? list_modelscope(id, revision)
                                                       : list_hugging_face(id, revision));
  repo.kind = kind;
  repo.id = id;
  repo.revision = revision;
  const std::string text = json::dump(to_json(repo));
  cache_.store("lists", key, {int64_t(text.size()), text});
  return repo;
}

namespace {

// A file of which only the remembered beginning may be read.
class RememberedOnly final : public formats::ByteSource {
 public:
  explicit RememberedOnly(std::string name) : name_(std::move(name)) {}
  const std::string& name() const override { return name_; }
  Result<int64_t> size() override { return fail(not_cached()); }
  Result<void> read(int64_t, std::span<char>) override { return fail(not_cached()); }

 private:
  Error not_cached() const {
    return Error(ErrorCode::not_found, name_ + " is not cached, and the network is not used")
        .at(name_)
        .hint("ask once without --offline (or HF_HUB_OFFLINE)");
  }
  std::string name_;
};

}  // namespace

std::unique_ptr<formats::ByteSource> Hub::open(const HubRepo& repo, const HubFile& file,
                                               bool offline) {
  const std::string name = repo.id + "/" + file.path;
  const std::string revision = repo.commit.empty() ? repo.revision : repo.commit;
  // What has no hash is known by its commit, or not remembered.
  std::string key = file.content_id;
  if (key.empty() && !repo.commit.empty()) key = repo.id + "@" + repo.commit + "/" + file.path;
  std::unique_ptr<formats::ByteSource> below;
  if (offline) {
    below = std::make_unique<RememberedOnly>(name);
  } else {
    const std::string url =
        hub_endpoint(repo.kind) + (repo.kind == HubKind::modelscope ? "/models/" : "/") + repo.id +
        "/resolve/" + formats::encode_path_part(revision) + "/" + encode_path(file.path);
    below = std::make_unique<HttpSource>(client_, url, hub_token(repo.kind), name, file.bytes);
  }
  return std::make_unique<HeadSource>(std::move(below), cache_, std::move(key));
}

}  // namespace vramwise::host
