#include "apps/cli/simulation.h"

#include <csignal>
#include <fstream>
#include <iostream>

#include "api/api.h"
#include "base/text.h"
#include "host/progress.h"
#include "report/text.h"

namespace vramwise::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void on_interrupt(int) { interrupted = 1; }

struct Watch {
  host::Progress* progress;
  int64_t done = 0;    // requests of finished runs
  int64_t before = 0;  // of the run that goes on
};

bool keep_going(void* context, int64_t requests) {
  Watch& watch = *static_cast<Watch*>(context);
  // A run that starts anew counts from zero.
  if (requests < watch.before) watch.done += watch.before;
  watch.before = requests;
  watch.progress->begin("simulating, " + format_grouped(watch.done + requests) +
                        " requests so far (Ctrl-C answers with what is known)");
  return interrupted == 0;
}

bool write(const std::string& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (out) return true;
  std::cerr << "error: cannot write " << file << "\n  help: check the folder and its rights\n";
  return false;
}

}  // namespace

Watched ask_watched(const json::Value& request) {
  host::Progress progress;
  Watch watch{&progress};
  interrupted = 0;
  const auto before = std::signal(SIGINT, on_interrupt);
  Watched result{api::handle_value(request, {}, {keep_going, &watch})};
  std::signal(SIGINT, before);
  progress.clear();
  result.interrupted = interrupted != 0;
  return result;
}

int run_simulation(const json::Value& request, const Output& output, const Pictures& pictures) {
  const auto [answer, interrupted] = ask_watched(request);
  int status = show(answer, output);
  if (interrupted) status = kInterrupted;
  if (answer.find("error") != nullptr) return status;
  if (!pictures.svg.empty() && !write(pictures.svg, report::occupancy_svg(answer))) return 3;
  if (!pictures.html.empty() && !write(pictures.html, report::occupancy_html(answer))) return 3;
  return status;
}

}  // namespace vramwise::cli
