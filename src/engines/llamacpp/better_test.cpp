// Our own placement beside fit's: it reads less from the host, and what its options say fits.
#include <gtest/gtest.h>

#include "support/questions.h"

namespace vramwise::engines {
namespace {

using testing::Ask;

int64_t of(const std::vector<std::pair<std::string, Bytes>>& sizes, std::string_view name) {
  for (const auto& [key, bytes] : sizes) {
    if (key == name) return bytes.count();
  }
  return 0;
}

Bytes on_device(const Buffers& b, std::string_view name) {
  return Bytes(of(b.model, name) + of(b.context, name) + of(b.compute, name));
}

struct Case {
  std::string name;
  Ask ask;
};

std::vector<Case> cases_that_overflow() {
  return {
      {"experts, one card",
       {.config = testing::kQwen30bA3b,
        .weights = "Q8_0",
        .gpu = "rtx-4090",
        .options = R"({"ctx_size":8192,"parallel":1})"}},
      {"experts, two cards",
       {.config = testing::kQwen30bA3b,
        .weights = "BF16",
        .gpu = "rtx-4090",
        .count = 2,
        .options = R"({"ctx_size":8192,"parallel":1})"}},
  };
}

TEST(BetterPlacement, ReadsLessFromTheHostInTheSameMemory) {
  for (const Case& c : cases_that_overflow()) {
    SCOPED_TRACE(c.name);
    const auto asked = testing::ask(c.ask);
    const Assessment a = testing::assess("llama.cpp", asked);
    ASSERT_TRUE(a.fit.has_value());
    ASSERT_TRUE(a.fit->better.has_value());
    const Fit::Better& better = *a.fit->better;
    EXPECT_LT(of(better.reads, "CPU"), of(a.fit->reads, "CPU"));

    // The options as they are printed, planned on their own, leave fit's margin free.
    auto again = asked;
    again.settings.options.set("ctx_size", json::Value(a.fit->ctx_size));
    again.settings.options.set("n_gpu_layers", json::Value(better.n_gpu_layers));
    json::Value patterns = json::Value::array();
    for (const std::string& o : better.override_tensor) patterns.push(o);
    again.settings.options.set("override_tensor", std::move(patterns));
    const Assessment planned = testing::assess("llama.cpp", again);
    ASSERT_TRUE(planned.buffers.has_value());
    for (size_t d = 0; d < asked.hardware.devices.size(); ++d) {
      const std::string name = "CUDA" + std::to_string(d);
      EXPECT_LE(on_device(*planned.buffers, name), asked.hardware.devices[d].free() - GiB(1));
      // Room for one more matrix would be wasted: less than a layer is left.
      EXPECT_GE(on_device(*planned.buffers, name), asked.hardware.devices[d].free() - GiB(3));
    }
  }
}

TEST(BetterPlacement, ReadsAddUpWhateverThePlacement) {
  for (const Case& c : cases_that_overflow()) {
    SCOPED_TRACE(c.name);
    const Assessment a = testing::assess("llama.cpp", testing::ask(c.ask));
    ASSERT_TRUE(a.fit.has_value() && a.fit->better.has_value());
    Bytes fit, better;
    for (const auto& [name, bytes] : a.fit->reads) fit += bytes;
    for (const auto& [name, bytes] : a.fit->better->reads) better += bytes;
    EXPECT_EQ(fit, better);
  }
}

// Every byte of a dense model is read for each token, so whole layers are as good as their
// matrices.
TEST(BetterPlacement, IsSilentWhereFitReadsNoMoreFromTheHost) {
  const Assessment a =
      testing::assess("llama.cpp", testing::ask({.config = testing::kLlama70b,
                                                 .weights = "Q4_K_M",
                                                 .gpu = "rtx-4090",
                                                 .options = R"({"ctx_size":8192,"parallel":1})"}));
  ASSERT_TRUE(a.fit.has_value());
  EXPECT_FALSE(a.fit->better.has_value());
  EXPECT_GT(of(a.fit->reads, "CPU"), 0);
}

TEST(BetterPlacement, IsSilentWhereEverythingFits) {
  const Assessment a =
      testing::assess("llama.cpp", testing::ask({.config = testing::kLlama8b,
                                                 .weights = "Q4_K_M",
                                                 .gpu = "rtx-4090",
                                                 .options = R"({"ctx_size":8192,"parallel":1})"}));
  ASSERT_TRUE(a.fit.has_value());
  EXPECT_FALSE(a.fit->better.has_value());
  EXPECT_GT(of(a.fit->reads, "CUDA0"), 0);
}

}  // namespace
}  // namespace vramwise::engines
