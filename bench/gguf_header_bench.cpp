// Reading the header of Llama 3.1 70B as a GGUF file: 724 tensors, 128,256 tokens, 280,147 merges,
// 6.7 MB in front of 42 GB of (sparse) data. In this process, and as the whole program sees it.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "formats/gguf/reader.h"
#include "formats/header_json.h"
#include "host/file_source.h"
#include "support/gguf_writer.h"

namespace {

using namespace vramwise;

// Made once, removed at the end; VRAMWISE_BENCH_FILE names another place and keeps it, for
// tools/peers.py.
const std::string& model_file() {
  struct File {
    std::string path;
    bool keep = false;
    File() {
      if (const char* kept = std::getenv("VRAMWISE_BENCH_FILE")) {
        keep = true;
        path = kept;
        testing::llama_70b_with_tokenizer().write(path);
        return;
      }
      const char* folder = std::getenv("TMPDIR");
      path = std::string(folder != nullptr ? folder : "/tmp") + "/vramwise-bench-" +
             std::to_string(::getpid()) + ".gguf";
      testing::llama_70b_with_tokenizer().write(path);
    }
    ~File() {
      if (!keep) ::unlink(path.c_str());
    }
  };
  static const File file;
  return file.path;
}

void read_header(benchmark::State& state) {
  for (auto _ : state) {
    const auto source = host::open_file(model_file());
    const auto file = formats::read_gguf(**source);
    if (!file) state.SkipWithError(file.error().message.c_str());
    benchmark::DoNotOptimize(file->tensors.size());
  }
}
BENCHMARK(read_header)->Unit(benchmark::kMillisecond);

void read_header_to_request(benchmark::State& state) {
  for (auto _ : state) {
    const auto source = host::open_file(model_file());
    benchmark::DoNotOptimize(formats::to_json(*formats::read_gguf(**source)));
  }
}
BENCHMARK(read_header_to_request)->Unit(benchmark::kMillisecond);

// Start to end of a process with these arguments, its output thrown away.
void whole_process(benchmark::State& state, const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.data()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
  for (auto _ : state) {
    pid_t child = 0;
    int status = 0;
    if (posix_spawn(&child, argv[0], &quiet, nullptr, argv.data(), environ) != 0 ||
        ::waitpid(child, &status, 0) != child || status != 0) {
      state.SkipWithError("the program is not built or failed (./dev build)");
      break;
    }
  }
  posix_spawn_file_actions_destroy(&quiet);
}

const std::string kProgram = std::string(VRAMWISE_SOURCE_DIR) + "/build/release/bin/vramwise";

void whole_program_start(benchmark::State& state) { whole_process(state, {kProgram, "--version"}); }
BENCHMARK(whole_program_start)->Unit(benchmark::kMillisecond)->UseRealTime();

void whole_program_inspect(benchmark::State& state) {
  whole_process(state, {kProgram, "inspect", model_file(), "--json"});
}
BENCHMARK(whole_program_inspect)->Unit(benchmark::kMillisecond)->UseRealTime();

void whole_program_plan(benchmark::State& state) {
  whole_process(
      state, {kProgram, "plan", model_file(), "--gpu", "h100-sxm", "--ctx", "64k", "--exit-zero"});
}
BENCHMARK(whole_program_plan)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
