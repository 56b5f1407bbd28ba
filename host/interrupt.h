// Ctrl-C and its like, for commands that run until they are told to stop.
#pragma once

namespace vramwise::host {

// From here on the first SIGINT, SIGTERM or SIGHUP only sets a flag; a second one ends the process.
void catch_interrupts();
bool interrupted();
// Becomes readable with the first signal; -1 before catch_interrupts().
int interrupt_descriptor();
// The cursor is hidden: the second signal shows it again before the process ends.
void set_cursor_hidden(bool hidden);

}  // namespace vramwise::host
