// Model hubs: what a repository holds and where its files are read. Follows the habits of the
// ecosystem: HF_ENDPOINT, HF_TOKEN, HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE; MS_ENDPOINT, MS_TOKEN.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/byte_source.h"
#include "host/head_cache.h"
#include "host/http.h"

namespace vramwise::host {

enum class HubKind { hugging_face, modelscope };

struct HubFile {
  std::string path;
  int64_t bytes = -1;      // -1: the hub does not say
  std::string content_id;  // equal ids, equal bytes; "" when the hub says none
};

struct HubRepo {
  HubKind kind = HubKind::hugging_face;
  std::string id;        // "Qwen/Qwen3-8B"
  std::string revision;  // as asked for
  std::string commit;    // what it stands for; "" when the hub does not say
  std::vector<HubFile> files;
};

struct HubOptions {
  bool offline = false;
  std::string revision;  // "" is the hub's main line
};

// "org/name" of letters, digits, '-', '_' and '.'.
bool is_repo_id(std::string_view text);

class Hub {
 public:
  Hub(HttpClient& client, const HeadCache& cache, Progress& progress);

  // Asks the hub, or what it said last when `offline`. Errors say what to do: a token, an accepted
  // licence, another revision.
  Result<HubRepo> list(HubKind kind, const std::string& id, const HubOptions& options);
  // Reads ranges of a file, remembered by content. Offline, only what is remembered.
  std::unique_ptr<formats::ByteSource> open(const HubRepo& repo, const HubFile& file, bool offline);

 private:
  Result<HubRepo> list_hugging_face(const std::string& id, const std::string& revision);
  Result<HubRepo> list_modelscope(const std::string& id, const std::string& revision);

  HttpClient& client_;
  const HeadCache& cache_;
  Progress& progress_;
};

// Settings of the environment.
std::string hub_endpoint(HubKind kind);
std::string hub_token(HubKind kind);
bool hub_offline();
// Folder of the snapshot of a repository in the local hub cache, "" when it is not there.
std::string local_snapshot(const std::string& id, const std::string& revision);
// Files of such a folder, subfolders included ("Q4_K_M/x.gguf").
std::vector<std::string> snapshot_files(const std::string& folder);

}  // namespace vramwise::host
