// What a load test sends: prompts of a wanted number of tokens for a tokenizer that is not at hand,
// as requests of the OpenAI-compatible interface.
#pragma once

#include <cstdint>
#include <string>

#include "workload/random.h"

namespace vramwise::host {

enum class LoadApi { chat, completions };

struct LoadTarget {
  std::string server;  // address without path
  std::string token;   // Bearer; may be empty
  std::string model;
  LoadApi api = LoadApi::chat;
  // Engines that serve open models take it, hosted services refuse it: the answer then has the
  // wanted length instead of ending where the model likes.
  bool ignore_eos = false;

  std::string url() const;
};

// How many tokens a word of ours is, and what the chat template adds. Found out from the server's
// own counts.
struct TokenScale {
  double tokens_per_word = 1;
  double overhead = 0;
  bool measured = false;
};

// A prompt of about that many tokens: common words in an order of its own, so that no two share a
// prefix that a cache could hold.
std::string make_prompt(int64_t tokens, const TokenScale& scale, workload::Random& random);

// Words of a prompt for so many tokens; at least one.
int64_t words_for(int64_t tokens, const TokenScale& scale);

// The request's body: streaming, with usage at the end.
std::string make_body(const LoadTarget& target, const std::string& prompt, int64_t output_tokens);

}  // namespace vramwise::host
