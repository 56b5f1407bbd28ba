// Reading Mamba settings under the key names that hybrid families use.
#pragma once

#include "model/builder.h"

namespace vramwise::model {

// mamba_n_heads, mamba_d_head ("auto": expand * hidden / heads), mamba_n_groups, mamba_d_state,
// mamba_d_conv (Granite 4, Bamba, Falcon-H1).
Mamba2Spec read_mamba2_prefixed(const Fields& fields);

// time_step_rank and kin: a number, or "auto" for ceil(hidden / 16).
int64_t read_rank(const Fields& fields, Keys keys);

}  // namespace vramwise::model
