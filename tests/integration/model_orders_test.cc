// Tests loading and unloading of models while clients are served.
#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/integration/server_process.h"
#include "tests/support/error_texts.h"
#include "tests/support/http_get.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// TRIVIUM_MODEL_CYCLES=200 shows that memory does not grow.
int Cycles() {
  const char* cycles = std::getenv("TRIVIUM_MODEL_CYCLES");
  return cycles != nullptr ? std::atoi(cycles) : 12;
}

class ModelsTest : public testing::Test {
 protected:
  ModelsTest() {
    root_ = testing::TempDir() + "/models.XXXXXX";
    EXPECT_NE(mkdtemp(root_.data()), nullptr);
    fs::copy(TRIVIUM_EMBEDDED, fs::path(root_) / "one",
             fs::copy_options::recursive);
    server_ = std::make_unique<ServerProcess>(
        std::vector<std::string>{"--model-root", root_, "--model",
                                 root_ + "/one", "--kv-cache-bytes", "16MiB"});
    client_ = server_->NewClient();
  }
  ~ModelsTest() override { fs::remove_all(root_); }

  absl::StatusOr<std::string> Translate(Client* client,
                                        const std::string& model) {
    v1::TranslateRequest request;
    request.set_model(model);
    request.add_inputs()->set_text("I ate an apple.");
    auto response = client->Translate(request);
    if (!response.ok()) return response.status();
    return response->results(0).hypotheses(0).text();
  }

  double ResidentBytes() {
    const std::string page = HttpGet(server_->metrics_port(), "/metrics").body;
    const std::string name = "\nprocess_resident_memory_bytes ";
    return std::stod(page.substr(page.find(name) + name.size()));
  }

  std::string root_;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<Client> client_;
};

TEST_F(ModelsTest, LetsNoCallFailWhileItsModelIsReloaded) {
  const std::string expected = Translate(client_.get(), "one").value();
  std::atomic<bool> stop = false;
  std::atomic<int> answered = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back([&] {
      const std::unique_ptr<Client> client = server_->NewClient();
      while (!stop) {
        const auto text = Translate(client.get(), "one");
        EXPECT_TRUE(text.ok()) << text.status();
        EXPECT_EQ(text.value_or(""), expected);
        ++answered;
      }
    });
  }
  v1::LoadModelRequest load;
  load.set_folder("one");
  load.set_name("two");
  load.set_precision(v1::PRECISION_F32);
  const int cycles = Cycles();
  double settled = 0;
  for (int i = 0; i < cycles; ++i) {
    const int before = answered;
    const auto reloaded = client_->ReloadModel("one");
    EXPECT_TRUE(reloaded.ok()) << reloaded.status();
    const auto loaded = client_->LoadModel(load);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_TRUE(Translate(client_.get(), "two").ok());
    EXPECT_TRUE(client_->UnloadModel("two").ok());
    while (answered < before + 4) std::this_thread::yield();
    if (i == cycles / 10) settled = ResidentBytes();
  }
  stop = true;
  for (std::thread& client : clients) client.join();
  const double grown = ResidentBytes() / settled;
  RecordProperty("memory_ratio", std::to_string(grown));
  EXPECT_LT(grown, cycles < 200 ? 2 : 1.02);
  EXPECT_TRUE(absl::IsNotFound(Translate(client_.get(), "two").status()));
}

TEST_F(ModelsTest, LoadsAndUnloadsFromTheCommandLine) {
  const auto run = [this](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {TRIVIUM_PROGRAM, "models", "--address",
                                         server_->address()});
    return RunProgram(arguments);
  };
  const ProcessResult loaded = run({"--load", "one", "--name", "two"});
  EXPECT_EQ(loaded.exit_code, 0) << loaded.err;
  EXPECT_THAT(loaded.out, HasSubstr("two\tmarian"));
  EXPECT_THAT(run({"--load", "one", "--name", "two"}).err, ErrorAt("'two'"));
  EXPECT_EQ(run({"--reload", "two"}).exit_code, 0);
  EXPECT_EQ(run({"--unload", "two"}).exit_code, 0);
  EXPECT_THAT(run({"--unload", "two"}).err, ErrorAt("'two'"));
  EXPECT_THAT(run({"--load", "../one"}).err, ErrorAt("'../one'"));
}

}  // namespace
}  // namespace trivium
