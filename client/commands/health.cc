#include <fstream>
#include <string>
#include <utility>

#include "base/status.h"
#include "client/commands/command.h"
#include "fmt/format.h"

namespace trivium {
namespace {

using grpc::health::v1::HealthCheckResponse;

// Prints the status; succeeds only if it is SERVING.
class HealthCommand : public Command {
 public:
  bool has_priority() const override { return false; }
  absl::Status Run(Client& client, const Io& io) override {
    if (port_file_.empty()) return Ask(client, io);
    TRIVIUM_ASSIGN_OR_RETURN(connection.address, ReadAddress());
    TRIVIUM_ASSIGN_OR_RETURN(Client::Options options, connection.ToOptions());
    TRIVIUM_ASSIGN_OR_RETURN(const std::unique_ptr<Client> other,
                             Client::Create(std::move(options)));
    return Ask(*other, io);
  }

 private:
  friend Subcommand trivium::AddHealth(CLI::App& app);

  // Reads the line "address HOST:PORT" of the port file.
  absl::StatusOr<std::string> ReadAddress() const {
    std::ifstream file(port_file_);
    std::string key, value;
    while (file >> key >> value) {
      if (key == "address") return value;
    }
    return absl::UnavailableError(fmt::format(
        "{} names no address: the server is not ready, or was started without "
        "this --port-file",
        port_file_));
  }

  absl::Status Ask(Client& client, const Io& io) {
    Output output(io, /*keep_newlines=*/false, nullptr);
    TRIVIUM_ASSIGN_OR_RETURN(const HealthCheckResponse response,
                             client.Health(service_));
    const std::string name =
        HealthCheckResponse::ServingStatus_Name(response.status());
    TRIVIUM_RETURN_IF_ERROR(json_ ? output.Json(response) : output.Line(name));
    if (response.status() == HealthCheckResponse::SERVING) {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(
        fmt::format("the server at {} is {}", connection.address, name));
  }

  std::string port_file_;
  std::string service_;
  bool json_ = false;
};

}  // namespace

Subcommand AddHealth(CLI::App& app) {
  auto command = std::make_unique<HealthCommand>();
  // A health check must not wait a minute.
  command->connection.timeout_seconds = 5;
  CLI::App* sub = app.add_subcommand(
      "health", "Checks that the server is ready; exit code 0 if it is");
  sub->add_option("--service", command->service_,
                  "gRPC service, as trivium.v1.Inference; default: all");
  sub->add_option("--port-file", command->port_file_,
                  "Read the address from the file that the server's "
                  "--port-file wrote");
  AddJsonFlag(*sub, &command->json_);
  return {sub, std::move(command)};
}

}  // namespace trivium
