#ifndef TRIVIUM_CLIENT_LOAD_FLAGS_H_
#define TRIVIUM_CLIENT_LOAD_FLAGS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "client/commands/flags.h"
#include "client/load/pacer.h"
#include "client/load/runner.h"
#include "client/load/workload.h"

namespace trivium {

// The options of trivium-load.
struct LoadFlags {
  ConnectionFlags connection;
  std::string http, against;  // addresses of servers; empty: none
  int connections = 1;
  Workload::Options workload;  // without its inputs
  std::string file;
  bool ids = false;
  Pacing pacing;
  double warm_up = 2, duration = 10;  // seconds
  RunOptions run;
  bool find_rate = false;
  absl::Duration p99 = absl::ZeroDuration();
  double tolerance = 0.03;
  int rounds = 5;
  bool json = false;
  std::string html;

  // Returns the addresses of the servers; in a comparison, --against is the
  // last.
  std::vector<std::string> servers() const;
  // Returns the options as names and values, for the report.
  std::vector<std::pair<std::string, std::string>> Describe() const;
};

// True for "http://...", false for "HOST:PORT".
bool IsHttp(const std::string& server);

void AddLoadFlags(CLI::App& app, LoadFlags* flags);
// Checks, after parsing, that the flags fit together, and sets options that
// follow from others. The error says which flag is wrong.
absl::Status CheckLoadFlags(const CLI::App& app, LoadFlags* flags);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_FLAGS_H_
