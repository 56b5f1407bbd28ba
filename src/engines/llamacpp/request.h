// What is asked of llama.cpp: the options with the defaults of the build, the workload and the
// devices filled in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/note.h"
#include "base/result.h"
#include "engines/draft_head.h"
#include "engines/engine.h"
#include "engines/llamacpp/context.h"
#include "engines/llamacpp/placement.h"
#include "engines/llamacpp/rules.h"
#include "engines/llamacpp/shape.h"

namespace vramwise::engines::llamacpp {

struct Request {
  ContextSettings context;
  PlacementSettings placement;
  std::vector<size_t> devices;  // of the hardware, in the program's order
  bool op_offload = true;

  bool ctx_given = false;     // by an option or by the workload
  bool layers_given = false;  // -ngl, -ts, -ot or their like: fit keeps its hands off
  bool slots_given = false;
  bool rows_given = false;

  bool fit = true;
  int64_t fit_ctx = 4096;
  std::vector<Bytes> fit_margin;  // one for each device

  int64_t draft_tokens = 0;  // speculative tokens of a step
  bool draft_head = false;   // the model's own MTP layer drafts
  bool draft_model = false;  // a separate model does, or a head in a file of its own
  HeadKind head_kind = HeadKind::none;
  weights::GgmlType draft_type_k = weights::GgmlType::F16;
  weights::GgmlType draft_type_v = weights::GgmlType::F16;

  std::string tool = "llama-server";
  bool is_server() const { return tool == "llama-server"; }
};

// Errors: invalid values, each with its place. Options that were not set are noted where they
// follow the workload.
Result<Request> read_request(const Question& question, const Shape& shape, const Rules& rules,
                             Notes& notes);

// Does the model draft with its own multi-token-prediction layers (no separate drafter named)?
bool drafts_with_own_head(const Options& options);

// The separate draft model that the options name: a file or a repository; empty: none, or a head.
std::string draft_named(const Options& options);

// Can the flash-attention kernels of this backend run the model's heads?
bool has_flash_kernel(const Shape& shape, Backend backend);

// The buffer name of a device: "CUDA0".
std::string device_name(Backend backend, size_t index);

}  // namespace vramwise::engines::llamacpp
