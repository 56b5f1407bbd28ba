#include "catalog/model_ref.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "catalog/catalog.h"
#include "catalog/stored_format.h"

namespace vramwise::catalog {
namespace {

constexpr int kMaxBases = 4;   // entries that build on entries
constexpr int kMaxSteps = 12;  // endings that one name may carry

std::string quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

// Members of `patch` replace those of `config`, objects member by member; null removes.
void apply_patch(json::Value& config, const json::Value& patch) {
  for (const json::Member& member : patch.as_object()) {
    json::Value* old = config.find(member.key);
    if (member.value.is_null()) {
      config.erase(member.key);
    } else if (old != nullptr && old->is_object() && member.value.is_object()) {
      apply_patch(*old, member.value);
    } else {
      config.set(member.key, member.value);
    }
  }
}

std::string text_of(const json::Value& entry, std::string_view key) {
  const json::Value* value = entry.find(key);
  return value != nullptr ? value->as_string() : std::string();
}

// The entry of this name with those it builds on.
Result<ModelRef> load(std::string_view name) {
  ModelRef model;
  std::vector<json::Value> patches;
  std::string next(name);
  bool format_known = false;
  for (int depth = 0; !next.empty(); ++depth) {
    if (depth > kMaxBases) {
      return fail(ErrorCode::inconsistent, "the bases of model " + quoted(name) + " do not end");
    }
    TRY_ASSIGN(Entry entry, find(Kind::model, next));
    if (depth == 0) {
      model.id = entry.id;
      model.confidence = text_of(entry.value, "confidence");
      model.source = text_of(entry.value, "source");
    }
    // null says that this one is not quantised although its base is.
    const json::Value* quantization = entry.value.find("quantization_config");
    const json::Value* weights = entry.value.find("weights");
    if (!format_known && (quantization != nullptr || weights != nullptr)) {
      if (quantization != nullptr) model.quantization_config = *quantization;
      if (weights != nullptr) model.weights = weights->as_string();
      format_known = true;
    }
    if (const json::Value* notes = entry.value.find("notes")) {
      for (const json::Value& note : notes->as_array()) {
        model.notes.assume("model_shape", entry.id + ": " + note.as_string(),
                           text_of(entry.value, "source"));
      }
    }
    next = text_of(entry.value, "base");
    if (json::Value* config = entry.value.find("config")) patches.push_back(std::move(*config));
  }
  // The root's config is taken as it is: there a null is what config.json says.
  model.config = patches.empty() ? json::Value::object() : std::move(patches.back());
  for (size_t i = patches.size(); i > 1; --i) apply_patch(model.config, patches[i - 2]);
  if (model.confidence == "from memory") {
    model.notes.assume(
        "model_from_memory",
        "the shape of " + model.id + " is " + model.source + "; its config.json would settle it",
        model.source);
  }
  return model;
}

// What the endings of a name have said so far.
struct Asked {
  std::string name;  // what is left
  std::string weights;
  bool of_ollama = false;  // a tag said so, which `name` has lost
  std::optional<StoredFormat> format;
  Notes notes;
};

std::string_view without_publisher(std::string_view name) {
  const size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "-Instruct", "-it", "-2507" …: an ending that does not change the shape. Its length, 0 for none.
size_t tuning_ending(std::string_view name) {
  const std::string lower = to_lower(name);
  constexpr std::string_view kEndings[] = {
      "-instruct-hf", "-chat-hf", "-instruct", "-chat", "-it",  "-hf",        "-base",
      "-thinking",    "-think",   "-pt",       "-qat",  "-dpo", "-reasoning", "-abliterated"};
  for (const std::string_view ending : kEndings) {
    if (ends_with(lower, ending) && lower.size() > ending.size()) return ending.size();
  }
  // Year and month, month and day, or a full date: -2507, -0528, -250728.
  const size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return 0;
  const std::string_view last = name.substr(dash + 1);
  if (is_digits(last) && (last.size() == 4 || last.size() == 6)) return last.size() + 1;
  return 0;
}

// Takes one ending off. False when there is none that is understood.
bool take_ending(Asked& asked) {
  const std::string_view bare = without_publisher(asked.name);
  const std::string publisher = asked.name.substr(0, asked.name.size() - bare.size());
  if (const auto ending = format_ending(publisher, bare)) {
    // The outermost says how the files are stored: "-AWQ-GGUF" is a GGUF.
    if (!asked.format && asked.weights.empty()) {
      asked.format = ending->format;
      asked.notes.assume("stored_format", ending->format.description);
    }
    asked.name.resize(asked.name.size() - ending->length);
    return true;
  }
  // "…-Q8_0-GGUF" names the only file there is, "…-i1-GGUF" an importance matrix (mradermacher).
  const bool of_gguf = asked.format ? asked.format->weights == "Q4_K_M" : !asked.weights.empty();
  if (const size_t dash = bare.rfind('-'); of_gguf && dash != std::string_view::npos) {
    const std::string_view last = bare.substr(dash + 1);
    const bool matrix = to_lower(last) == "i1";
    const auto type = matrix ? std::optional<std::string>() : gguf_type(last);
    if (matrix) {
      asked.weights = "i1-" + (asked.weights.empty() ? std::string("Q4_K_M") : asked.weights);
    } else if (type && asked.weights.empty()) {
      asked.weights = *type;
    }
    if (matrix || type) {
      asked.name.resize(asked.name.size() - last.size() - 1);
      return true;
    }
  }
  if (const size_t length = tuning_ending(bare); length > 0) {
    asked.name.resize(asked.name.size() - length);
    return true;
  }
  if (starts_with(to_lower(bare), "meta-")) {
    asked.name = publisher + std::string(bare.substr(5));
    return true;
  }
  return false;
}

// "name:Q4_K_M", "name:70b-instruct-q3_K_M": takes what stands behind the colon. An Ollama tag
// leaves "name:70b".
void take_tag(Asked& asked) {
  const size_t colon = asked.name.rfind(':');
  if (colon == std::string::npos || asked.name.find('/', colon) != std::string::npos) return;
  const std::string tag = asked.name.substr(colon + 1);
  const bool ollama = asked.name.find('/') == std::string::npos;
  if (const auto type = gguf_type(tag)) {
    asked.weights = *type;
    asked.name.resize(colon);
    return;
  }
  if (!ollama) return;
  if (tag == "latest" && !contains(Kind::model, asked.name)) {
    asked.name.resize(colon);  // listed by its bare name
    asked.of_ollama = true;
    return;
  }
  // From the last part to the first, as long as a part is a type or says nothing of the shape.
  while (!contains(Kind::model, asked.name)) {
    const size_t dash = asked.name.rfind('-');
    if (dash == std::string::npos || dash < colon) return;
    const std::string part = asked.name.substr(dash + 1);
    const auto type = gguf_type(part);
    constexpr std::string_view kTuning[] = {"instruct", "it", "chat", "text", "qat", "base"};
    const bool tuning =
        std::find(std::begin(kTuning), std::end(kTuning), part) != std::end(kTuning);
    if (!type && !tuning) return;
    if (type && asked.weights.empty()) asked.weights = *type;
    asked.name.resize(dash);
  }
}

// "/models/phi-4-Q6_K-00001-of-00002.gguf" -> "phi-4" of type Q6_K. The file itself is read where
// there are files; here only its name can speak.
void take_file_name(Asked& asked) {
  if (!ends_with(to_lower(asked.name), ".gguf")) return;
  asked.name.resize(asked.name.size() - 5);
  const size_t slash = asked.name.find_last_of("/\\");
  if (slash != std::string::npos) asked.name.erase(0, slash + 1);
  // A part of a split file.
  const size_t of = asked.name.rfind("-of-");
  if (of != std::string::npos && is_digits(std::string_view(asked.name).substr(of + 4))) {
    const size_t dash = asked.name.rfind('-', of - 1);
    if (of > 0 && dash != std::string::npos) asked.name.resize(dash);
  }
  for (const char separator : {'-', '.'}) {
    // "-UD-Q4_K_XL" has a hyphen of its own, so the longer ending is tried first.
    size_t cut = asked.name.rfind(separator);
    if (cut == std::string::npos || cut == 0) continue;
    const size_t before = asked.name.rfind(separator, cut - 1);
    for (const size_t at : {before, cut}) {
      if (at == std::string::npos || !asked.weights.empty()) continue;
      if (const auto type = gguf_type(std::string_view(asked.name).substr(at + 1))) {
        // Files of that name have the experts in MXFP4 and the rest in Q8_0.
        // Source: huggingface.co/ggml-org/gpt-oss-20b-GGUF (11.27 GiB), gpt-oss-120b-GGUF (59.02).
        asked.weights = to_lower(*type) == "mxfp4" ? "MXFP4_MOE" : *type;
        asked.name.resize(at);
      }
    }
  }
  asked.notes.assume("file_name", "the GGUF file is not read: its name is taken for its content");
}

std::string plain_name(std::string_view ref) {
  std::string name(trim(ref));
  constexpr std::string_view kPrefixes[] = {"https://", "http://", "huggingface.co/", "hf.co/",
                                            "ollama.com/library/"};
  for (const std::string_view prefix : kPrefixes) {
    if (starts_with(name, prefix)) name.erase(0, prefix.size());
  }
  while (ends_with(name, "/")) name.pop_back();
  // A folder of the hub's cache: "…/models--Qwen--Qwen3-8B/snapshots/b968826d9c46".
  constexpr std::string_view kCached = "models--";
  const size_t cached = name.find(kCached);
  if (cached != std::string::npos && !ends_with(name, ".gguf")) {
    name = name.substr(cached + kCached.size());
    name.resize(std::min(name.size(), name.find('/')));
    if (const size_t owner = name.find("--"); owner != std::string::npos) {
      name.replace(owner, 2, "/");
    }
  }
  return name;
}

// bartowski's names carry the owner: "google_gemma-3-27b-it" is google/gemma-3-27b-it.
std::optional<std::string> with_owner(std::string name) {
  const size_t bar = name.find('_');
  if (bar == std::string::npos) return std::nullopt;
  name[bar] = '/';
  if (contains(Kind::model, name)) return name;
  return std::nullopt;
}

// The name in the catalog that stands for this one, taking endings off until there is one.
std::optional<std::string> listed_name(Asked& asked) {
  if (contains(Kind::model, asked.name)) return asked.name;
  take_file_name(asked);
  take_tag(asked);
  for (int step = 0; step < kMaxSteps; ++step) {
    if (contains(Kind::model, asked.name)) return asked.name;
    const std::string bare(without_publisher(asked.name));
    if (bare != asked.name && contains(Kind::model, bare)) return bare;
    if (const auto owned = with_owner(bare)) return owned;
    if (!take_ending(asked)) break;
  }
  // A name alone is Ollama's "latest".
  if (asked.name.find_first_of("/:") == std::string::npos) {
    const std::string latest = asked.name + ":latest";
    if (contains(Kind::model, latest)) return latest;
  }
  return std::nullopt;
}

// Publishers who quantise with an importance matrix always. It moves the types of a few mixtures.
// Source: their model cards, huggingface.co/bartowski ("All quants made using imatrix option").
void assume_imatrix(ModelRef& model, std::string_view ref) {
  constexpr std::string_view kPublisher = "bartowski/";
  constexpr std::string_view kMoved[] = {"IQ4_XS", "IQ4_NL", "IQ3_XXS", "Q4_0", "Q5_0"};
  if (!starts_with(to_lower(ref), kPublisher)) return;
  if (std::find(std::begin(kMoved), std::end(kMoved), model.weights) == std::end(kMoved)) return;
  model.notes.assume("imatrix",
                     "bartowski's files are made with an importance matrix, which moves some "
                     "types of " +
                         model.weights + ".",
                     "huggingface.co/bartowski");
  model.weights.insert(0, "i1-");
}

// Files of a publisher who stopped when the mixture Q2_K was about to shrink. The mixtures named
// here are those that had other types then, Q3_K_L, Q4_K_M and Q5_K_M in models alone whose files
// hold queries, keys and values in one matrix (phi-2).
// Source: ggml-org/llama.cpp llama.cpp at 328b83de2 (19 December 2023), get_k_quant_type;
// huggingface.co/TheBloke (last files of January 2024).
void assume_rules_of_2023(ModelRef& model, std::string_view ref) {
  constexpr std::string_view kPublisher = "thebloke/";
  constexpr std::string_view kMoved[] = {"Q2_K", "Q3_K_M", "Q3_K_L", "Q4_K_S", "Q4_K_M", "Q5_K_M"};
  if (!starts_with(to_lower(ref), kPublisher)) return;
  if (std::find(std::begin(kMoved), std::end(kMoved), model.weights) == std::end(kMoved)) return;
  model.notes.assume("rules_of_2023",
                     "TheBloke's files are made by llama-quantize of 2023, whose rules for " +
                         model.weights + " are others in some models.",
                     "ggml-org/llama.cpp, llama.cpp of December 2023");
  model.weights.insert(0, "2023-");
}

// Names of Ollama's library stand for a file of one type, usually Q4_K_M.
void assume_ollama_type(ModelRef& model, std::string_view name, bool of_ollama) {
  const bool tagged = name.find(':') != std::string_view::npos;
  if ((!tagged && !of_ollama) || !model.weights.empty()) return;
  if (!model.quantization_config.is_null()) return;  // gpt-oss keeps its own format
  model.weights = ends_with(name, "-qat") ? "Q4_0" : "Q4_K_M";
  if (ends_with(name, "-qat") && starts_with(name, "gemma3:")) model.weights = kGemma3Qat;
  // Made in April 2025 by Ollama 0.6.5 to 0.6.8 itself, with attn_v in 16 bits.
  // Source: ollama/ollama#10828 (types of its tensors), #10911 (18.81 GiB).
  if (name == "qwen3:32b") model.weights = "ollama-Q4_K_M";
  model.notes.assume(
      "ollama_file",
      quoted(name) + " is taken as the usual file of Ollama's library, " + model.weights);
}

Error not_listed(std::string_view ref, std::string_view left) {
  Error error = unknown(Kind::model, ref);
  if (error.hints.empty()) {
    const auto near = nearest(Kind::model, without_publisher(left));
    if (!near.empty()) error.hints.push_back("a similar name exists: " + join(near, ", "));
  }
  error.hints.push_back("give its config.json as the model, or the path of its file");
  return error;
}

}  // namespace

Result<ModelRef> resolve_model(std::string_view ref) {
  Asked asked;
  asked.name = plain_name(ref);
  const std::string as_asked = asked.name;
  const auto name = listed_name(asked);
  if (!name) return fail(not_listed(as_asked, asked.name));
  TRY_ASSIGN(ModelRef model, load(*name));

  // A listed name with a file type behind it is no variant.
  if (*name != as_asked.substr(0, as_asked.rfind(':'))) {
    model.notes.assume("model_variant", quoted(as_asked) + " is taken as a variant of " + model.id +
                                            ": the same shape");
  }
  const json::Value* method = model.quantization_config.find("quant_method");
  const bool packed = method != nullptr && method->is_string() && method->as_string() == "mxfp4";
  if (packed && asked.format && asked.format->weights == "Q4_K_M") {
    // A repository of GGUF files whose experts are MXFP4 in every one of them.
    asked.format->weights = "MXFP4_MOE";
    asked.notes = {};
    asked.notes.assume("stored_format",
                       "no file of the GGUF repository is named; the usual one keeps the experts "
                       "in MXFP4, the rest is Q8_0",
                       "huggingface.co/ggml-org/gpt-oss-20b-GGUF");
  }
  model.notes.append(asked.notes);
  if (asked.format) {
    model.weights = asked.format->weights;
    model.quantization_config = asked.format->quantization_config;
  }
  // A file type that is named wins over what the repository's name implies.
  if (!asked.weights.empty()) {
    model.weights = asked.weights;
    model.quantization_config = {};
  }
  assume_ollama_type(model, *name, asked.of_ollama);
  assume_imatrix(model, as_asked);
  assume_rules_of_2023(model, as_asked);
  return model;
}

}  // namespace vramwise::catalog
