// Before the load: which model, and how the server counts tokens.
#include "base/text.h"
#include "host/interrupt.h"
#include "host/live/load_run.h"
#include "json/parse.h"

namespace vramwise::host {
namespace {

constexpr int64_t kShort = 16;  // words of the two probes
constexpr int64_t kLong = 272;

class Probe final : public ExchangeHandler {
 public:
  bool on_data(int status, std::string_view bytes) override {
    return stream.take(status, bytes, LoadStream::Clock::now());
  }
  void on_end(const ExchangeEnd& end) override {
    stream.finish(end, record);
    done = true;
  }
  LoadStream stream;
  LoadRecord record;
  bool done = false;
};

Error unusable(const LoadOptions& options, const LoadRecord& record) {
  Error error(ErrorCode::invalid_input, "the server does not answer a request (" + record.error +
                                            ")" +
                                            (record.detail.empty() ? "" : ": " + record.detail));
  error.where.source = options.target.url();
  if (record.error == "refused") {
    error.hints = {"start the server first, or check the address and port"};
  } else if (record.error == "status 404") {
    error.hints = {"try --api completions, or name the model as the server does: --model"};
  } else if (record.error == "status 401" || record.error == "status 403") {
    error.hints = {
        "it wants a key: put it into OPENAI_API_KEY, or name another variable with "
        "--key-env"};
  }
  return error;
}

Result<LoadRecord> probe(Exchanges& exchanges, const LoadOptions& options, int64_t words,
                         workload::Random& random) {
  TokenScale words_as_tokens;
  ExchangeRequest request;
  request.url = options.target.url();
  request.token = options.target.token;
  request.accept = "text/event-stream";
  request.body = make_body(options.target, make_prompt(words, words_as_tokens, random), 2);
  request.total = std::chrono::milliseconds(int64_t(options.request_seconds * 1000));
  request.stall = std::chrono::milliseconds(int64_t(options.stall_seconds * 1000));
  request.most_bytes = int64_t{4} << 20;
  Probe handler;
  exchanges.start(request, handler);
  while (!handler.done && !interrupted()) exchanges.turn(std::chrono::milliseconds(200));
  if (!handler.done) {
    exchanges.cancel_all();
    return fail(Error(ErrorCode::invalid_input, "interrupted").at(request.url));
  }
  // Nothing but an end is a fine answer to "two tokens".
  if (!handler.record.error.empty() && handler.record.error != "no_tokens") {
    return fail(unusable(options, handler.record));
  }
  return handler.record;
}

Result<void> find_model(Exchanges& exchanges, LoadOptions& options, std::string& engine) {
  ExchangeRequest request;
  request.url = options.target.server + "/v1/models";
  request.token = options.target.token;
  request.total = std::chrono::milliseconds(15'000);
  request.most_bytes = int64_t{4} << 20;
  const auto reply = exchange_once(exchanges, request);
  const bool named = !options.target.model.empty();
  if (!reply) {
    Error error(ErrorCode::invalid_input, "no answer from the server: " + reply.error().message);
    error.where.source = request.url;
    error.hints = {"start the server first, or check the address and port"};
    return fail(std::move(error));
  }
  const auto value = reply->status == 200 ? json::parse(reply->body, request.url)
                                          : fail(ErrorCode::invalid_input, "");
  const json::Value* data = value ? value->find("data") : nullptr;
  if (data != nullptr && data->is_array()) {
    for (const json::Value& entry : data->as_array()) {
      const json::Value* id = entry.find("id");
      if (id == nullptr || !id->is_string()) continue;
      if (named && id->as_string() != options.target.model) continue;
      options.target.model = id->as_string();
      const json::Value* owner = entry.find("owned_by");
      const std::string by =
          owner != nullptr && owner->is_string() ? to_lower(owner->as_string()) : "";
      if (by == "vllm" || by == "sglang") engine = by;
      if (by == "llamacpp") engine = "llama.cpp";
      return {};
    }
  }
  if (named) return {};
  Error error(ErrorCode::invalid_input,
              reply->status == 200 ? "the server names no model"
                                   : "the server answers status " + std::to_string(reply->status));
  error.where.source = request.url;
  error.hints = {reply->status == 401 || reply->status == 403
                     ? "it wants a key: put it into OPENAI_API_KEY, or name another variable with "
                       "--key-env"
                     : "name the model with --model NAME"};
  return fail(std::move(error));
}

}  // namespace

Result<void> prepare_load(LoadOptions& options, TokenScale& scale, std::string& engine) {
  TRY_ASSIGN(const auto exchanges, Exchanges::open());
  TRY(find_model(*exchanges, options, engine));
  options.target.ignore_eos = options.target.ignore_eos || !engine.empty();
  workload::Random random(options.seed, workload::Stream::order);
  TRY_ASSIGN(const LoadRecord less, probe(*exchanges, options, kShort, random));
  TRY_ASSIGN(const LoadRecord more, probe(*exchanges, options, kLong, random));
  if (less.prompt_tokens > 0 && more.prompt_tokens > less.prompt_tokens) {
    scale.tokens_per_word =
        double(more.prompt_tokens - less.prompt_tokens) / double(kLong - kShort);
    scale.overhead = double(less.prompt_tokens) - scale.tokens_per_word * double(kShort);
    scale.measured = true;
  }
  return {};
}

}  // namespace vramwise::host
