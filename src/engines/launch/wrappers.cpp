// Programs that only start another one: sudo, env, numactl, srun, mpirun, torchrun, uv run, bash
// -c.
#include <array>

#include "base/text.h"
#include "engines/launch/collector.h"

namespace vramwise::engines::launch {
namespace {

// A wrapper: its options that take a word, the words it takes besides, and a subcommand to skip.
struct Wrapper {
  std::string_view name;
  std::string_view subcommand;  // "" or "run": must follow
  std::string_view valued;      // options with a value, parted by blanks
  int positionals;              // words of its own before the command
};

constexpr std::array<Wrapper, 36> kWrappers = {{
    {"sudo", "", "-u -g -h -p -C -r -t -T -D -U", 0},
    {"doas", "", "-u -C", 0},
    {"nohup", "", "", 0},
    {"time", "", "-f -o --format --output", 0},
    {"timeout", "", "-s -k --signal --kill-after", 1},
    {"nice", "", "-n --adjustment", 0},
    {"ionice", "", "-c -n -p --class --classdata", 0},
    {"chrt", "", "", 1},
    {"setsid", "", "", 0},
    {"stdbuf", "", "-o -i -e", 0},
    {"exec", "", "-a", 0},
    {"command", "", "", 0},
    {"unbuffer", "", "", 0},
    {"taskset", "", "", 1},
    {"numactl", "", "-N -m -C -i -p --cpunodebind --membind --physcpubind --interleave --preferred",
     0},
    {"uv", "run",
     "--with --python -p --project --directory --extra --group --env-file --index-url --from "
     "--with-requirements --index",
     0},
    {"uvx", "", "--from --with --python -p --index-url --with-requirements", 0},
    {"pipx", "run", "--spec --python", 0},
    {"poetry", "run", "", 0},
    {"pipenv", "run", "", 0},
    {"pdm", "run", "-p", 0},
    {"pixi", "run", "-e --environment --manifest-path", 0},
    {"hatch", "run", "", 0},
    {"conda", "run", "-n -p --name --prefix --cwd", 0},
    {"mamba", "run", "-n -p --name --prefix --cwd", 0},
    {"micromamba", "run", "-n -p --name --prefix --cwd", 0},
    {"apptainer", "exec", "-B --bind --env --env-file -H --home -W --workdir --pwd --overlay", 1},
    {"singularity", "exec", "-B --bind --env --env-file -H --home -W --workdir --pwd --overlay", 1},
    {"trtllm-llmapi-launch", "", "", 0},
    {"nsys", "profile", "-o -t -s -w -f -d -c --output --trace --sample --delay --duration", 0},
    {"ncu", "", "-o -k -c --set --section", 0},
    {"rocprof", "", "-o -i", 0},
    {"strace", "", "-o -e -p -s -u", 0},
    {"systemd-run", "", "-p -u --property --unit --slice --uid --gid -E --setenv", 0},
    {"xvfb-run", "", "-s -n", 0},
    {"modal", "run", "", 0},
}};

bool is_assignment(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return false;
  for (size_t i = 0; i < equals; ++i) {
    const char c = text[i];
    const bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
    if (!letter && !(i > 0 && c >= '0' && c <= '9')) return false;
  }
  return true;
}

void add_env(const Word& word, Invocation& base) {
  const size_t equals = word.text.find('=');
  if (equals == std::string::npos || base.env.size() > 300) return;
  Word value = word;
  value.text = word.text.substr(equals + 1);
  base.has_hole = base.has_hole || word.hole;
  base.env.emplace_back(word.text.substr(0, equals), std::move(value));
}

bool in_list(std::string_view list, std::string_view word) {
  for (const std::string_view item : split(list, ' ')) {
    if (!item.empty() && item == word) return true;
  }
  return false;
}

void drop(std::vector<Word>& words, size_t count, Invocation& base) {
  count = std::min(count, words.size());
  for (size_t i = 0; i < count; ++i) base.has_hole = base.has_hole || words[i].hole;
  words.erase(words.begin(), words.begin() + ptrdiff_t(count));
}

// Options at the front of `words`; those in `valued` take the next word with them.
size_t options_end(const std::vector<Word>& words, size_t i, std::string_view valued) {
  while (i < words.size() && words[i].text.size() > 1 && words[i].text[0] == '-') {
    if (words[i].text == "--") return i + 1;
    i += in_list(valued, words[i].text) ? 2 : 1;
  }
  return std::min(i, words.size());
}

// The value of an option in "--name v", "--name=v" form, looking at words[i]; empty when it is not
// it.
std::string_view option_value(const std::vector<Word>& words, size_t i, std::string_view name) {
  const std::string_view text = words[i].text;
  if (text == name && i + 1 < words.size()) return words[i + 1].text;
  if (starts_with(text, name) && text.size() > name.size() && text[name.size()] == '=') {
    return text.substr(name.size() + 1);
  }
  return {};
}

// "gpu:8", "gpu:h100:8", "8": the number at the end.
int64_t trailing_number(std::string_view text) {
  const size_t colon = text.rfind(':');
  const auto n = parse_integer(colon == std::string_view::npos ? text : text.substr(colon + 1));
  return n && *n > 0 && *n < 100'000 ? *n : 0;
}

void slurm_option(const std::vector<Word>& words, size_t i, Invocation& base) {
  for (const std::string_view name :
       {"--gres", "--gpus-per-node", "--gpus", "-G", "--gpus-per-task"}) {
    const std::string_view value = option_value(words, i, name);
    if (value.empty() || (name == "--gres" && !starts_with(value, "gpu"))) continue;
    if (const int64_t n = trailing_number(value); n > 0) {
      base.gpus.kind = Gpus::Kind::count;
      base.gpus.count = n;
    }
  }
  for (const std::string_view name : {"-N", "--nodes"}) {
    if (const auto n = parse_integer(option_value(words, i, name)); n && *n > 0) base.nodes = *n;
  }
  for (const std::string_view name : {"-n", "--ntasks"}) {
    if (const auto n = parse_integer(option_value(words, i, name)); n && *n > 0)
      base.processes = *n;
  }
}

constexpr std::string_view kSlurmBare =
    "--exclusive --overlap -l --label -u --unbuffered --pty -K -v -vv --verbose -Q --quiet -O "
    "--overcommit -s --oversubscribe --no-container-mount-home --container-writable -Z "
    "--no-allocate -E";

size_t slurm_end(const std::vector<Word>& words, Invocation& base) {
  size_t i = 1;
  while (i < words.size() && starts_with(words[i].text, "-")) {
    slurm_option(words, i, base);
    const std::string& t = words[i].text;
    const bool attached =
        contains(t, "=") || (t[1] != '-' && t.size() > 2) || in_list(kSlurmBare, t);
    i += attached ? 1 : 2;
  }
  return i;
}

constexpr std::string_view kMpiBare =
    "--allow-run-as-root --oversubscribe --tag-output -v --report-bindings --use-hwthread-cpus -q "
    "--verbose";

size_t mpi_end(const std::vector<Word>& words, Invocation& base) {
  size_t i = 1;
  while (i < words.size() && starts_with(words[i].text, "-")) {
    const std::string& t = words[i].text;
    if ((t == "-n" || t == "-np" || t == "--np" || t == "-c") && i + 1 < words.size()) {
      if (const auto n = parse_integer(words[i + 1].text); n && *n > 0) base.processes = *n;
    }
    if (t == "-x" && i + 1 < words.size() && is_assignment(words[i + 1].text))
      add_env(words[i + 1], base);
    if ((t == "-genv" || t == "-env") && i + 2 < words.size()) {
      base.env.emplace_back(words[i + 1].text, words[i + 2]);
    }
    if (in_list(kMpiBare, t) || contains(t, "="))
      i += 1;
    else
      i += t == "--mca" || t == "-mca" || t == "-genv" || t == "-env" || t == "--prtemca" ? 3 : 2;
  }
  return std::min(i, words.size());
}

// torchrun, python -m torch.distributed.run, accelerate launch, deepspeed: what they start is
// Python.
size_t torch_end(const std::vector<Word>& words, size_t i, Invocation& base, bool& module) {
  int64_t per_node = 0;
  while (i < words.size() && starts_with(words[i].text, "-")) {
    const std::string& t = words[i].text;
    if (t == "-m" || t == "--module") {
      module = true;
      ++i;
      break;
    }
    for (const std::string_view name : {"--nproc-per-node", "--nproc_per_node", "--num_processes",
                                        "--num-processes", "--num_gpus", "--num-gpus"}) {
      if (const auto n = parse_integer(option_value(words, i, name)); n && *n > 0) per_node = *n;
    }
    for (const std::string_view name : {"--nnodes", "--num_machines"}) {
      if (const auto n = parse_integer(option_value(words, i, name)); n && *n > 0) base.nodes = *n;
    }
    const bool bare =
        t == "--standalone" || t == "--no-python" || t == "--no_python" || t == "--multi_gpu";
    i += bare || contains(t, "=") ? 1 : 2;
  }
  if (per_node > 0) base.processes = saturating_multiply(per_node, base.nodes);
  return std::min(i, words.size());
}

std::string joined(const std::vector<Word>& words, size_t from) {
  std::string text;
  for (size_t i = from; i < words.size(); ++i) text += (i > from ? " " : "") + words[i].text;
  return text;
}

bool is_shell(std::string_view name) {
  return name == "bash" || name == "sh" || name == "zsh" || name == "dash" || name == "ash" ||
         name == "fish";
}

}  // namespace

// Takes one wrapper off; false when `words` begins with no wrapper (or nothing is left to do).
bool Collector::unwrap(std::vector<Word>& words, Invocation& base, int depth) {
  if (words.empty()) return false;
  if (is_assignment(words[0].text)) {
    add_env(words[0], base);
    drop(words, 1, base);
    return true;
  }
  const std::string name = program_name(words[0].text);
  if (name == "env") {
    size_t i = 1;
    while (i < words.size()) {
      const std::string& t = words[i].text;
      if (is_assignment(t))
        add_env(words[i++], base);
      else if (t == "-u" || t == "-C" || t == "--unset" || t == "--chdir")
        i += 2;
      else if (starts_with(t, "-"))
        ++i;
      else
        break;
    }
    drop(words, i, base);
    return true;
  }
  if (is_shell(name)) {
    for (size_t i = 1; i < words.size() && starts_with(words[i].text, "-"); ++i) {
      const std::string& t = words[i].text;
      if (starts_with(t, "--") || !contains(t, "c") || i + 1 >= words.size()) continue;
      Word code = words[i + 1];
      words.clear();
      script(code.text, base, depth + 1);
      return false;
    }
    words.clear();  // a script file, which is not in the text
    return false;
  }
  if (name == "cmd" && words.size() > 2 && to_lower(words[1].text) == "/c") {
    drop(words, 2, base);
    return true;
  }
  if (name == "tmux" || name == "screen" || name == "script" || name == "ssh" || name == "sbatch") {
    size_t i = options_end(words, 1, "-S -s -t -c -n -p -l -i -o -F -J -A -N -D -e");
    if (name == "tmux" && i < words.size())
      i = options_end(words, i + 1, "-s -t -n -c -x -y -e -F");
    if (name == "screen") {  // -dmS NAME CMD
      i = 1;
      while (i < words.size() && starts_with(words[i].text, "-"))
        i += contains(words[i].text, "S") ? 2 : 1;
    }
    if (name == "ssh") ++i;                      // the host
    if (name == "script" || name == "sbatch") {  // script -c 'CMD', sbatch --wrap 'CMD'
      for (size_t k = 1; k < words.size(); ++k) {
        std::string_view code = option_value(words, k, name == "script" ? "-c" : "--wrap");
        if (name == "sbatch") slurm_option(words, k, base);
        if (code.empty()) continue;
        const std::string text(code);
        words.clear();
        script(text, base, depth + 1);
        return false;
      }
      words.clear();
      return false;
    }
    if (i >= words.size()) {
      words.clear();
      return false;
    }
    if (i + 1 == words.size() || name == "ssh") {
      const std::string code = joined(words, i);
      words.clear();
      script(code, base, depth + 1);
      return false;
    }
    drop(words, i, base);
    return true;
  }
  if (name == "srun" || name == "salloc") {
    drop(words, slurm_end(words, base), base);
    return true;
  }
  if (name == "mpirun" || name == "mpiexec" || name == "orterun" || name == "prterun") {
    drop(words, mpi_end(words, base), base);
    return true;
  }
  const bool distributed =
      starts_with(name, "python") && words.size() > 3 && words[1].text == "-m" &&
      (words[2].text == "torch.distributed.run" || words[2].text == "torch.distributed.launch");
  const bool accelerate = name == "accelerate" && words.size() > 2 && words[1].text == "launch";
  if (name == "torchrun" || name == "deepspeed" || distributed || accelerate) {
    bool module = false;
    const size_t end = torch_end(words, distributed ? 3 : accelerate ? 2 : 1, base, module);
    drop(words, end, base);
    if (module) words.insert(words.begin(), Word("-m"));
    words.insert(words.begin(), Word("python"));
    return words.size() > 1;
  }
  if (name == "ray") {  // ray job submit [...] -- CMD; ray start is not an engine
    size_t i = 1;
    while (i < words.size() && words[i].text != "--") ++i;
    drop(words, i + 1, base);
    return !words.empty();
  }
  if (starts_with(name, "python") && words.size() > 2) {
    for (size_t i = 1;
         i + 1 < words.size() && starts_with(words[i].text, "-") && words[i].text != "-m"; ++i) {
      if (words[i].text == "-c") base.python = words[i + 1].text;
    }
    return false;
  }
  for (const Wrapper& wrapper : kWrappers) {
    if (name != wrapper.name) continue;
    size_t i = 1;
    if (!wrapper.subcommand.empty()) {
      i = options_end(words, i, wrapper.valued);
      if (i >= words.size() || words[i].text != wrapper.subcommand) return false;
      ++i;
    }
    i = options_end(words, i, wrapper.valued);
    // sudo and systemd-run take variables too.
    while (i < words.size() && is_assignment(words[i].text)) add_env(words[i++], base);
    drop(words, i + size_t(wrapper.positionals), base);
    return true;
  }
  return false;
}

void Collector::add(Invocation call) {
  if (calls.size() < 10'000) calls.push_back(std::move(call));
}

void Collector::command(std::vector<Word> words, Invocation base, int depth) {
  if (depth > 8) return;
  for (int i = 0; i < 64; ++i) {
    if (!unwrap(words, base, depth)) break;
  }
  if (words.empty()) return;
  const std::string name = program_name(words[0].text);
  if (name == "docker" || name == "podman" || name == "nerdctl" || name == "kubectl" ||
      name == "apptainer" || name == "singularity") {
    return container_run(std::move(words), std::move(base), depth);
  }
  base.argv = std::move(words);
  add(std::move(base));
}

void Collector::script(std::string_view text, const Invocation& base, int depth) {
  if (depth > 8) return;
  ShellInput input;
  input.text = text;
  input.hash_is_prompt = hash_is_prompt;
  for (const auto& [name, value] : base.env) input.variables[name] = {value};
  Script parsed = read_script(input);
  for (auto& [name, content] : parsed.files) files[name] = std::move(content);
  for (Finding& warning : parsed.warnings) {
    if (warnings.size() < 100) warnings.push_back(std::move(warning));
  }
  Invocation outer = base;
  std::vector<Word> sbatch;
  for (const std::string& w : parsed.sbatch) sbatch.emplace_back(w);
  for (size_t i = 0; i < sbatch.size(); ++i) slurm_option(sbatch, i, outer);
  if (!sbatch.empty()) outer.processes = 0;  // tasks of the job, not of a program in it
  for (Command& c : parsed.commands) {
    Invocation call = outer;
    for (size_t i = 0; i < c.exported && call.env.size() < 300; ++i) {
      call.env.push_back(parsed.exported[i]);
    }
    for (auto& [name, value] : c.assignments) {
      call.has_hole = call.has_hole || value.hole;
      call.env.emplace_back(name, std::move(value));
    }
    call.env_in_front = base.prefix.empty();
    command(std::move(c.words), std::move(call), depth);
  }
}

}  // namespace vramwise::engines::launch
