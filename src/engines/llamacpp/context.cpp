#include "engines/llamacpp/context.h"

#include <algorithm>

#include "base/checked.h"

namespace vramwise::engines::llamacpp {

ContextSize context_size(const Shape& shape, const ContextSettings& settings, const Rules& rules) {
  ContextSize size;
  int64_t n_ctx = settings.n_ctx > 0 ? settings.n_ctx : shape.train_ctx;
  // The batch is limited by the context as asked for, before it is rounded.
  size.n_batch = std::min(n_ctx, settings.n_batch);
  size.n_ubatch = std::min(size.n_batch, settings.n_ubatch);
  size.sequences = std::max<int64_t>(1, settings.sequences);

  const int64_t step = settings.flash ? rules.cell_padding_flash : rules.cell_padding_plain;
  n_ctx = round_up(n_ctx, step);
  const bool unified = settings.unified && !shape.never_shares_cells;
  if (unified) {
    size.cells = n_ctx;
    size.streams = 1;
  } else {
    size.cells = round_up(n_ctx / size.sequences, step);
    size.streams = size.sequences;
    n_ctx = saturating_multiply(size.cells, size.streams);
  }
  size.n_ctx = n_ctx;

  const int64_t windows = unified ? size.sequences : 1;
  const int64_t wanted = saturating_add(saturating_multiply(shape.window, windows), size.n_ubatch);
  size.sliding_cells = settings.swa_full
                           ? size.cells
                           : std::min(size.cells, round_up(std::min(size.cells, wanted), 256));

  const int64_t batch = std::min(n_ctx, size.n_ubatch);
  size.rows = settings.output_rows > 0 ? std::min(batch, settings.output_rows) : batch;
  size.tokens = round_up(batch, size.sequences);
  size.sequence_tokens = size.tokens / size.sequences;
  return size;
}

int64_t estimated_head_compute(const Shape& target, const ContextSize& size) {
  constexpr int64_t kFloat = 4, kRowsOfHidden = 8;
  const int64_t rows =
      saturating_multiply(size.tokens, saturating_multiply(target.hidden, kRowsOfHidden));
  const int64_t logits = saturating_multiply(target.vocab, size.sequences);
  const int64_t mask = saturating_multiply(size.tokens, size.cells) / 2;
  return saturating_multiply(kFloat, saturating_add(saturating_add(rows, logits), mask));
}

}  // namespace vramwise::engines::llamacpp
