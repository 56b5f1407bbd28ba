// A reader for the YAML that people write by hand: engine configurations, compose files, Kubernetes
// manifests.
//
// Block and flow mappings and lists, plain and quoted scalars, literal (|) and folded (>) blocks,
// comments, anchors with aliases and merge keys (<<). Scalars get the types that PyYAML gives them
// (YAML 1.1: yes, no, on, off are booleans), because that is who reads the files of vLLM and
// SGLang. Not read: complex keys (? ), directives, tags other than to be skipped.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace vramwise::engines::launch {

struct YamlLimits {
  size_t bytes = size_t{1} << 20;
  int depth = 64;
  int values = 20'000;  // setting a key searches its map
};

// The documents of a stream ("---" parts them); at least one, null when empty. Errors:
// invalid_input with the line, too_large beyond a limit.
Result<std::vector<json::Value>> parse_yaml(std::string_view text, std::string_view source,
                                            YamlLimits limits = {});

// The typed value of a plain scalar: "64k" stays text, "64" is a number, "" and "~" are null.
json::Value yaml_scalar(std::string_view text);

// A value as the word it would be on a command line: "2", "0.9", "true"; objects and lists as JSON.
std::string yaml_word(const json::Value& value);

}  // namespace vramwise::engines::launch
