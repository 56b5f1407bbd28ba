// One rank of SGLang as a question leaves it, for tests of its pools.
#pragma once

#include <gtest/gtest.h>

#include "engines/sglang/pools.h"
#include "support/questions.h"

namespace vramwise::engines::sglang {

inline RankPlan planned(const testing::Asked& asked) {
  Notes notes;
  const auto setup = read_setup(asked.question(), notes);
  EXPECT_TRUE(setup) << (setup ? "" : setup.error().message);
  return plan_rank(asked.question(), *setup, asked.hardware.devices[0], notes);
}

}  // namespace vramwise::engines::sglang
