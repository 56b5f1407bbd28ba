// The compute buffers of a folded model are those of every layer, for every architecture of the
// catalog and for the placements that searches try.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/text.h"
#include "catalog/catalog.h"
#include "catalog/model_ref.h"
#include "json/parse.h"
#include "plan/plan.h"
#include "plan/request.h"
#include "turns.h"

namespace vramwise {
namespace {

struct Placed {
  std::string name, hardware, options;
};

const std::vector<Placed>& placements() {
  static const std::vector<Placed> all = {
      {"one GPU", R"({"gpu":"h100-sxm"})", R"({"ctx_size":8192,"parallel":1,"n_gpu_layers":999})"},
      {"one GPU, slots, quantised cache", R"({"gpu":"rtx-4090"})",
       R"({"ctx_size":65536,"parallel":8,"n_gpu_layers":999,"cache_type_k":"q8_0",
           "cache_type_v":"q8_0","flash_attn":"on"})"},
      {"half of the layers", R"({"gpu":"rtx-3090"})",
       R"({"ctx_size":4096,"parallel":2,"n_gpu_layers":17,"flash_attn":"off"})"},
      {"two GPUs, pipelined", R"({"gpu":"rtx-4090","count":2})",
       R"({"ctx_size":16384,"parallel":4,"n_gpu_layers":999})"},
      {"three GPUs, part on the host", R"({"gpu":"rtx-3060-12","count":3})",
       R"({"ctx_size":8192,"parallel":1,"n_gpu_layers":25})"},
      {"cache on the host", R"({"gpu":"rtx-4090"})",
       R"({"ctx_size":8192,"parallel":1,"n_gpu_layers":999,"kv_offload":false})"},
      {"experts on the host", R"({"gpu":"rtx-4090"})",
       R"({"ctx_size":32768,"parallel":1,"n_gpu_layers":999,"n_cpu_moe":13})"},
      {"nothing taken over", R"({"gpu":"rtx-4090"})",
       R"({"ctx_size":8192,"parallel":1,"n_gpu_layers":21,"op_offload":false})"},
      {"Metal", R"({"gpu":"apple-m2-max-96"})",
       R"({"ctx_size":16384,"parallel":2,"n_gpu_layers":999})"},
      {"Vulkan", R"({"gpu":"rx-7900-xtx","backend":"vulkan"})",
       R"({"ctx_size":8192,"parallel":1,"n_gpu_layers":999,"ubatch_size":2048})"},
      {"the CPU alone", R"({"gpu":"none","count":1})", R"({"ctx_size":8192,"parallel":1})"},
  };
  return all;
}

Result<plan::Resolved> question_of(std::string_view id, std::string_view format,
                                   const Placed& placed) {
  const std::string text = R"({"model":{"ref":)" + json::quote(id) + R"(},"weights":")" +
                           std::string(format) + R"(","engine":{"name":"llama.cpp","options":)" +
                           placed.options + R"(},"hardware":)" + placed.hardware + "}";
  TRY_ASSIGN(const json::Value value, json::parse(text, "request"));
  TRY_ASSIGN(const plan::Request request, plan::read_request(json::Reader(value, "request")));
  return plan::resolve(request);
}

TEST(FoldedLayers, HaveTheBuffersOfAllOfThem) {
  int compared = 0;
  std::set<std::string> seen;  // many catalog models differ in their weights only
  Turns turns(5);
  for (const std::string_view id : catalog::ids(catalog::Kind::model)) {
    const auto ref = catalog::resolve_model(id);
    if (!ref || !seen.insert(json::dump(ref->config)).second) continue;
    const json::Value* architectures = ref->config.find("architectures");
    turns.next_model(architectures ? json::dump(*architectures) : "");
    for (size_t i = 0; i < placements().size(); ++i) {
      if (!turns.asks(i)) continue;
      const Placed& placed = placements()[i];
      const auto resolved = question_of(id, "Q4_K_M", placed);
      if (!resolved) break;  // no GGUF form
      const auto whole = resolved->engine->assess(resolved->question(engines::Detail::full));
      const auto folded = resolved->engine->assess(resolved->question(engines::Detail::verdict));
      ASSERT_EQ(bool(whole), bool(folded)) << id << ": " << placed.name;
      if (!whole) continue;
      ASSERT_TRUE(whole->buffers && folded->buffers) << id;
      EXPECT_EQ(whole->buffers->compute, folded->buffers->compute) << id << ": " << placed.name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 1500);
}

}  // namespace
}  // namespace vramwise
