#include "formats/ollama/manifest.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "json/parse.h"
#include "json/reader.h"

namespace vramwise::formats {
namespace {

constexpr std::string_view kImage = "application/vnd.ollama.image.";
constexpr std::string_view kSha = "sha256:";
constexpr int64_t kManifestLimit = int64_t{1} << 20;
constexpr size_t kMostLayers = 256;

bool is_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Letters, digits and - _ . inside; never "..", never empty.
bool is_part(std::string_view text) {
  if (text.empty() || text.size() > 128 || !is_alnum(text[0]) || contains(text, "..")) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_digest(std::string_view digest) {
  if (!starts_with(digest, kSha) || digest.size() != kSha.size() + 64) return false;
  return std::all_of(digest.begin() + kSha.size(), digest.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

std::string OllamaName::manifest_path() const {
  return host + "/" + space + "/" + model + "/" + tag;
}

std::string OllamaName::to_text() const {
  std::string text;
  if (host != OllamaName().host) text = host + "/" + space + "/";
  if (text.empty() && space != OllamaName().space) text = space + "/";
  return text + model + ":" + tag;
}

Result<OllamaName> parse_ollama_name(std::string_view text) {
  OllamaName name;
  std::vector<std::string_view> parts = split(text, '/');
  const size_t colon = parts.back().rfind(':');
  if (colon != std::string_view::npos) {
    name.tag = std::string(parts.back().substr(colon + 1));
    parts.back() = parts.back().substr(0, colon);
  }
  name.model = std::string(parts.back());
  if (parts.size() >= 2) name.space = std::string(parts[parts.size() - 2]);
  if (parts.size() >= 3) name.host = std::string(parts[parts.size() - 3]);
  // A host may carry a port.
  std::string_view host = name.host;
  const size_t port = host.rfind(':');
  if (port != std::string_view::npos) {
    const auto number = parse_integer(host.substr(port + 1));
    if (number && *number > 0 && *number < 65536) host = host.substr(0, port);
  }
  if (parts.size() > 3 || !is_part(host) || !is_part(name.space) || !is_part(name.model) ||
      !is_part(name.tag)) {
    return fail(Error(ErrorCode::invalid_input,
                      "'" + std::string(text.substr(0, 80)) + "' is no name of an Ollama model")
                    .hint("write it like ollama:llama3.1:8b"));
  }
  return name;
}

std::string OllamaLayer::blob_name() const { return replace_all(digest, ":", "-"); }

Result<OllamaManifest> read_ollama_manifest(std::string_view text, std::string_view source) {
  TRY_ASSIGN(const json::Value root,
             json::parse(text, source, {.bytes = kManifestLimit, .values = 20'000, .depth = 16}));
  const json::Reader reader(root, source, text);
  if (!reader.is_object()) {
    return fail(reader.error(ErrorCode::invalid_input, "a manifest must be a JSON object"));
  }
  TRY_ASSIGN(const json::Reader layers, reader.require({"layers"}));
  TRY_ASSIGN(const std::vector<json::Reader> items, layers.items());
  if (items.size() > kMostLayers) {
    return fail(layers.error(ErrorCode::too_large, "more than 256 layers"));
  }
  OllamaManifest manifest;
  for (const json::Reader& item : items) {
    if (!item.is_object()) {
      return fail(item.error(ErrorCode::invalid_input, "a layer must be an object"));
    }
    OllamaLayer layer;
    TRY_ASSIGN(layer.media_type, item.require_string({"mediaType"}));
    TRY_ASSIGN(layer.digest, item.require_string({"digest"}));
    TRY_ASSIGN(layer.bytes, item.require_integer({"size"}));
    if (!is_digest(layer.digest)) {
      return fail(item.error(ErrorCode::invalid_input,
                             "a layer's digest must be sha256: and 64 hexadecimal digits"));
    }
    manifest.total_bytes = saturating_add(manifest.total_bytes, layer.bytes);
    if (!starts_with(layer.media_type, kImage)) continue;
    const std::string_view kind = std::string_view(layer.media_type).substr(kImage.size());
    if (kind == "model") {
      if (!manifest.model.digest.empty()) {
        return fail(item.error(ErrorCode::unsupported,
                               "the model consists of several files; only one is read"));
      }
      manifest.model = std::move(layer);
    } else if (kind == "projector") {
      manifest.projectors.push_back(std::move(layer));
    } else if (kind == "adapter") {
      manifest.adapters.push_back(std::move(layer));
    } else if (kind == "params") {
      manifest.params_digest = layer.digest;
    }
  }
  if (manifest.model.digest.empty()) {
    return fail(layers.error(ErrorCode::unsupported, "the manifest holds no GGUF model"));
  }
  return manifest;
}

}  // namespace vramwise::formats
