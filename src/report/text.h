// Answers as text for people. Works on the JSON answer alone, so that a saved answer, the page's
// export and the command line read the same.
#pragma once

#include <string>

#include "json/value.h"
#include "report/style.h"

namespace vramwise::report {

// Any answer: plan, inspect, catalog or error. Ends with a newline.
std::string to_text(const json::Value& answer, const Style& style);

// "error: … --> … help: …" for standard error.
std::string error_text(const json::Value& answer, const Style& style);

// explain: every ledger row with formula, numbers and source.
std::string explain_text(const json::Value& answer, const Style& style);

// inspect: the model's shape, tensors and cache curve.
std::string inspect_text(const json::Value& answer, const Style& style);

// diff: what two models differ in.
std::string diff_text(const json::Value& answer, const Style& style);

// catalog listings and entries.
std::string catalog_text(const json::Value& answer, const Style& style);

// The decisions: max, gpus, models, compare.
std::string max_text(const json::Value& answer, const Style& style);
std::string gpus_text(const json::Value& answer, const Style& style);
std::string models_text(const json::Value& answer, const Style& style);
std::string compare_text(const json::Value& answer, const Style& style);
// Several programs on one node.
std::string node_text(const json::Value& answer, const Style& style);
// A simulated load: rate, users, occupancy over time, latency, cost.
std::string simulate_text(const json::Value& answer, const Style& style);
// What the "workload" block of a plan says about lengths and users; empty without.
std::string load_lines(const json::Value& workload, const Style& style);
// Occupancy over time of a simulated load, for a file.
std::string occupancy_svg(const json::Value& answer);
std::string occupancy_html(const json::Value& answer);
// verify: a log beside its plan.
std::string verify_text(const json::Value& answer, const Style& style);
// check: whether saved plans still hold.
std::string check_text(const json::Value& answer, const Style& style);
// The options that a plan rests on (its member "options"); empty without.
std::string options_text(const json::Value& answer, const Style& style);
// What was read out of a launch line.
std::string launch_text(const json::Value& answer, const Style& style);

}  // namespace vramwise::report
