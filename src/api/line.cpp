#include "api/line.h"

#include "api/answer.h"
#include "base/text.h"
#include "engines/engine.h"
#include "engines/launch/embedded.h"
#include "engines/launch/read_launch.h"

namespace vramwise::api {
namespace {

using engines::launch::Finding;
using engines::launch::Reading;
using json::Value;

Result<Reading> read_line(const json::Reader& request) {
  TRY_ASSIGN(const std::string line, request.require_string({"line"}));
  // A version of the wrong kind is told where the request itself is read.
  const Value* engine = request.value().find("engine");
  const Value* version = engine != nullptr ? engine->find("version") : nullptr;
  const bool named = version != nullptr && version->is_string();
  engines::launch::Files files;
  if (const auto given = request.find("files")) {
    TRY_ASSIGN(const auto members, given->members());
    for (const auto& [name, content] : members) {
      TRY_ASSIGN(files[name], content.string());
    }
  }
  return engines::launch::read_launch(line, named ? version->as_string() : std::string_view(),
                                      std::move(files));
}

// The member, made an object when it is absent.
Value& part(Value& object, std::string_view key) {
  Value* found = object.find(key);
  return found != nullptr ? *found : object.set(key, Value::object());
}

void set_if_absent(Value& object, std::string_view key, Value value) {
  if (object.find(key) == nullptr) object.set(key, std::move(value));
}

Error refused_by_program(const Reading& reading) {
  Error error(ErrorCode::invalid_input,
              reading.engine + " itself would refuse this line: " + reading.errors.front().text);
  for (size_t i = 1; i < reading.errors.size(); ++i) error.hints.push_back(reading.errors[i].text);
  return std::move(error).at("line");
}

// What the line says and the plan cannot use.
std::vector<Note> notes_of(const Reading& reading) {
  Notes notes;
  if (!reading.several.empty()) {
    notes.warn("several_servers", "the text starts " +
                                      format_integer(int64_t(reading.several.size())) +
                                      " servers; the first one is planned");
  }
  for (const auto& option : reading.unknown) {
    std::string text = reading.engine + " has no option '" + option.token +
                       "' that is known here; it is left out of the plan, and a server that does "
                       "not know it either will not start";
    if (!option.nearest.empty()) text += "; a similar option exists: " + option.nearest;
    notes.warn("unknown_option", std::move(text));
  }
  for (const Finding& warning : reading.warnings) notes.warn(warning.code, warning.text);
  return std::move(notes.warnings);
}

bool names_engine(const json::Reader& request, std::string_view wanted) {
  const Value* engine = request.value().find("engine");
  const Value* name = engine != nullptr ? engine->find("name") : nullptr;
  if (name == nullptr || !name->is_string()) return false;
  const auto found = engines::find_engine(name->as_string());
  return found && (*found)->name() == wanted;
}

// A line is in its program's own words, which another engine does not have.
Result<void> refuse_other_engine(const json::Reader& request, const engines::Engine& of_line) {
  const Value* engine = request.value().find("engine");
  const Value* name = engine != nullptr ? engine->find("name") : nullptr;
  if (name == nullptr || !name->is_string()) return {};
  const auto asked = engines::find_engine(name->as_string());
  if (!asked || (*asked)->name() == of_line.name()) return {};  // an unknown one is told elsewhere
  const std::string wanted((*asked)->name());
  return fail(Error(ErrorCode::inconsistent, "the line starts " + std::string(of_line.name()) +
                                                 ", and " + wanted + " is asked for as the engine")
                  .at("line")
                  .hint("to plan the line as it stands, leave the engine out (--engine)")
                  .hint("to plan the same model with " + wanted +
                        ", name the model and give the options by its names: vramwise plan MODEL "
                        "--engine " +
                        wanted + " -o NAME=VALUE"));
}

// That another program's line is planned as llama.cpp's, and what of it is not.
Note note_of(const engines::launch::Embedded& inside) {
  std::string text = inside.name +
                     " runs a llama.cpp of its own, whose build its line does not say: planned as "
                     "llama-server of today with the same options";
  for (size_t i = 0; i < inside.left.size(); ++i) {
    text += (i == 0 ? "; left out of the plan: " : ", ") + inside.left[i];
  }
  Notes notes;
  notes.warn("planned_as_llamacpp", std::move(text));
  return std::move(notes.warnings.front());
}

// That a model named beside the line is planned instead of the line's own; empty: no other one.
std::vector<Note> note_of_model(const Reading& reading, const Value* model) {
  const Value* ref = model != nullptr && model->is_object() ? model->find("ref") : nullptr;
  if (reading.model.empty() || ref == nullptr || !ref->is_string()) return {};
  const auto last_part = [](std::string_view name) {
    return to_lower(name.substr(name.find_last_of('/') + 1));
  };
  const std::string asked = ref->as_string();
  if (last_part(asked) == last_part(reading.model)) return {};
  Notes notes;
  notes.warn("other_model", "the line serves " + reading.model + "; planned is " + asked +
                                ", which was named beside it");
  return std::move(notes.warnings);
}

}  // namespace

void add_notes(Value& answer, const std::vector<Note>& notes) {
  if (notes.empty()) return;
  Value* warnings = answer.find("warnings");
  if (warnings == nullptr) warnings = &answer.set("warnings", Value::array());
  const Value more = notes_block(notes);
  for (const Value& note : more.as_array()) warnings->push(note);
}

Result<FromLine> request_from_line(const json::Reader& request) {
  TRY_ASSIGN(Reading reading, read_line(request));
  if (reading.engine.empty()) {
    return fail(Error(ErrorCode::unsupported, "no serving engine was found in the line")
                    .at("line")
                    .hint("paste the command that starts the server, such as `vllm serve MODEL …`")
                    .hint("an engine's own configuration file belongs to its command: "
                          "vramwise plan -- vllm serve --config FILE"));
  }
  // A program with llama.cpp inside is planned where the request itself says so.
  const auto embedded = engines::launch::as_llamacpp(reading);
  const auto inside = embedded && names_engine(request, embedded->engine) ? embedded : std::nullopt;
  const auto engine = engines::find_engine(inside ? inside->engine : reading.engine);
  if (!engine) {
    std::string read = reading.engine + " is read but not planned; the line says";
    if (!reading.model.empty()) read += " model " + reading.model + ",";
    read += " options " + json::dump(reading.options.to_json());
    Error error(ErrorCode::unsupported, read);
    if (embedded) {
      error.hints.push_back(
          embedded->name + " runs " + embedded->engine + " inside: with --engine " +
          embedded->engine +
          " (engine.name) the line is planned as the llama-server line that is equal");
    }
    return fail(std::move(error).at("line"));
  }
  if (!reading.errors.empty()) return fail(refused_by_program(reading));
  if (!inside) TRY(refuse_other_engine(request, **engine));

  Value filled = request.value();
  filled.erase("line");
  filled.erase("files");
  std::vector<Note> other_model = note_of_model(reading, filled.find("model"));
  if (!reading.model.empty() && filled.find("model") == nullptr) {
    part(filled, "model").set("ref", reading.ref.empty() ? reading.model : reading.ref);
  }
  // A log may name it still.
  if (filled.find("model") == nullptr && !reading.files_not_seen.empty() && !request.has("log")) {
    return fail(Error(ErrorCode::missing_field, "the line names no model, and " +
                                                    reading.files_not_seen.front() +
                                                    ", which may, was not found")
                    .at("line")
                    .hint("name the model: vramwise plan MODEL … -- LINE, or give the file"));
  }
  if (filled.find("model") == nullptr && !request.has("log")) {
    return fail(Error(ErrorCode::missing_field, "the line names no model")
                    .at("line")
                    .hint("name it in the line, or in front of it: vramwise plan MODEL … -- LINE"));
  }
  Value& target = part(filled, "engine");
  set_if_absent(target, "name", (*engine)->name());
  if (!reading.version.empty() && !inside) set_if_absent(target, "version", reading.version);
  Value& options = part(target, "options");
  for (const json::Member& option : (inside ? inside->options : reading.options).entries()) {
    set_if_absent(options, option.key, option.value);
  }
  // What moves no memory stays in the command that the plan prints.
  for (const json::Member& option : reading.kept.entries()) {
    if (!inside) set_if_absent(options, option.key, option.value);
  }
  const std::string_view program = (*engine)->program_option();
  if (!program.empty() && !reading.entry.empty() && !inside)
    set_if_absent(options, program, reading.entry);
  Value& env = part(target, "env");
  for (const auto& [name, value] : reading.env) set_if_absent(env, name, value);

  Value* hardware = filled.find("hardware");
  if (hardware != nullptr && hardware->is_object() && hardware->find("count") == nullptr &&
      hardware->find("devices") == nullptr) {
    const int64_t visible = reading.gpus.number();
    const int64_t asked = (*engine)->devices_asked(reading.options);
    // The parallel sizes decide; cards that are visible beyond them stay idle.
    if (asked > 0) {
      hardware->set("count", asked);
    } else if (visible > 0) {
      hardware->set("count", visible);
    }
  }
  std::vector<Note> notes = notes_of(reading);
  for (Note& note : other_model) notes.push_back(std::move(note));
  if (inside) {
    notes.push_back(note_of(*inside));
    reading.options = inside->options;
  }
  return FromLine{std::move(filled), std::move(reading), std::move(notes)};
}

Result<Value> ask_launch(const json::Reader& request, const Value& id) {
  TRY_ASSIGN(const Reading reading, read_line(request));
  Value answer = answer_head(id);
  answer.set("launch", engines::launch::to_json(reading));
  return answer;
}

}  // namespace vramwise::api
