// The flags about a load (--lengths, --rate, --ttft, …): how each becomes a part of the request.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace vramwise::cli {

// The member of an object, made an object when it is absent.
json::Value& part(json::Value& object, std::string_view name);

Result<bool> apply_lengths(json::Value& request, const std::string& value, std::string_view flag);
Result<bool> apply_columns(json::Value& request, const std::string& value, std::string_view flag);
Result<bool> apply_rate(json::Value& request, const std::string& value, std::string_view flag);
Result<bool> apply_users(json::Value& request, const std::string& value, std::string_view flag);
Result<bool> apply_replay(json::Value& request, const std::string& value, std::string_view flag);
Result<bool> apply_ttft(json::Value& request, const std::string& value, std::string_view flag);
Result<bool> apply_tpot(json::Value& request, const std::string& value, std::string_view flag);
Result<bool> apply_acceptance(json::Value& request, const std::string& value,
                              std::string_view flag);
Result<bool> apply_replicas(json::Value& request, const std::string& value, std::string_view flag);
Result<bool> apply_share(json::Value& request, const std::string& value, std::string_view flag);
Result<bool> apply_price(json::Value& request, const std::string& value, std::string_view flag);
Result<bool> apply_count(json::Value& request, const std::string& value, std::string_view flag);
Result<bool> apply_seed(json::Value& request, const std::string& value, std::string_view flag);

// Seconds from "1s", "50ms", "0.5".
Result<double> parse_seconds(std::string_view text, std::string_view flag);

// Replaces workload.trace.path by the file's text: the core knows no files.
Result<bool> read_trace_file(json::Value& request);

}  // namespace vramwise::cli
