// Python source and log lines that carry an engine's options as named values.
#pragma once

#include <string_view>
#include <vector>

#include "engines/launch/invocation.h"

namespace vramwise::engines::launch {

// LLM(...), AsyncEngineArgs(...), sgl.Engine(...), Llama(...) in Python; "non-default args: {...}"
// of vLLM and "server_args=ServerArgs(...)" of SGLang in a log. False when there is none.
bool read_python_source(std::string_view text, Context& context, std::vector<Reading>& readings);

}  // namespace vramwise::engines::launch
