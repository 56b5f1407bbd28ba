#include "host/model_source.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "base/text.h"
#include "catalog/model_ref.h"
#include "formats/gguf/collection.h"
#include "formats/gguf/reader.h"
#include "formats/http/head.h"
#include "formats/model_files.h"
#include "formats/ollama/manifest.h"
#include "formats/safetensors/safetensors.h"
#include "host/environment.h"
#include "host/file_source.h"
#include "host/files.h"
#include "host/head_cache.h"
#include "host/http.h"
#include "host/hub.h"
#include "host/line_files.h"

namespace vramwise::host {
namespace {

using formats::ByteSource;
using formats::ModelFile;
using formats::ModelQuery;
using json::Value;

constexpr int64_t kManifestLimit = int64_t{1} << 20;

// Opens the file when it is first read: a folder may hold thousands.
class LazyFile final : public ByteSource {
 public:
  explicit LazyFile(std::string path) : path_(std::move(path)) {}
  const std::string& name() const override { return path_; }
  Result<int64_t> size() override {
    TRY(open());
    return file_->size();
  }
  Result<void> read(int64_t offset, std::span<char> out) override {
    TRY(open());
    return file_->read(offset, out);
  }

 private:
  Result<void> open() {
    if (file_ != nullptr) return {};
    TRY_ASSIGN(file_, open_file(path_));
    return {};
  }
  std::string path_;
  std::unique_ptr<ByteSource> file_;
};

// Sources with the names they go by.
struct Opened {
  std::vector<std::unique_ptr<ByteSource>> sources;
  std::vector<ModelFile> files;

  void add(std::string name, std::unique_ptr<ByteSource> source) {
    files.push_back({std::move(name), source.get()});
    sources.push_back(std::move(source));
  }
};

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

std::string base_of(const std::string& path) { return path.substr(folder_of(path).size()); }

// "~/x" as the shell would have it.
std::string expand_home(std::string path) {
  if ((path == "~" || starts_with(path, "~/")) && !home().empty()) path.replace(0, 1, home());
  return path;
}

// What the network needs, made when it is first needed.
struct Network {
  explicit Network(const SourceOptions& given)
      : options(given),
        progress(given.quiet),
        cache(HeadCache::of_user()),
        client(with_progress(&progress)),
        hub(client, cache, progress) {}

  static HttpOptions with_progress(Progress* progress) {
    HttpOptions options = http_options_from_environment();
    options.progress = progress;
    return options;
  }
  bool offline() const { return options.offline || hub_offline(); }

