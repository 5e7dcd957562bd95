#include "server/plan/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/print.h"
#include "model/folder_report.h"
#include "server/plan/plan.h"
#include "server/startup.h"

namespace trivium {
namespace {

// The KV cache that a server of these options would have for the model.
std::string DescribeCache(const FolderReport& report, const Workers& workers) {
  std::string text =
      fmt::format("each of {} workers here would have {} for keys and values",
                  workers.count, RoundedBytes(workers.kv_cache_bytes));
  if (workers.kv_cache_bytes < report.longest_kv_bytes) {
    text +=
        ", less than the longest sequence takes: requests that could need more "
        "are refused; raise --kv-cache-bytes to serve them";
  }
  return text;
}

}  // namespace

int CheckFolder(const Options& options) {
  LoadOptions load;
  load.precision = options.precision;
  load.kv_precision = options.kv_precision;
  load.vocabulary_shortlist = options.vocabulary_shortlist;
  load.translate_with = options.translate_with;
  const FolderReport report = ReportFolder(options.check_folder, load);
  for (const std::string& problem : report.problems) {
    PrintTo(stdout, "{}\n", problem);
  }
  if (!report.problems.empty()) return EXIT_FAILURE;
  for (const std::string& warning : report.warnings) {
    PrintTo(stdout, "warning: {}\n", warning);
  }
  PrintTo(stdout, "{}: {}\n", options.check_folder, DescribeMemory(report));
  if (report.longest_kv_bytes > 0) {
    ModelSizes sizes;
    sizes.Add(report.weight_bytes, report.longest_kv_bytes);
    const absl::StatusOr<Workers> workers = WorkersFor(options, sizes);
    if (!workers.ok()) {
      PrintTo(stdout, "{}\n", std::string(workers.status().message()));
      return EXIT_FAILURE;
    }
    PrintTo(stdout, "{}: {}\n", options.check_folder,
            DescribeCache(report, *workers));
  }
  PrintTo(stdout, "{}: {}\n", options.check_folder,
          report.has_weights
              ? "ok"
              : "config.json is ok; the weights are not there, so they "
                "were not checked, and it cannot be served yet");
  return EXIT_SUCCESS;
}

int PrintPlan(const Options& options) {
  PlanOptions plan_options;
  const bool live = isatty(STDERR_FILENO) == 1;
  if (live) {
    plan_options.report_progress = [](const std::string& step) {
      PrintTo(stderr, "\r\033[K{}", step);
    };
  }
  const absl::StatusOr<Plan> plan = MakePlan(options, plan_options);
  if (live) PrintTo(stderr, "\r\033[K");
  if (!plan.ok()) {
    PrintTo(stderr, "--plan: {}\n", std::string(plan.status().message()));
    return EXIT_FAILURE;
  }
  PrintTo(
      stdout, "{}",
      options.json ? PlanToJson(*plan).dump(1) + "\n" : DescribePlan(*plan));
  return EXIT_SUCCESS;
}

}  // namespace trivium
