// What the plans of one model file share: its tensors, its shape, and compute buffers that were
// already simulated. A compute plan depends on shape, context and classes of cards, not on their
// sizes, so that searches over cards and lists of changes simulate each only once.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "engines/engine.h"
#include "engines/llamacpp/compute.h"
#include "engines/llamacpp/rules.h"
#include "engines/llamacpp/shape.h"

namespace vramwise::engines::llamacpp {

// The file of a question: a mixture chosen, else the unquantised model converted.
struct ModelFile {
  weights::GgufModel gguf;
  Shape shape;
  Notes notes;
};

// Errors: unsupported for models without a GGUF form.
Result<std::shared_ptr<const ModelFile>> model_file_of(const Question& question,
                                                       const Rules& rules);

// Compute plans by everything that they depend on.
class ComputeMemo {
 public:
  // Null when it was not planned before. Valid until the next keep().
  const ComputePlan* find(const std::string& key) const;
  void keep(std::string key, const ComputePlan& plan);

 private:
  std::map<std::string, ComputePlan> plans_;
};

struct FileMemo final : Memo {
  std::shared_ptr<const ModelFile> file;
  ComputeMemo compute;
};

// The question's memo; null when it has none.
inline FileMemo* memo_of(const Question& question) { return static_cast<FileMemo*>(question.memo); }

}  // namespace vramwise::engines::llamacpp
