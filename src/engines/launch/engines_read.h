// The readers of the engines: from one program call, or from named values, to a reading.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engines/launch/invocation.h"
#include "engines/launch/literal.h"
#include "engines/launch/reading.h"

namespace vramwise::engines::launch {

// Which engine a program is, and where its arguments begin.
struct Program {
  std::string engine;       // "vllm"; empty: none of ours
  std::string table;        // id of its option table
  std::string entry;        // "serve", "llama-server"
  std::string subcommand;   // "bench", "disaggregated": family of options
  size_t arguments = 0;     // index into argv
  bool is_client = false;   // talks to a server, holds no model itself
  bool named_only = false;  // known launcher whose options are not read
};
Program identify(const std::vector<Word>& argv);

// Each fills out.model, options, ignored, unknown, removed, errors, warnings.
void read_vllm(const Invocation& call, const Program& program, Context& context, Reading& out);
void read_sglang(const Invocation& call, const Program& program, Context& context, Reading& out);
void read_llamacpp(const Invocation& call, const Program& program, Context& context, Reading& out);
void read_trtllm(const Invocation& call, const Program& program, Context& context, Reading& out);
void read_ollama(const Invocation& call, const Program& program, Context& context, Reading& out);
void read_other(const Invocation& call, const Program& program, Context& context, Reading& out);

// `ollama serve` and everything that only sets its environment.
void read_ollama_env(const WordEnv& env, bool shown, Context& context, Reading& out);
// One request to Ollama's API.
bool read_ollama_request(const json::Value& body, Context& context, Reading& out);
bool read_modelfile(std::string_view text, Context& context, Reading& out);
// A preset of llama-server (INI).
bool read_llamacpp_preset(std::string_view text, Context& context, Reading& out);
// Sets options from variables where an option has one (LLAMA_ARG_*, NUM_SHARD).
void read_option_env(const Invocation& call, class OptionSink& sink);

// Keywords of LLM(...), sgl.Engine(...), Llama(...); keys of a log line.
void read_named(std::string_view engine, const std::vector<Argument>& arguments, Context& context,
                Reading& out);

// Words of an engine's own YAML file, for engines that turn it into a command line.
struct ConfigWords {
  std::vector<Word> words;
  std::string model;
  bool read = false;  // the file was there and is a mapping
};
// Adds file_not_seen, or what is wrong with the file. `false_is_dropped`: a false flag does
// nothing.
ConfigWords read_config_file(const Word& path, std::string_view table, Context& context,
                             Reading& out);

// Checks that apply to all: visible devices, GPUs needed against GPUs given.
void read_devices(const Invocation& call, Reading& out);
void check_gpu_count(const Invocation& call, Reading& out);
// Variables that matter for memory, as the table says.
void read_env(const Invocation& call, Context& context, std::string_view table, Reading& out);

}  // namespace vramwise::engines::launch
