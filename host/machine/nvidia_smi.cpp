#include "host/machine/nvidia_smi.h"

#include "base/text.h"
#include "host/subprocess.h"

namespace vramwise::host {
namespace {

// All of them are in every nvidia-smi since 2020. The name comes last but one: should it ever hold
// a comma, the figures before it are still right.
constexpr std::string_view kGpuColumns =
    "index,uuid,memory.total,memory.used,memory.free,utilization.gpu,driver_version,mig.mode."
    "current,"
    "name";
constexpr size_t kColumns = 9;
constexpr int64_t kMostMiB = int64_t{1} << 30;

std::vector<std::string> cells(std::string_view line) {
  std::vector<std::string> found;
  for (const std::string_view cell : split(line, ',')) found.emplace_back(trim(cell));
  return found;
}

// "[N/A]", "[Not Supported]", "[Insufficient Permissions]" are no numbers.
std::optional<Bytes> mebibytes(const std::string& cell) {
  const auto n = parse_integer(cell);
  if (!n || *n < 0 || *n > kMostMiB) return std::nullopt;
  return MiB(*n);
}

Error failure(const ProgramResult& result) {
  std::string text(trim(result.output.empty() ? result.errors : result.output));
  text = text.substr(0, text.find('\n'));
  Error error(ErrorCode::unsupported,
              text.empty() ? "nvidia-smi ended with status " + std::to_string(result.status)
                           : "nvidia-smi says: " + text);
  error.where.source = contains(text, "mismatch") ? "driver_mismatch" : "driver_error";
  if (contains(text, "mismatch")) {
    error.hints = {"the driver was updated while its old kernel module runs on: reboot"};
  } else if (contains(text, "couldn't communicate")) {
    error.where.source = "driver_not_loaded";
    error.hints = {
        "load the driver: modprobe nvidia; when that fails, install it for the running "
        "kernel"};
  }
  return error;
}

}  // namespace

SmiAnswer read_smi_tables(std::string_view gpus, std::string_view processes) {
  SmiAnswer answer;
  for (const std::string_view line : split(gpus, '\n')) {
    const auto row = cells(line);
    if (row.size() < kColumns) continue;
    const auto index = parse_integer(row[0]);
    if (!index || *index < 0 || *index > 4096) continue;
    Card card;
    card.index = int(*index);
    card.vendor = "nvidia";
    card.id = row[1];
    const auto total = mebibytes(row[2]);
    const auto used = mebibytes(row[3]);
    const auto free = mebibytes(row[4]);
    card.unified = !total;
    card.driver_total = card.total = total.value_or(Bytes());
    card.total_basis = "driver";
    card.free = free ? *free : card.total - used.value_or(Bytes());
    // Total, used and free differ by what the driver reserves.
    if (total && used && free && *used + *free < *total) {
      card.total = *used + *free;
      card.total_basis = "reserved";
    }
    if (const auto busy = parse_integer(row[5]); busy && *busy >= 0 && *busy <= 100) {
      card.busy_percent = int(*busy);
    }
    answer.driver = row[6];
    card.divided = row[7] == "Enabled";
    card.name = row[8];
    for (size_t i = kColumns; i < row.size(); ++i) card.name += ", " + row[i];
    answer.cards.push_back(std::move(card));
  }
  for (const std::string_view line : split(processes, '\n')) {
    const auto row = cells(line);
    if (row.size() < 4) continue;
    CardProcess process;
    process.pid = parse_integer(row[1]).value_or(0);
    // The path of a program may hold commas; the size is the last cell.
    for (size_t i = 2; i + 1 < row.size(); ++i) process.name += (i > 2 ? "," : "") + row[i];
    if (const size_t slash = process.name.rfind('/'); slash != std::string::npos) {
      process.name.erase(0, slash + 1);
    }
    process.used = mebibytes(row.back());
    for (Card& card : answer.cards) {
      if (card.id == row[0]) card.processes.push_back(process);
    }
  }
  return answer;
}

Result<SmiAnswer> ask_nvidia_smi() {
  TRY_ASSIGN(const ProgramResult gpus,
             run_program({"nvidia-smi", "--query-gpu=" + std::string(kGpuColumns),
                          "--format=csv,noheader,nounits"}));
  if (gpus.status != 0) return fail(failure(gpus));
  const auto processes =
      run_program({"nvidia-smi", "--query-compute-apps=gpu_uuid,pid,process_name,used_memory",
                   "--format=csv,noheader,nounits"});
  return read_smi_tables(gpus.output,
                         processes && processes->status == 0 ? processes->output : std::string());
}

}  // namespace vramwise::host
