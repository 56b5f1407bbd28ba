// The command line. It turns flags into a JSON request, hands that to the core, and draws the JSON
// answer: nothing here knows a formula.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/api.h"
#include "apps/cli/commands.h"
#include "apps/cli/help.h"
#include "apps/cli/output.h"
#include "apps/cli/usage.h"
#include "base/text.h"
#include "engines/launch_command.h"
#include "host/catalog_folder.h"

namespace vramwise::cli {
namespace {

// The words before `--`; what stands behind it is an engine's own line, not ours.
struct Line {
  int argc = 0;
  std::string launch;
  std::span<const char* const> launch_words;

  Line(int count, char** argv) : argc(count) {
    for (int i = 1; i < count; ++i) {
      if (std::string_view(argv[i]) != "--") continue;
      for (int k = i + 1; k < count; ++k) {
        if (k > i + 1) launch += ' ';
        // One word is a whole line that the shell kept together.
        launch += count == i + 2 ? std::string(argv[k]) : engines::shell_quoted(argv[k]);
      }
      argc = i;
      if (count > i + 2) launch_words = std::span(argv + i + 1, size_t(count - i - 1));
      return;
    }
  }
};

std::string_view first_word(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (!starts_with(argv[i], "-")) return argv[i];
  }
  return {};
}

// Whatever a command asks the catalog for, it finds one's own entries too.
void add_catalog_option(CLI::App& command, std::vector<std::string>& folders) {
  command
      .add_option("--catalog", folders,
                  "own GPUs, models and prices beside the catalog's: a folder with gpus/,\n"
                  "models/, instances/, one JSON file a thing; a config.json is a model too")
      ->type_name("DIR")
      ->allow_extra_args(false)
      ->take_all()
      ->group("Catalog");
}

int run(int argc, char** argv) {
  CLI::App app{"Where every byte of GPU memory goes before you pay for the GPU."};
  app.name("vramwise");
  app.formatter(help_formatter());
  app.footer(help_footer({}));
  app.set_version_flag("--version", "vramwise " + std::string(api::version()));
  app.require_subcommand(0, 1);

  const Line line(argc, argv);
  Output output;
  std::vector<std::string> catalog_folders;
  const std::string_view named = first_word(line.argc, argv);
  const auto commands = add_commands({app, output, named});
  for (const auto& command : commands) {
    if (command->app().get_name() == named) command->app().footer(help_footer(named));
    if (command->asks_catalog()) add_catalog_option(command->app(), catalog_folders);
  }

  try {
    app.parse(line.argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    app.exit(asked, std::cout, std::cerr);
    return 0;
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error, {argv, size_t(line.argc)}, output);
  }

  if (const std::string ours = misplaced_option(line.launch_words); !ours.empty()) {
    return misplaced_error(ours, output);
  }
  for (const std::string& folder : catalog_folders) {
    const auto added = host::add_catalog_folder(folder);
    if (!added) return show_error(added.error(), output);
  }
  for (const auto& command : commands) {
    if (command->parsed()) return command->run(line.launch);
  }
  std::cerr << app.help();
  return kUsage;
}

}  // namespace
}  // namespace vramwise::cli

int main(int argc, char** argv) {
  try {
    const int status = vramwise::cli::run(argc, argv);
    return vramwise::cli::written() ? status : 3;
  } catch (const std::exception& e) {
    std::cerr << "error: a bug in vramwise: " << e.what()
              << "\n  help: please report it with the command line and `vramwise --version`\n";
    return 70;
  }
}
