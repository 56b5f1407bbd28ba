#include "engines/vllm/attention_backend.h"

#include <algorithm>

#include "base/text.h"
#include "engines/device_support.h"
#include "engines/facts.h"

namespace vramwise::engines::vllm {

Result<std::optional<Requirement>> unknown_backend(const Version& version,
                                                   const std::string& backend) {
  std::string wanted = backend;
  for (char& c : wanted) {
    if (c >= 'a' && c <= 'z') c = char(c - 'a' + 'A');
  }
  if (wanted.empty() || wanted == "AUTO" || wanted == "NONE") return std::nullopt;
  TRY_ASSIGN(Facts facts, Facts::load("vllm", version));
  std::vector<std::string> names = facts.list("attention_backends");
  for (std::string& name : facts.list("attention_backends_added")) names.push_back(std::move(name));
  TRY(facts.check());
  if (std::find(names.begin(), names.end(), wanted) != names.end()) return std::nullopt;
  std::string text =
      "no release read up to this version has the attention backend '" + wanted + "'";
  const auto near = nearest_names(wanted, {names.begin(), names.end()}, 1);
  if (!near.empty()) text += " (similar: " + near.front() + ")";
  Requirement r = doubt("attention_backend", 0, 1, 0, 0,
                        text + ": only a build of one's own starts, by rules that may be its own");
  r.engine_error = "Unknown attention backend: '" + wanted + "'.";
  return std::optional<Requirement>(std::move(r));
}

}  // namespace vramwise::engines::vllm
