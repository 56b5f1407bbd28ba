// `vramwise batch`: JSON Lines in, one answer a line out, in the same order.
#pragma once

#include <string>

namespace vramwise::cli {

// `path` "-" reads standard input. Exit status 0 when every line was answered, 3 when any answer is
// an error.
int run_batch(const std::string& path);

}  // namespace vramwise::cli