  const SourceOptions& options;
  Progress progress;
  HeadCache cache;
  HttpClient client;
  Hub hub;
};

Result<Value> read_folder(const std::string& folder, const std::vector<std::string>& names,
                          const ModelQuery& query) {
  Opened opened;
  for (const std::string& name : names) {
    opened.add(name, std::make_unique<LazyFile>(folder + "/" + name));
  }
  return formats::read_model_files(opened.files, query);
}

Result<Value> read_path(std::string path, ModelQuery query) {
  path = expand_home(path);
  while (path.size() > 1 && ends_with(path, "/")) path.pop_back();
  if (query.id.empty()) query.id = path;
  if (is_directory(path)) {
    // A repository's folder in a hub cache holds its snapshots one level down.
    if (is_directory(path + "/snapshots") && is_directory(path + "/refs")) {
      const std::string commit(trim(read_file(path + "/refs/main", 256).value_or("")));
      if (is_directory(path + "/snapshots/" + commit) && !commit.empty()) {
        path += "/snapshots/" + commit;
      }
    }
    auto model = read_folder(path, snapshot_files(path), query);
    if (!model && model.error().where.source.empty()) model.error().where.source = path;
    return model;
  }
  query.file = base_of(path);
  query.variant.clear();
  std::vector<std::string> names = {query.file};
  // What belongs together lies together.
  const bool needs_siblings = formats::parse_gguf_part_name(query.file) ||
                              ends_with(query.file, ".safetensors") ||
                              ends_with(query.file, ".index.json");
  const std::string folder = folder_of(path).empty() ? "." : folder_of(path);
  if (needs_siblings) {
    if (auto siblings = list_files(folder)) names = std::move(*siblings);
    if (std::find(names.begin(), names.end(), query.file) == names.end()) {
      names.push_back(query.file);
    }
  }
  // ModelOpt says beside the config how the checkpoint is quantised.
  constexpr const char* kBeside = "hf_quant_config.json";
  if (query.file == "config.json" && exists(folder_of(path) + kBeside)) names.push_back(kBeside);
  Opened opened;
  for (const std::string& name : names) {
    opened.add(name, std::make_unique<LazyFile>(folder_of(path) + name));
  }
  return formats::read_model_files(opened.files, query);
}

// "org/name", "org/name:Q4_K_M"
struct HubRef {
  HubKind kind = HubKind::hugging_face;
  std::string id;
  std::string variant;
  std::string file;
  std::string revision;
};

std::optional<HubRef> parse_hub_ref(std::string_view text, HubKind kind) {
  HubRef ref;
  ref.kind = kind;
  const size_t colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    ref.variant = std::string(text.substr(colon + 1));
    text = text.substr(0, colon);
    if (ref.variant.empty() || ref.variant.size() > 60) return std::nullopt;
  }
  ref.id = std::string(text);
  if (!is_repo_id(text)) return std::nullopt;
  return ref;
}

// An address of the hub's own pages: https://huggingface.co/org/name[/resolve/main/x.gguf].
std::optional<HubRef> parse_hub_url(const formats::Url& url) {
  const auto endpoint = formats::parse_url(hub_endpoint(HubKind::hugging_face));
  const auto public_hub = formats::parse_url("https://huggingface.co");
  if (!(endpoint && same_origin(url, *endpoint)) && !same_origin(url, *public_hub)) {
    return std::nullopt;
  }
  const std::string path = url.target.substr(1, url.target.find('?') - 1);
  const auto parts = split(path, '/');
  if (parts.size() < 2) return std::nullopt;
  HubRef ref;
  ref.id = std::string(parts[0]) + "/" + std::string(parts[1]);
  if (!is_repo_id(ref.id)) return std::nullopt;
  if (parts.size() > 4 && (parts[2] == "resolve" || parts[2] == "blob")) {
    ref.revision = std::string(parts[3]);
    for (size_t i = 4; i < parts.size(); ++i) {
      ref.file += (i > 4 ? "/" : "") + std::string(parts[i]);
    }
  } else if (parts.size() > 3 && parts[2] == "tree") {
    ref.revision = std::string(parts[3]);
  }
  return ref;
}

// Whether a folder has what the query asks for, so that the network is not needed.
bool has_model(const std::vector<std::string>& names, const ModelQuery& query) {
  if (!query.file.empty()) {
    return std::find(names.begin(), names.end(), query.file) != names.end();
  }
  const auto choices = formats::gguf_choices(names);
  if (!query.variant.empty()) {
    return std::any_of(choices.begin(), choices.end(), [&](const formats::GgufChoice& choice) {
      return choice.complete && to_lower(choice.label) == to_lower(query.variant);
    });
  }
  return !formats::choose_checkpoint(names).files.empty() || choices.size() == 1;
}

Result<Value> read_hub(const HubRef& ref, ModelQuery query, const SourceOptions& options) {
  if (!ref.variant.empty()) query.variant = ref.variant;
  if (query.file.empty()) query.file = ref.file;
  if (query.id.empty()) query.id = ref.id + (query.variant.empty() ? "" : ":" + query.variant);
  HubOptions hub_options;
  hub_options.revision = ref.revision;
  Network network(options);
  hub_options.offline = network.offline();
  if (ref.kind == HubKind::hugging_face) {
    const std::string snapshot = local_snapshot(ref.id, ref.revision);
    if (!snapshot.empty()) {
      const std::vector<std::string> names = snapshot_files(snapshot);
      if (has_model(names, query)) {
        auto model = read_folder(snapshot, names, query);
        // An incomplete snapshot (some shards only) is no reason to give up while there is a hub.
        if (model || hub_options.offline) return model;
      }
    }
  }
  TRY_ASSIGN(const HubRepo repo, network.hub.list(ref.kind, ref.id, hub_options));
  Opened opened;
  for (const HubFile& file : repo.files) {
    opened.add(file.path, network.hub.open(repo, file, hub_options.offline));
  }
  network.progress.begin("reading headers of " + ref.id);
  auto model = formats::read_model_files(opened.files, query);
  if (!model && model.error().where.source.empty()) {
    model.error().where.source = hub_endpoint(ref.kind) + "/" + ref.id;
  }
  opened = Opened();  // remembers what was read, before the network goes
  return model;
}

Result<Value> read_ollama(std::string_view text, ModelQuery query, const SourceOptions& options) {
  TRY_ASSIGN(const formats::OllamaName name, formats::parse_ollama_name(text));
  query.id = "ollama:" + name.to_text();
  std::vector<std::string> stores;
  if (!env("OLLAMA_MODELS").empty()) {
    stores.push_back(env("OLLAMA_MODELS"));
  } else {
    if (!home().empty()) stores.push_back(home() + "/.ollama/models");
    stores.emplace_back("/usr/share/ollama/.ollama/models");  // of the system's service
  }
  for (const std::string& store : stores) {
    const std::string path = store + "/manifests/" + name.manifest_path();
    if (!exists(path)) continue;
    TRY_ASSIGN(const std::string manifest_text, read_file(path, kManifestLimit));
    TRY_ASSIGN(const formats::OllamaManifest manifest,
               formats::read_ollama_manifest(manifest_text, path));
    Opened opened;
    query.file = manifest.model.blob_name();
    opened.add(query.file, std::make_unique<LazyFile>(store + "/blobs/" + query.file));
    return formats::read_model_files(opened.files, query);
  }
  Network network(options);
  if (network.offline()) {
    return fail(Error(ErrorCode::not_found, "Ollama has no model " + name.to_text() + " here")
                    .at(stores.front())
                    .hint("ollama pull " + name.to_text() + ", or ask without --offline"));
  }
  const bool local = starts_with(name.host, "localhost") || starts_with(name.host, "127.0.0.1");
  const std::string base = std::string(local ? "http" : "https") + "://" + name.host + "/v2/" +
                           name.space + "/" + name.model;
  network.progress.begin("asking " + name.host + " about " + name.to_text());
  HttpRequest request;
  request.url = base + "/manifests/" + name.tag;
  request.accept = "application/vnd.docker.distribution.manifest.v2+json";
  request.body_limit = kManifestLimit;
  TRY_ASSIGN(const HttpReply reply, network.client.get(request));
  if (reply.status != 200) {
    return fail(Error(reply.status == 404 ? ErrorCode::not_found : ErrorCode::invalid_input,
                      "the registry has no model " + name.to_text() + " (it answers " +
                          format_integer(reply.status) + ")")
                    .at(name.host));
  }
  TRY_ASSIGN(const formats::OllamaManifest manifest,
             formats::read_ollama_manifest(reply.body, "manifest of " + name.to_text()));
  Opened opened;
  query.file = manifest.model.blob_name();
  opened.add(query.file, std::make_unique<HeadSource>(
                             std::make_unique<HttpSource>(network.client,
                                                          base + "/blobs/" + manifest.model.digest,
                                                          "", name.to_text(), manifest.model.bytes),
                             network.cache, manifest.model.digest.substr(7)));
  network.progress.begin("reading the header of " + name.to_text());
  auto model = formats::read_model_files(opened.files, query);
  opened = Opened();
  return model;
}

Result<Value> read_address(const formats::Url& url, ModelQuery query,
                           const SourceOptions& options) {
  Network network(options);
  const std::string name = url.without_query();
  if (network.offline()) {
    return fail(Error(ErrorCode::not_found, name + " is not read: the network is not used"));
  }
  query.file = base_of(name);
  if (query.id.empty()) query.id = name;
  Opened opened;
  HeadCache nothing("");  // an address says nothing about its content
  opened.add(query.file, std::make_unique<HeadSource>(
                             std::make_unique<HttpSource>(network.client, url.to_text(), "", name),
                             nothing, ""));
  network.progress.begin("reading the header of " + name);
  auto model = formats::read_model_files(opened.files, query);
  opened = Opened();
  return model;
}

std::string take_text(Value& model, std::string_view key) {
  const Value* value = model.find(key);
  std::string text = value != nullptr && value->is_string() ? value->as_string() : "";
  model.erase(key);
  return text;
}

// nullopt: the name is the catalog's business.
Result<std::optional<Value>> read_named(const std::string& ref, ModelQuery query,
                                        const std::string& revision, SourceOptions options) {
  const auto done = [](Result<Value> model) -> Result<std::optional<Value>> {
    if (!model) return fail(std::move(model.error()));
    return std::optional<Value>(std::move(*model));
  };
  if (starts_with(ref, "ollama:")) {
    return done(read_ollama(std::string_view(ref).substr(7), query, options));
  }
  std::optional<HubRef> hub;
  bool explicit_hub = true;
  for (const auto& [prefix, kind] :
       {std::pair<std::string_view, HubKind>{"hf:", HubKind::hugging_face},
        {"ms:", HubKind::modelscope},
        {"modelscope:", HubKind::modelscope}}) {
    if (!starts_with(ref, prefix)) continue;
    hub = parse_hub_ref(std::string_view(ref).substr(prefix.size()), kind);
    if (!hub) {
      return fail(
          Error(ErrorCode::invalid_input, "'" + ref.substr(0, 120) + "' is no name of a repository")
              .hint("write it like " + std::string(prefix) + "Qwen/Qwen3-8B"));
    }
  }
  if (starts_with(ref, "http://") || starts_with(ref, "https://")) {
    const auto url = formats::parse_url(ref);
    if (!url) {
      return fail(Error(ErrorCode::invalid_input,
                        "'" + ref.substr(0, std::min<size_t>(ref.find('?'), 120)) +
                            "' is no address that can be read"));
    }
    hub = parse_hub_url(*url);
    if (!hub) return done(read_address(*url, query, options));
  }
  if (!hub) {
    // Named without a prefix: the catalog first, then the hub.
    explicit_hub = !query.file.empty() || !revision.empty();
    hub = parse_hub_ref(ref, HubKind::hugging_face);
    if (!hub) return std::optional<Value>();
    if (!explicit_hub && (!options.hubs || catalog::resolve_model(ref))) {
      return std::optional<Value>();
    }
  }
  if (!revision.empty()) hub->revision = revision;
  auto model = read_hub(*hub, query, options);
  if (!model && !explicit_hub && model.error().code == ErrorCode::not_found) {
    // Neither knows it: what the catalog has nearby helps as well.
    if (const auto near = catalog::resolve_model(ref); !near) {
      for (const std::string& hint : near.error().hints) model.error().hints.push_back(hint);
    }
  }
  return done(std::move(model));
}

Result<void> resolve_model(Value& model, const SourceOptions& options) {
  if (!model.is_object() || model.find("header") != nullptr || model.find("config") != nullptr) {
    return {};
  }
  ModelQuery query;
  query.file = take_text(model, "file");
  query.variant = take_text(model, "variant");
  const std::string revision = take_text(model, "revision");
  const Value* ref = model.find("ref");
  const Value* path = model.find("path");
  std::optional<Value> read;
  if (path != nullptr && path->is_string()) {
    TRY_ASSIGN(read, read_path(path->as_string(), query));
    model.erase("path");
  } else if (ref != nullptr && ref->is_string()) {
    TRY_ASSIGN(read, read_named(ref->as_string(), query, revision, options));
  }
  if (!read) return {};
  for (json::Member& member : read->as_object()) model.set(member.key, std::move(member.value));
  return {};
}

}  // namespace

