// The other direction: options to the line that starts the engine with them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engines/launch/option_table.h"
#include "engines/options.h"

namespace vramwise::engines::launch {

// The command for a POSIX shell; read_launch reads the same options out of it. Values of
// TensorRT-LLM that only its YAML file takes, and parameters of Ollama that only a Modelfile takes,
// come as a here-document in front. `columns` > 0 breaks longer lines behind words with a
// backslash. An option that is gone in `version` (empty: today) is written under its present name
// where it has one. Options that the engine's table does not know are left out. Engines: vllm,
// sglang, trtllm, llama.cpp, ollama; anything else answers an empty text.
std::string write_line(std::string_view engine, std::string_view model, const Options& options,
                       const std::map<std::string, std::string>& env = {}, int columns = 0,
                       std::string_view version = {});

// The same with tables that stay loaded.
std::string write_line(OptionTables& tables, std::string_view engine, std::string_view model,
                       const Options& options, const std::map<std::string, std::string>& env = {},
                       int columns = 0, std::string_view version = {});

// A word as a POSIX shell needs it: bare where that is safe, else in single quotes.
std::string shell_quote(std::string_view word);

}  // namespace vramwise::engines::launch
