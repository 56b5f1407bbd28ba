// Several servers that write into one text, told apart by the names that a collector puts before
// their lines. Ranks of one server on several nodes stay one log.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "verify/log_builder.h"

namespace vramwise::verify {

class ServerLogs {
 public:
  LogBuilder whole;  // every line, whoever wrote it

  // As LogBuilder::take; `service` is empty where the line names none.
  void take(std::string_view service, const KnownLine& row, const std::vector<Capture>& captures,
            std::string_view clean, size_t at, int64_t number, RankTags& tags);
  // The last failures of a service are read again with more of their lines.
  void drop_failures(std::string_view service, size_t count);
  // The end of the text. Where servers of several models wrote it, whole.log becomes that of one of
  // them: the first that failed, else the one that says most.
  void close();

 private:
  struct Named {
    std::string name;
    LogBuilder builder;
  };

  LogBuilder* of(std::string_view service);

  std::deque<Named> named_;
};

// How much a log says.
size_t weight_of(const Log& log);

}  // namespace vramwise::verify
