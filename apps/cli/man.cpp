// Manual pages in roff (man-pages(7)), made of what the parser knows.
#include "api/api.h"
#include "apps/cli/command_tree.h"
#include "base/text.h"

namespace vramwise::cli {
namespace {

// Backslashes and hyphens are characters of roff; a line must not begin with a request.
std::string roff(std::string_view text) {
  std::string out = replace_all(std::string(text), "\\", "\\e");
  out = replace_all(out, "-", "\\-");
  if (!out.empty() && (out[0] == '.' || out[0] == '\'')) out = "\\&" + out;
  return out;
}

std::string usage(const CommandInfo& command) {
  std::string out = ".B vramwise " + roff(command.name) + "\n";
  for (const OptionInfo& argument : command.positionals) out += ".RI [ " + argument.value + " ]\n";
  out += ".RI [ OPTIONS ]\n";
  return out;
}

std::string option_entry(const OptionInfo& option) {
  std::string names;
  for (const auto* spellings : {&option.shorts, &option.longs}) {
    for (const std::string& name : *spellings) {
      names += (names.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
    }
  }
  if (!option.value.empty()) names += " \\fI" + roff(option.value) + "\\fR";
  return ".TP\n" + names + "\n" + roff(option.help) + "\n";
}

std::string head(std::string_view name, std::string_view help) {
  const std::string title = name.empty() ? "vramwise" : "vramwise-" + std::string(name);
  std::string upper = title;
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = char(c - 'a' + 'A');
  }
  return ".TH " + upper + " 1 \"\" \"vramwise " + std::string(api::version()) +
         "\" \"User Commands\"\n.SH NAME\n" + roff(title) + " \\- " + roff(help) +
         "\n.SH SYNOPSIS\n";
}

// Options in the groups of the help text, in the order in which these first appear.
std::string option_sections(const CommandInfo& command) {
  std::vector<std::string> groups;
  for (const OptionInfo& option : command.options) {
    bool known = false;
    for (const std::string& group : groups) known = known || group == option.group;
    if (!known) groups.push_back(option.group);
  }
  std::string out = ".SH OPTIONS\n";
  for (const std::string& group : groups) {
    out += ".SS " + roff(group) + "\n";
    for (const OptionInfo& option : command.options) {
      if (option.group == group) out += option_entry(option);
    }
  }
  return out;
}

constexpr std::string_view kExitStatus =
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nfits, is tight, or the question was answered\n"
    ".TP\n.B 1\ndoes not fit or refuses to start\n"
    ".TP\n.B 2\nthe command line is wrong\n"
    ".TP\n.B 3\nan input is unreadable, invalid or not supported\n"
    ".TP\n.B 4\na name is not known\n"
    ".TP\n.B 70\na bug of vramwise\n"
    ".TP\n.B 130\ninterrupted\n";

constexpr std::string_view kFiles =
    ".SH ENVIRONMENT\n"
    ".TP\n.BR NO_COLOR \", \" FORCE_COLOR\nno colour, or colour also into a pipe\n"
    ".TP\n.BR HF_TOKEN \", \" HF_ENDPOINT \", \" HF_HOME \", \" HF_HUB_OFFLINE\nas for the "
    "Hugging Face tools\n"
    ".TP\n.B OLLAMA_MODELS\nthe local store of Ollama\n";

}  // namespace

std::string manual_page(const std::vector<CommandInfo>& tree, std::string_view name) {
  for (const CommandInfo& command : tree) {
    if (command.name != name) continue;
    if (!name.empty()) {
      std::string out = head(name, command.help) + usage(command);
      for (const OptionInfo& argument : command.positionals) {
        if (&argument == &command.positionals.front()) out += ".SH ARGUMENTS\n";
        out += ".TP\n\\fI" + roff(argument.value) + "\\fR\n" + roff(argument.help) + "\n";
      }
      return out + option_sections(command) + std::string(kExitStatus) +
             ".SH SEE ALSO\n.BR vramwise (1)\n";
    }
    std::string out =
        head({}, "where every byte of GPU memory goes before you pay for the GPU") +
        ".B vramwise\n.I COMMAND\n.RI [ OPTIONS ]\n.SH DESCRIPTION\n" + roff(command.help) +
        "\nEverything behind a bare\n.B \\-\\-\nis the launch line of an engine, which "
        "is read and planned.\n.SH COMMANDS\n";
    for (const CommandInfo& other : tree) {
      if (other.name.empty()) continue;
      out += ".TP\n.BR vramwise\\-" + roff(other.name) + " (1)\n" + roff(other.help) + "\n";
    }
    out += option_sections(command) + std::string(kExitStatus) + std::string(kFiles) +
           ".SH EXAMPLES\n.nf\n"
           "vramwise plan Qwen/Qwen3\\-30B\\-A3B \\-\\-gpu rtx\\-5090 \\-\\-ctx 32k\n"
           "vramwise plan \\-\\-gpu h100\\-sxm \\-\\- vllm serve Qwen/Qwen3\\-8B "
           "\\-\\-max\\-model\\-len 32768\n"
           "vramwise gpus qwen3\\-32b \\-\\-ctx 8k \\-\\-concurrency 50\n"
           "vramwise models \\-\\-gpu rtx\\-3090\n.fi\n.SH SEE ALSO\n";
    bool first = true;
    for (const CommandInfo& other : tree) {
      if (other.name.empty()) continue;
      out += (first ? ".BR vramwise\\-" : ",\n.BR vramwise\\-") + roff(other.name) + " (1)";
      first = false;
    }
    return out + "\n";
  }
  return {};
}

}  // namespace vramwise::cli
