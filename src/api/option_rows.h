// The options that a plan rests on, one row each: what was given and by what, what the engine took
// where nothing was given and who decided it, and whether the option moves memory at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engines/launch/reading.h"
#include "json/value.h"
#include "plan/plan.h"

namespace vramwise::api {

// The answer's member "options" where a plan's request has "show_options": true:
// [{"name","flag","value","asked"?,"from","given","moves"?,"counted"?}], those that move memory
// first. `from`: "request", "environment", or for what nobody gave "default", "workload", "model",
// "cards", "weights". `asked` is the given value where the engine made another of it (auto, -1).
// Errors: internal when the build has no option table of the engine.
Result<json::Value> option_rows(const plan::Plan& plan);

// Tells apart, in the rows of a plan that was asked by a launch line, what the line said, and adds
// what of it never reached the plan: options without effect, unknown ones.
void mark_line_options(json::Value& rows, const engines::launch::Reading& reading);

}  // namespace vramwise::api
