// Whether an engine runs on a card at all, whatever fits: makers, compute capability, and the
// weight formats that its kernels know there. Facts "makers", "least_capability",
// "built_capability" and "least_capability_<format>" of catalog/engines/<id>.json, each with its
// source; a fact that an engine lacks asks for nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/note.h"
#include "base/result.h"
#include "engines/engine.h"

namespace vramwise::engines {

struct DeviceSupport {
  std::vector<Refusal> refusals;
  // Tight: the published wheels and images hold no kernels for the card while a build of one's own
  // may, or no server on a card of that maker (facts "makers") was held against the rules.
  std::vector<Requirement> doubts;
};

// A requirement that is undecided between `low` and `wanted`: the verdict is tight, and whether it
// starts follows `likely`.
Requirement doubt(std::string what, int device, int wanted, int low, int likely,
                  std::string explanation);

// `engine` is its id in the catalog. `online`: the scheme that the options ask for beside the
// stored one; null: none. Errors: internal for a faulty profile.
Result<DeviceSupport> device_support(std::string_view engine, const Question& question,
                                     const weights::Scheme* online = nullptr);

// The part of it that needs no model, for sweeps over cards: the newest version's makers and least
// capability, that of the published builds included.
bool supports(std::string_view engine, const catalog::Gpu& gpu);

}  // namespace vramwise::engines
