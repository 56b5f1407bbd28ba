// The door of the launch-line reader.
//
// Takes whatever people paste: one or several shell lines (POSIX, PowerShell, cmd.exe), docker run,
// compose, Kubernetes, systemd, Slurm, Python, a Modelfile, a llama-server preset, a request to
// Ollama, a line of a server's log. Never fails on content: what the program itself would refuse is
// part of the answer (Reading::errors). Errors: too_large for more than a megabyte.
#pragma once

#include <string_view>

#include "base/result.h"
#include "engines/launch/option_table.h"
#include "engines/launch/reading.h"

namespace vramwise::engines::launch {

inline constexpr size_t kMaxPaste = size_t{1} << 20;

Result<Reading> read_launch(std::string_view text);
// The same with tables that stay loaded from one paste to the next.
Result<Reading> read_launch(std::string_view text, OptionTables& tables);

}  // namespace vramwise::engines::launch
