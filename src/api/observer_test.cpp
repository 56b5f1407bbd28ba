// Questions that take long can be ended: the answer is what is known by then.
#include <gtest/gtest.h>

#include <string>

#include "api/api.h"
#include "json/parse.h"

namespace vramwise::api {
namespace {

using json::Value;

// Ends the question at the look of that number.
struct Patience {
  int looks = 0;
  int most = 0;
};

bool goes_on(void* context, int64_t) {
  auto& patience = *static_cast<Patience*>(context);
  return ++patience.looks < patience.most;
}

Value answer(const std::string& request, Patience& patience) {
  const auto value = json::parse(request, "request");
  EXPECT_TRUE(value.has_value());
  return handle_value(*value, {}, {goes_on, &patience});
}

const std::string kLoad =
    R"("model":{"ref":"llama-3.1-8b"},"workload":{"lengths":{"kind":"preset","name":"chat"}},
       "slo":{"ttft_seconds":1,"tpot_seconds":0.05})";

TEST(Observer, MaxAnswersWhatItKnows) {
  for (const std::string of : {"rate", "users"}) {
    const std::string request = R"({"ask":"max","of":")" + of +
                                R"(","hardware":{"gpu":"h100-sxm"},"count":2000,)" + kLoad + "}";
    Patience endless{0, 1 << 30};
    const Value whole = answer(request, endless);
    ASSERT_GT(endless.looks, 4) << of;
    ASSERT_EQ(whole.find("error"), nullptr) << json::dump(whole);
    EXPECT_EQ(whole.find("max")->find("stopped"), nullptr);
    const double most = whole.find("max")->find("value")->as_double();
    for (const int looks : {1, endless.looks / 3}) {
      Patience patience{0, looks};
      const Value part = answer(request, patience);
      ASSERT_EQ(part.find("error"), nullptr) << json::dump(part);
      const Value& block = *part.find("max");
      ASSERT_NE(block.find("stopped"), nullptr) << of << " after " << looks;
      EXPECT_TRUE(block.find("answer")->as_string().starts_with("Stopped early, so far: "));
      // Never more than the whole search finds.
      EXPECT_LE(block.find("value")->as_double(), most);
    }
  }
}

TEST(Observer, CardsThatWereNotReachedStayScreened) {
  const std::string request =
      R"({"ask":"gpus","only":["h100-sxm","l40s"],"max_count":1,"count":1000,)" + kLoad + "}";
  Patience endless{0, 1 << 30};
  const Value whole = answer(request, endless);
  ASSERT_EQ(whole.find("error"), nullptr) << json::dump(whole);
  EXPECT_EQ(whole.find("gpus")->find("stopped"), nullptr);
  ASSERT_GT(endless.looks, 2);
  const auto screened = [](const Value& all) {
    int count = 0;
    for (const Value& choice : all.find("gpus")->find("choices")->as_array()) {
      const Value* by_formula = choice.find("screening");
      if (by_formula != nullptr && by_formula->as_boolean()) ++count;
    }
    return count;
  };
  EXPECT_EQ(screened(whole), 0);
  Patience patience{0, 1};
  const Value none = answer(request, patience);
  EXPECT_EQ(screened(none), 2);
  EXPECT_NE(none.find("gpus")->find("stopped"), nullptr);
  EXPECT_NE(none.find("gpus")->find("answer")->as_string().find("by formula"), std::string::npos);
  Patience longer{0, endless.looks};
  EXPECT_EQ(screened(answer(request, longer)), 1);
}

}  // namespace
}  // namespace vramwise::api
