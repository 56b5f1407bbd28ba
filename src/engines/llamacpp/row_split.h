// Split mode row: the rows of a matrix over all devices, in whole granules.
// Source: ggml-org/llama.cpp ggml/src/ggml-cuda/ggml-cuda.cu before build 9890 (get_row_split,
// get_row_rounding, ggml_backend_cuda_device_supports_op).
#pragma once

#include <cstdint>
#include <vector>

#include "engines/llamacpp/backend_profile.h"
#include "weights/gguf_model.h"

namespace vramwise::engines::llamacpp {

class RowSplit {
 public:
  RowSplit() = default;  // no device can
  // `shares_up_to`: of the devices, summed; `sum` of them, 0 = even shares.
  RowSplit(const std::vector<double>& shares_up_to, double sum,
           const std::vector<BackendProfile>& backends);

  // Is this matrix cut up when its layer lives on `home`? Not where the home would get no rows of
  // it, and never a stack of matrices.
  bool cuts(int16_t home, const weights::GgufTensor& t) const;

  // Bytes of `t` on device `d`, rows padded as CUDA reads them.
  int64_t bytes_on(int16_t d, const weights::GgufTensor& t) const;
  int16_t devices() const { return int16_t(ends_.size()); }

 private:
  struct Rows {
    int64_t from = 0, to = 0;
  };
  Rows rows_of(int16_t d, int64_t rows) const;

  std::vector<double> ends_;  // 0 to 1; empty: no row split
  int64_t granule_ = 128;
};

}  // namespace vramwise::engines::llamacpp
