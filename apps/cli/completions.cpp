// Completion scripts. They know every command and flag; names of GPUs, models and formats come from
// the program itself (`vramwise __complete KIND PREFIX`), so that an update of the catalogs is
// enough.
#include "apps/cli/command_tree.h"
#include "base/text.h"

namespace vramwise::cli {
namespace {

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  return join(words, separator);
}

std::vector<std::string> flags_of(const CommandInfo& command) {
  std::vector<std::string> flags;
  for (const OptionInfo& option : command.options) {
    flags.insert(flags.end(), option.longs.begin(), option.longs.end());
    flags.insert(flags.end(), option.shorts.begin(), option.shorts.end());
  }
  return flags;
}

// The options of all commands that take a value, each spelling once, by what completes it.
std::string value_cases(const std::vector<CommandInfo>& tree, std::string_view kind) {
  std::vector<std::string> names;
  for (const CommandInfo& command : tree) {
    for (const OptionInfo& option : command.options) {
      if (option.value.empty() || option.completes != kind) continue;
      for (const auto* spellings : {&option.longs, &option.shorts}) {
        for (const std::string& name : *spellings) {
          bool known = false;
          for (const std::string& seen : names) known = known || seen == name;
          if (!known) names.push_back(name);
        }
      }
    }
  }
  return joined(names, "|");
}

constexpr std::string_view kKinds[] = {"gpu",    "weights", "engine", "backend",
                                       "family", "emit",    "max",    "model"};

std::string bash_script(const std::vector<CommandInfo>& tree) {
  std::string out =
      "# Completion of vramwise for bash; written by `vramwise completions bash`.\n"
      "_vramwise() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= i\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    # Behind -- stands another program's line.\n"
      "    [[ ${COMP_WORDS[i]} == -- ]] && return\n"
      "    [[ -z $command && ${COMP_WORDS[i]} != -* ]] && command=${COMP_WORDS[i]}\n"
      "  done\n"
      "  case $prev in\n";
  for (const std::string_view kind : kKinds) {
    const std::string cases = value_cases(tree, kind);
    if (cases.empty()) continue;
    out += "    " + cases + ")\n      mapfile -t COMPREPLY < <(vramwise __complete " +
           std::string(kind) + " \"$cur\" 2>/dev/null); return ;;\n";
  }
  if (const std::string files = value_cases(tree, "file"); !files.empty()) {
    out +=
        "    " + files + ")\n      mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); return ;;\n";
  }
  // Other values cannot be guessed: offering flags there would be wrong.
  if (const std::string others = value_cases(tree, ""); !others.empty()) {
    out += "    " + others + ")\n      return ;;\n";
  }
  out += "  esac\n  local flags= names=\n  case $command in\n";
  for (const CommandInfo& command : tree) {
    const std::string pattern = command.name.empty() ? "''" : command.name;
    out += "    " + pattern + ")\n      flags='" + joined(flags_of(command), " ") + "'";
    if (command.name.empty()) {
      out += "; names=command";
    } else if (!command.positionals.empty()) {
      out += "; names=" + std::string(command.positionals.front().completes);
    }
    out += " ;;\n";
  }
  out +=
      "  esac\n"
      "  if [[ $cur == -* ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$cur\")\n"
      "    return\n"
      "  fi\n"
      "  if [[ $names == file || $names == model ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
      "  fi\n"
      "  if [[ -n $names && $names != file ]]; then\n"
      "    mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(vramwise __complete \"$names\" "
      "\"$cur\" "
      "2>/dev/null)\n"
      "  fi\n"
      "}\n"
      "complete -o filenames -F _vramwise vramwise\n";
  return out;
}

// Text between single quotes in zsh and fish.
std::string quoted(std::string_view text) {
  return "'" + replace_all(std::string(text), "'", "'\\''") + "'";
}

// Brackets and colons have a meaning in the specifications of _arguments.
std::string zsh_text(std::string_view text) {
  std::string out = replace_all(std::string(text), "\\", "\\\\");
  for (const std::string_view c : {"[", "]", ":"}) out = replace_all(out, c, "\\" + std::string(c));
  return out;
}

std::string zsh_action(const OptionInfo& option) {
  if (option.completes == "file") return "_files";
  if (option.completes == "model") return "_vramwise_models";
  if (option.completes.empty()) return " ";
  return "_vramwise_names " + std::string(option.completes);
}

std::string zsh_script(const std::vector<CommandInfo>& tree) {
  std::string out =
      "#compdef vramwise\n"
      "# Completion of vramwise for zsh; written by `vramwise completions zsh`.\n"
      "_vramwise_names() {\n"
      "  local -a names\n"
      "  names=(${(f)\"$(vramwise __complete $1 \"$PREFIX\" 2>/dev/null)\"})\n"
      "  compadd -M 'm:{a-z}={A-Z}' -a names\n"
      "}\n"
      "_vramwise_models() { _vramwise_names model; _files }\n"
      "_vramwise() {\n"
      "  local -a commands\n"
      "  local context state line\n"
      "  commands=(\n";
  for (const CommandInfo& command : tree) {
    if (command.name.empty()) continue;
    out += "    " + quoted(command.name + ":" + zsh_text(command.help)) + "\n";
  }
  out +=
      "  )\n"
      "  _arguments -C '--version[the version]' '(-h --help)'{-h,--help}'[help]' "
      "'1:command:->command' '*::argument:->argument'\n"
      "  case $state in\n"
      "    command) _describe command commands ;;\n"
      "    argument)\n"
      "      case $line[1] in\n";
  for (const CommandInfo& command : tree) {
    if (command.name.empty()) continue;
    out += "        " + command.name + ")\n          _arguments -S";
    for (const OptionInfo& option : command.options) {
      for (const auto* spellings : {&option.longs, &option.shorts}) {
        for (const std::string& name : *spellings) {
          // Repeating an option is the user's to decide.
          std::string spec = "*" + name + "[" + zsh_text(option.help) + "]";
          if (!option.value.empty()) spec += ":" + option.value + ":" + zsh_action(option);
          out += " \\\n            " + quoted(spec);
        }
      }
    }
    for (const OptionInfo& argument : command.positionals) {
      out += " \\\n            " + quoted("*:" + argument.value + ":" + zsh_action(argument));
    }
    out += " ;;\n";
  }
  out += "      esac ;;\n  esac\n}\n_vramwise \"$@\"\n";
  return out;
}

std::string fish_names(std::string_view kind) {
  return "(vramwise __complete " + std::string(kind) + " (commandline -ct) 2>/dev/null)";
}

std::string fish_script(const std::vector<CommandInfo>& tree) {
  std::string out =
      "# Completion of vramwise for fish; written by `vramwise completions fish`.\n"
      "complete -c vramwise -f\n";
  for (const CommandInfo& command : tree) {
    std::string when = " -n __fish_use_subcommand";
    if (!command.name.empty()) {
      out += "complete -c vramwise -n __fish_use_subcommand -a " + command.name + " -d " +
             quoted(command.help) + "\n";
      when = " -n " + quoted("__fish_seen_subcommand_from " + command.name);
    }
    for (const OptionInfo& option : command.options) {
      std::string line = "complete -c vramwise" + when;
      for (const std::string& name : option.longs) line += " -l " + name.substr(2);
      for (const std::string& name : option.shorts) line += " -s " + name.substr(1);
      if (option.completes == "file") {
        line += " -r -F";
      } else if (!option.value.empty()) {
        line += " -x";
        if (!option.completes.empty()) line += " -a " + quoted(fish_names(option.completes));
      }
      out += line + " -d " + quoted(option.help) + "\n";
    }
    for (const OptionInfo& argument : command.positionals) {
      if (argument.completes.empty()) continue;
      if (argument.completes == "file" || argument.completes == "model") {
        out += "complete -c vramwise" + when + " -F\n";
      }
      if (argument.completes != "file") {
        out +=
            "complete -c vramwise" + when + " -a " + quoted(fish_names(argument.completes)) + "\n";
      }
    }
  }
  return out;
}

}  // namespace

std::string completion_script(const std::vector<CommandInfo>& tree, std::string_view shell) {
  if (shell == "bash") return bash_script(tree);
  if (shell == "zsh") return zsh_script(tree);
  if (shell == "fish") return fish_script(tree);
  return {};
}

}  // namespace vramwise::cli