bool looks_like_path(const std::string& text) {
  return starts_with(text, "./") || starts_with(text, "../") || starts_with(text, "/") ||
         starts_with(text, "~/") ||
         ((ends_with(text, ".json") || ends_with(text, ".gguf") ||
           ends_with(text, ".safetensors")) &&
          !contains(text, "://")) ||
         exists(text);
}

Result<void> resolve_sources(Value& request, const SourceOptions& options) {
  if (!request.is_object()) return {};
  TRY(take_files_of_line(request));
  std::vector<Value*> holders = {&request};
  for (const char* side : {"a", "b"}) {
    Value* inner = request.find(side);
    if (inner != nullptr && inner->is_object()) holders.push_back(inner);
  }
  if (Value* processes = request.find("processes"); processes != nullptr && processes->is_array()) {
    for (Value& process : processes->as_array()) {
      if (!process.is_object()) continue;
      TRY(take_files_of_line(process));
      holders.push_back(&process);
    }
  }
  for (Value* holder : holders) {
    if (Value* model = holder->find("model")) TRY(resolve_model(*model, options));
    Value* draft = holder->find("draft");
    if (draft == nullptr || !draft->is_object()) continue;
    if (Value* model = draft->find("model")) TRY(resolve_model(*model, options));
  }
  return {};
}

}  // namespace vramwise::host
