// A picture that is drawn over itself on a terminal: one write a frame, no flicker, and nothing
// left behind but the last frame.
#pragma once

#include <string>
#include <vector>

namespace vramwise::cli {

class LiveScreen {
 public:
  LiveScreen();  // hides the cursor
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  // Lines without newlines, each at most as wide as the terminal. False: the terminal is gone.
  bool draw(const std::vector<std::string>& lines);

 private:
  size_t drawn_ = 0;
};

// Everything, whatever interrupts; false when it cannot be written.
bool write_all(int fd, const std::string& text);

}  // namespace vramwise::cli
