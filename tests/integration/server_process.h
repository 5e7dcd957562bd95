#ifndef TRIVIUM_TESTS_INTEGRATION_SERVER_PROCESS_H_
#define TRIVIUM_TESTS_INTEGRATION_SERVER_PROCESS_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "client/client.h"

namespace trivium {

struct ProcessResult {
  int exit_code = -1;  // 128 + signal if a signal ended it
  std::string out, err;
};

// Runs a program to its end.
ProcessResult RunProgram(const std::vector<std::string>& arguments,
                         const std::string& input = "");

// A trivium-server as a user starts it: a separate process with free ports and
// the embedded model. The destructor ends it.
class ServerProcess {
 public:
  // Waits until it is ready. The test fails if it ends before.
  // `err` is its standard error; -1: this process's.
  explicit ServerProcess(std::vector<std::string> flags = {}, int err = -1);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  std::string address() const;
  int metrics_port() const { return metrics_port_; }
  int http_port() const { return http_port_; }  // 0: none
  // Returns what it wrote to its --port-file.
  const std::string& port_file() const { return port_file_; }
  std::unique_ptr<Client> NewClient(
      absl::Duration timeout = absl::Seconds(60)) const;

  void Signal(int signal) const;
  // Waits for its end. Returns its exit code, or 128 + signal if a signal ended
  // it.
  int Wait();
  // True if it has not ended.
  bool running();

 private:
  pid_t pid_ = 0;  // 0: has ended
  int exit_code_ = -1;
  std::string port_file_;
  int grpc_port_ = 0;
  int metrics_port_ = 0;
  int http_port_ = 0;
};

}  // namespace trivium

#endif  // TRIVIUM_TESTS_INTEGRATION_SERVER_PROCESS_H_
