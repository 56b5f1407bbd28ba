#include "api/blobs.h"

#include <memory>
#include <vector>

#include "base/text.h"
#include "formats/byte_source.h"
#include "formats/model_files.h"
#include "json/reader.h"

namespace vramwise::api {
namespace {

using formats::PartialSource;
using json::Value;

constexpr size_t kMostFiles = 20'000;

struct Blob {
  int64_t number = 0;
  std::unique_ptr<PartialSource> source;
};

Result<Blob> read_blob(const json::Reader& from, std::span<const BlobPart> parts) {
  Blob blob;
  TRY_ASSIGN(blob.number, from.require_integer({"blob"}));
  TRY_ASSIGN(const int64_t size, from.require_integer({"size_bytes"}));
  TRY_ASSIGN(const auto name, from.optional_string({"name"}));
  std::vector<PartialSource::Part> of_blob;
  for (const BlobPart& part : parts) {
    if (part.blob == blob.number) of_blob.push_back({part.offset, part.bytes});
  }
  blob.source =
      std::make_unique<PartialSource>(name.value_or("model file"), size, std::move(of_blob));
  return blob;
}

Result<std::optional<Need>> attach(Value& model, std::span<const BlobPart> parts) {
  const json::Reader reader(model, "request.model");
  std::vector<Blob> blobs;
  formats::ModelQuery query;
  if (const auto files = reader.find("files")) {
    TRY_ASSIGN(const auto items, files->items());
    if (items.empty() || items.size() > kMostFiles) {
      return fail(files->error(ErrorCode::invalid_input, "'files' must list 1 to 20,000 files"));
    }
    for (const json::Reader& item : items) {
      TRY_ASSIGN(Blob blob, read_blob(item, parts));
      blobs.push_back(std::move(blob));
    }
    TRY_ASSIGN(const auto file, reader.optional_string({"file"}));
    TRY_ASSIGN(const auto variant, reader.optional_string({"variant"}));
    query.file = file.value_or("");
    query.variant = variant.value_or("");
  } else if (reader.has("blob")) {
    TRY_ASSIGN(Blob blob, read_blob(reader, parts));
    query.file = blob.source->name();
    blobs.push_back(std::move(blob));
  } else {
    return std::optional<Need>();
  }
  TRY_ASSIGN(const auto ref, reader.optional_string({"ref"}));
  query.id = ref.value_or("");
  std::vector<formats::ModelFile> files;
  for (const Blob& blob : blobs) files.push_back({blob.source->name(), blob.source.get()});
  auto read = formats::read_model_files(files, query);
  for (const Blob& blob : blobs) {
    if (const auto& missing = blob.source->missing()) {
      return std::optional<Need>(Need{blob.number, missing->offset, missing->bytes});
    }
  }
  if (!read) return fail(std::move(read.error()));
  for (const char* key : {"blob", "size_bytes", "name", "files", "file", "variant"}) {
    model.erase(key);
  }
  for (json::Member& member : read->as_object()) {
    // A config that the request gives itself stays.
    if (model.find(member.key) == nullptr) model.set(member.key, std::move(member.value));
  }
  return std::optional<Need>();
}

}  // namespace

Result<std::optional<Need>> attach_headers(Value& request, std::span<const BlobPart> parts) {
  if (!request.is_object()) return std::optional<Need>();
  std::vector<Value*> holders = {&request};
  for (const char* side : {"a", "b"}) {
    Value* inner = request.find(side);
    if (inner != nullptr && inner->is_object()) holders.push_back(inner);
  }
  for (Value* holder : holders) {
    Value* draft = holder->find("draft");
    for (Value* of : {holder, draft}) {
      Value* model = of != nullptr && of->is_object() ? of->find("model") : nullptr;
      if (model == nullptr || !model->is_object()) continue;
      TRY_ASSIGN(const std::optional<Need> need, attach(*model, parts));
      if (need) return need;
    }
  }
  return std::optional<Need>();
}

}  // namespace vramwise::api
