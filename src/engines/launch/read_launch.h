// The door of the launch-line reader.
//
// Takes whatever people paste: one or several shell lines (POSIX, PowerShell, cmd.exe), docker run,
// compose, Kubernetes, systemd, Slurm, Python, a Modelfile, a llama-server preset, a request to
// Ollama, a line of a server's log. Never fails on content: what the program itself would refuse is
// part of the answer (Reading::errors). Errors: too_large for more than a megabyte.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engines/launch/option_table.h"
#include "engines/launch/reading.h"

namespace vramwise::engines::launch {

inline constexpr size_t kMaxPaste = size_t{1} << 20;

using Files = std::map<std::string, std::string>;  // content by name

// `version` is the engine's release where the text does not say it (an image tag does); it decides
// which options are gone. Empty: today's. `files`: what the line names and the text does not hold,
// such as the configuration of `vllm serve --config serve.yaml`.
Result<Reading> read_launch(std::string_view text, std::string_view version = {}, Files files = {});
// The same with tables that stay loaded from one paste to the next.
Result<Reading> read_launch(std::string_view text, OptionTables& tables,
                            std::string_view version = {}, Files files = {});

}  // namespace vramwise::engines::launch
