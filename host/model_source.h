// From what a person calls a model to the "model" member of a request: a file or folder, a hub id,
// an Ollama name, an address. Reads headers only, locally or by ranges.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace vramwise::host {

struct SourceOptions {
  bool offline = false;  // also HF_HUB_OFFLINE
  bool quiet = false;    // no progress on standard error
  // May ask a hub about a name that the catalog does not know. False: only where the name says so
  // ("hf:", "ms:", "ollama:", an address).
  bool hubs = true;
};

// Replaces, in the models of the request (its own, and "a" and "b" of a comparison), whatever names
// files by what they say:
//   {"path":"./model"} and {"ref":"hf:org/name:Q4_K_M"} become {"ref":…,"header":…,"config":…}.
// A request with a launch line takes what the line names on this machine (line_files.h). "file",
// "variant" and "revision" beside them choose. A name of the catalog is left alone. Errors:
// not_found, invalid_input, … with what to do.
Result<void> resolve_sources(json::Value& request, const SourceOptions& options);

// Whether text is the name of something on disk rather than of a model.
bool looks_like_path(const std::string& text);

}  // namespace vramwise::host
