#include "apps/cli/options.h"

#include <array>

#include "apps/cli/load_options.h"
#include "apps/cli/measured_step.h"
#include "apps/cli/sizes.h"
#include "base/text.h"
#include "host/model_source.h"
#include "json/parse.h"

namespace vramwise::cli {
namespace {

using json::Value;

Result<bool> set_text(Value& object, std::string_view key, const std::string& value) {
  object.set(key, value);
  return true;
}

Result<bool> set_count(Value& object, std::string_view key, const std::string& value,
                       std::string_view flag) {
  const auto n = parse_integer(value);
  if (!n) {
    return fail(
        Error(ErrorCode::invalid_input, "'" + value.substr(0, 40) + "' is not a whole number")
            .at(std::string(flag)));
  }
  object.set(key, *n);
  return true;
}

// "name=value" with the value as JSON where it is JSON, else as text.
Result<bool> set_pair(Value& object, const std::string& pair, std::string_view flag, bool typed) {
  const size_t equals = pair.find('=');
  if (equals == std::string::npos || equals == 0) {
    return fail(Error(ErrorCode::invalid_input, "'" + pair.substr(0, 60) + "' is not NAME=VALUE")
                    .at(std::string(flag)));
  }
  const std::string value = pair.substr(equals + 1);
  Value parsed(value);
  if (typed) {
    if (auto json = json::parse(value, flag)) parsed = std::move(*json);
  }
  object.set(pair.substr(0, equals), std::move(parsed));
  return true;
}

// One GPU, or several unequal ones between commas.
Result<bool> set_gpus(Value& hardware, const std::string& names) {
  hardware.erase("devices");
  if (names.find(',') == std::string::npos || starts_with(names, "local")) {
    return set_text(hardware, "gpu", names);
  }
  hardware.erase("gpu");
  Value devices = Value::array();
  for (const std::string_view name : split(names, ',')) {
    Value device = Value::object();
    device.set("gpu", trim(name));
    devices.push(std::move(device));
  }
  hardware.set("devices", std::move(devices));
  return true;
}

constexpr std::array kOptions = {
    OptionSpec{
        "-w,--weights", "FORMAT", "Model",
        "stored weight format: bf16, fp8, awq, gptq-int4, nvfp4, Q4_K_M, …\n"
        "(default: what the model's own files say)",
        false,
        [](Value& r, const std::string& v, std::string_view) { return set_text(r, "weights", v); }},
    OptionSpec{"--assume-family", "TYPE", "Model",
               "treat an unknown architecture as this model_type", false,
               [](Value& r, const std::string& v, std::string_view) {
                 return set_text(part(r, "model"), "assume_family", v);
               }},
    OptionSpec{"--override", "KEY=VALUE", "Model", "replace one key of the model's config", true,
               [](Value& r, const std::string& v, std::string_view flag) {
                 return set_pair(part(part(r, "model"), "overrides"), v, flag, true);
               }},
    OptionSpec{"--draft", "MODEL", "Model",
               "draft model of speculative decoding: a name, file or folder, as MODEL\n"
               "(default: what the engine's own options name)",
               false,
               [](Value& r, const std::string& v, std::string_view) {
                 const char* kind = host::looks_like_path(v) ? "path" : "ref";
                 return set_text(part(part(r, "draft"), "model"), kind, v);
               }},
    OptionSpec{"--draft-weights", "FORMAT", "Model",
               "its stored format (default: what its files say)", false,
               [](Value& r, const std::string& v, std::string_view) {
                 return set_text(part(r, "draft"), "weights", v);
               }},
    OptionSpec{"-g,--gpu", "ID", "Hardware",
               "GPU, as in `vramwise catalog gpus`; A,B for unequal cards; none = CPU only;\n"
               "local = this machine's, with what is in use now (local:1 picks)",
               false,
               [](Value& r, const std::string& v, std::string_view) {
                 return set_gpus(part(r, "hardware"), v);
               }},
    OptionSpec{"-n,--count", "N", "Hardware", "number of GPUs (default 1)", false,
               [](Value& r, const std::string& v, std::string_view flag) {
                 return set_count(part(r, "hardware"), "count", v, flag);
               }},
    OptionSpec{"--total", "SIZE", "Hardware",
               "memory of each card as the driver shows it (24GiB, 24GB)", false,
               [](Value& r, const std::string& v, std::string_view flag) -> Result<bool> {
                 TRY_ASSIGN(const int64_t bytes, parse_bytes(v, flag));
                 part(r, "hardware").set("total_bytes", bytes);
                 return true;
               }},
    OptionSpec{"--used", "SIZE", "Hardware", "memory of each card that others hold already", false,
               [](Value& r, const std::string& v, std::string_view flag) -> Result<bool> {
                 TRY_ASSIGN(const int64_t bytes, parse_bytes(v, flag));
                 part(r, "hardware").set("used_bytes", bytes);
                 return true;
               }},
    OptionSpec{"--ram", "SIZE", "Hardware", "host memory", false,
               [](Value& r, const std::string& v, std::string_view flag) -> Result<bool> {
                 TRY_ASSIGN(const int64_t bytes, parse_bytes(v, flag));
                 part(r, "hardware").set("ram_bytes", bytes);
                 return true;
               }},
    OptionSpec{"--backend", "NAME", "Hardware",
               "cuda, rocm, vulkan, metal, sycl, rpc or cpu (default: by the card's vendor)", false,
               [](Value& r, const std::string& v, std::string_view) {
                 return set_text(part(r, "hardware"), "backend", v);
               }},
    OptionSpec{"-c,--ctx", "TOKENS", "Workload",
               "tokens of one sequence, prompt and answer: 8192, 64k, 1M (binary)", false,
               [](Value& r, const std::string& v, std::string_view flag) -> Result<bool> {
                 TRY_ASSIGN(const int64_t tokens, parse_tokens(v, flag));
                 part(r, "workload").set("sequence_tokens", tokens);
                 return true;
               }},
    OptionSpec{"-u,--concurrency", "N", "Workload", "sequences at the same time (users)", false,
               [](Value& r, const std::string& v, std::string_view flag) -> Result<bool> {
                 TRY_ASSIGN(const int64_t n, parse_tokens(v, flag));
                 part(r, "workload").set("concurrency", n);
                 return true;
               }},
    OptionSpec{
        "-l,--lengths", "NAME|FILE", "Load",
        "lengths of requests: a preset (vramwise catalog workloads) or a trace, CSV or JSON\n"
        "Lines (own format, Azure, BurstGPT, Mooncake, vllm bench)",
        false, apply_lengths},
    OptionSpec{"--columns", "prompt=A,output=B", "Load", "columns of a CSV of any other kind",
               false, apply_columns},
    OptionSpec{"--rate", "N", "Load", "requests arriving a second (Poisson)", false, apply_rate},
    OptionSpec{"--users", "N[,think=TIME]", "Load", "people with one request at a time instead",
               false, apply_users},
    OptionSpec{
        "--replay", "SPEED[,pieces=TIME]", "Load",
        "arrivals as the trace recorded them, 2 = twice as fast; pieces=5m: each repetition\n"
        "draws pieces of that length from it, so that figures get their half widths",
        false, apply_replay},
    OptionSpec{"--measured", "FIGURES|FILE", "Load",
               "your server's own speed: itl=12ms,ttft=62ms,prompt=512,output=256 of one user and\n"
               "users=8,tokens=540 of a few; or of each a report of loadtest --json, a result of\n"
               "vllm bench serve, or two texts of /metrics: before=FILE,after=FILE,users=8",
               true, apply_measured},
    OptionSpec{"--acceptance", "P", "Load",
               "drafted tokens that are accepted, each after the one before it (70%)", false,
               apply_acceptance},
    OptionSpec{"--replicas", "N[,ROUTER]", "Load",
               "servers of this kind behind a router: least_requests (default), round_robin", false,
               apply_replicas},
    OptionSpec{"--ttft", "TIME", "Load", "promise: first token within, 1s or 500ms", false,
               apply_ttft},
    OptionSpec{"--tpot", "TIME", "Load", "promise: mean time of each further token", false,
               apply_tpot},
    OptionSpec{"--share", "P", "Load", "requests that must keep the promise (default 95%)", false,
               apply_share},
    OptionSpec{"--price", "USD", "Load",
               "what the machine costs an hour; 0.25/kWh for cards of your own (default: the "
               "catalog's offers)",
               false, apply_price},
    OptionSpec{"--requests", "N", "Load", "length of a simulation (default 20,000)", false,
               apply_count},
    OptionSpec{"--seed", "N", "Load", "of the random numbers (default 1)", false, apply_seed},
    OptionSpec{"-e,--engine", "NAME", "Engine",
               "vllm, llama.cpp, sglang, trtllm, ollama, transformers (default vllm)", false,
               [](Value& r, const std::string& v, std::string_view) {
                 return set_text(part(r, "engine"), "name", v);
               }},
    OptionSpec{"--engine-version", "V", "Engine",
               "as the engine prints it: 0.21.0, b9200 (default: the newest profile)", false,
               [](Value& r, const std::string& v, std::string_view) {
                 return set_text(part(r, "engine"), "version", v);
               }},
    OptionSpec{"-o,--option", "NAME=VALUE", "Engine",
               "an option by the engine's own name: max_num_seqs=64, kv_cache_dtype=fp8", true,
               [](Value& r, const std::string& v, std::string_view flag) {
                 return set_pair(part(part(r, "engine"), "options"), v, flag, true);
               }},
    OptionSpec{"--env", "NAME=VALUE", "Engine", "an environment variable of the engine", true,
               [](Value& r, const std::string& v, std::string_view flag) {
                 return set_pair(part(part(r, "engine"), "env"), v, flag, false);
               }},
};

}  // namespace

std::span<const OptionSpec> request_options() { return kOptions; }

}  // namespace vramwise::cli
