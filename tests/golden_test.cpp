// Runs tests/golden/**/*.json through the contract. A file is
//   {"source": "…", "cases": [{"name", "comment", "request", "expect", "source"}]}
// and `expect` is the part of the answer that is pinned: members not named are free. A value is
// compared exactly; {"$near": x, "$within": 0.02} allows a relative difference, {"$contains": "…"}
// asks for a part of a text, {"$at_most": x} / {"$at_least": x} bound a number, {"$at": {"1": …}}
// pins items of a list by their place.
#include <dirent.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "api/api.h"
#include "base/text.h"
#include "json/parse.h"

namespace vramwise {
namespace {

struct GoldenCase {
  std::string file;
  std::string name;
  json::Value request;
  json::Value expect;
};

std::string read(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void collect(const std::string& folder, std::vector<std::string>& files) {
  DIR* dir = opendir(folder.c_str());
  if (dir == nullptr) return;
  while (const dirent* entry = readdir(dir)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string path = folder + "/" + name;
    if (entry->d_type == DT_DIR) {
      collect(path, files);
    } else if (ends_with(name, ".json")) {
      files.push_back(path);
    }
  }
  closedir(dir);
}

std::vector<GoldenCase> load_cases() {
  std::vector<std::string> files;
  collect(VRAMWISE_GOLDEN_DIR, files);
  std::sort(files.begin(), files.end());
  std::vector<GoldenCase> cases;
  for (const std::string& path : files) {
    const std::string text = read(path);
    const auto document = json::parse(text, path);
    if (!document) {
      cases.push_back({path, "unreadable: " + document.error().message, {}, {}});
      continue;
    }
    const json::Value* list = document->find("cases");
    if (list == nullptr) continue;
    for (const json::Value& item : list->as_array()) {
      const json::Value* name = item.find("name");
      const json::Value* request = item.find("request");
      const json::Value* expect = item.find("expect");
      cases.push_back({path, name != nullptr ? name->as_string() : "unnamed",
                       request != nullptr ? *request : json::Value(),
                       expect != nullptr ? *expect : json::Value()});
    }
  }
  return cases;
}

// Differences between what is pinned and what came, one line each.
void compare(const json::Value& expect, const json::Value* got, const std::string& at,
             std::vector<std::string>& differences) {
  const std::string shown = got != nullptr ? json::dump(*got).substr(0, 200) : "nothing";
  if (expect.is_object()) {
    if (const json::Value* near = expect.find("$near")) {
      const json::Value* within = expect.find("$within");
      const double tolerance = within != nullptr ? within->as_double() : 0;
      if (got == nullptr || !got->is_number() ||
          std::fabs(got->as_double() - near->as_double()) >
              tolerance * std::fabs(near->as_double())) {
        differences.push_back(at + ": expected near " + json::dump(*near) + ", got " + shown);
      }
      return;
    }
    if (const json::Value* part = expect.find("$contains")) {
      if (got == nullptr || !contains(json::dump(*got), part->as_string())) {
        differences.push_back(at + ": expected to contain '" + part->as_string() + "', got " +
                              shown);
      }
      return;
    }
    if (const json::Value* most = expect.find("$at_most")) {
      if (got == nullptr || !got->is_number() || got->as_double() > most->as_double()) {
        differences.push_back(at + ": expected at most " + json::dump(*most) + ", got " + shown);
      }
      return;
    }
    if (const json::Value* least = expect.find("$at_least")) {
      if (got == nullptr || !got->is_number() || got->as_double() < least->as_double()) {
        differences.push_back(at + ": expected at least " + json::dump(*least) + ", got " + shown);
      }
      return;
    }
    if (const json::Value* items = expect.find("$at")) {
      for (const json::Member& item : items->as_object()) {
        const auto place = parse_integer(item.key);
        const bool there = got != nullptr && got->is_array() && place && *place >= 0 &&
                           size_t(*place) < got->as_array().size();
        compare(item.value, there ? &got->as_array()[size_t(*place)] : nullptr, at + "/" + item.key,
                differences);
      }
      return;
    }
    for (const json::Member& member : expect.as_object()) {
      compare(member.value, got != nullptr ? got->find(member.key) : nullptr, at + "/" + member.key,
              differences);
    }
    return;
  }
  if (expect.is_number() && got != nullptr && got->is_number()) {
    if (expect.as_double() == got->as_double()) return;
  } else if (got != nullptr && *got == expect) {
    return;
  }
  differences.push_back(at + ": expected " + json::dump(expect) + ", got " + shown);
}

TEST(Golden, EveryCase) {
  const std::vector<GoldenCase> cases = load_cases();
  ASSERT_FALSE(cases.empty()) << "no golden case under " << VRAMWISE_GOLDEN_DIR;
  for (const GoldenCase& golden : cases) {
    SCOPED_TRACE(golden.file + ": " + golden.name);
    ASSERT_TRUE(golden.request.is_object()) << golden.name;
    ASSERT_TRUE(golden.expect.is_object() && !golden.expect.as_object().empty())
        << "a golden case must expect something";
    const json::Value answer = api::handle_value(golden.request);
    std::vector<std::string> differences;
    compare(golden.expect, &answer, "", differences);
    EXPECT_TRUE(differences.empty()) << join(differences, "\n");
    if (!differences.empty() && golden.expect.find("error") == nullptr) {
      if (const json::Value* error = answer.find("error")) {
        ADD_FAILURE() << "the answer is an error: " << json::dump(*error);
      }
    }
  }
}

}  // namespace
}  // namespace vramwise
