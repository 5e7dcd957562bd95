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

// What trivium-load is asked for.
struct LoadFlags {
  ConnectionFlags connection;
  std::string http, against;  // servers; "": none
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

  // The servers by their addresses, the other one of a comparison last.
  std::vector<std::string> servers() const;
  // What the report says of them: names and values.
  std::vector<std::pair<std::string, std::string>> Describe() const;
};

// "http://...", not "HOST:PORT".
bool IsHttp(const std::string& server);

void AddLoadFlags(CLI::App& app, LoadFlags* flags);
// After parsing: whether they fit together; sets what follows from others.
absl::Status CheckLoadFlags(const CLI::App& app, LoadFlags* flags);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_LOAD_FLAGS_H_
