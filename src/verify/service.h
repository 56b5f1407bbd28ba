// Whose line it is where several programs write into one text.
#pragma once

#include <string_view>

namespace vramwise::verify {

// The name that a collector of logs puts before a line, colours removed: "vllm-a-1" of
// `docker compose logs` ("vllm-a-1  | …"), "pod/a/server" of `kubectl logs --prefix`
// ("[pod/a/server] …"), "vllm-a" of the journal ("Nov 30 12:00:00 host vllm-a[4711]: …"). Empty:
// the line tells none. The view is into `clean`.
std::string_view service_of(std::string_view clean);

}  // namespace vramwise::verify
