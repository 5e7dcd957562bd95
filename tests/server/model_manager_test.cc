// Models that come, change and go while others are served. The folders are
// copies of goldens.
#include "server/model_manager.h"

#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <new>
#include <set>

#include "absl/time/clock.h"
#include "base/cpu_limits.h"
#include "server/errors/status.h"
#include "server/model_folders.h"
#include "tests/support/error_texts.h"
#include "tests/support/recording_observer.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr ClientId kClient = 1;
constexpr char kGolden[] = "tests/golden/marian.translate";

class ModelManagerTest : public testing::Test {
 protected:
  ModelManagerTest() {
    root_ = testing::TempDir() + "/models" +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
    fs::create_directories(root_ / "below");
    options_.model_root = root_.string();
    batcher_ = Batcher::Create({.observer = &metrics_}).value();
  }
  ~ModelManagerTest() override {
    manager_.reset();
    batcher_.reset();
    fs::remove_all(root_);
  }

  // As Server does it, with the models that are there, or `given` ones.
  void Start(std::optional<std::vector<ModelSpec>> given = {}) {
    manager_ =
        std::make_unique<ModelManager>(options_, Workers{1, 1, kv_cache_bytes_},
                                       &metrics_, batcher_.get(), reading_);
    if (!given) given = ListModelFolders(options_.model_root).value();
    for (const ModelSpec& spec : *given) {
      auto model = LoadModel(spec, options_);
      ASSERT_TRUE(model.ok()) << model.status();
      ASSERT_TRUE(
          directory_.Add(manager_->Serve(spec, *std::move(model)).value())
              .ok());
    }
    ASSERT_TRUE(manager_->Start(&directory_).ok());
  }

  void AddFolder(const std::string& name) {
    fs::copy(kGolden, root_ / name, fs::copy_options::recursive);
  }

  // What came of an order.
  absl::StatusOr<ModelHandle> Wait(
      const std::function<void(ModelControl::Done)>& order) {
    std::promise<absl::StatusOr<ModelHandle>> promise;
    order([&promise](const absl::StatusOr<ModelHandle>& model) {
      promise.set_value(model);
    });
    return promise.get_future().get();
  }
  absl::StatusOr<ModelHandle> Load(ModelControl::LoadOrder order) {
    return Wait([&](auto done) { manager_->Load({kClient}, order, done); });
  }
  absl::StatusOr<ModelHandle> Reload(const std::string& name) {
    return Wait([&](auto done) { manager_->Reload({kClient}, name, done); });
  }
  absl::StatusOr<ModelHandle> Unload(const std::string& name) {
    return Wait([&](auto done) { manager_->Unload({kClient}, name, done); });
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const ModelHandle& model : directory_.List()) {
      names.push_back(model->name);
    }
    return names;
  }

  // Of a call that found this model.
  absl::Status Ask(const ModelHandle& model) {
    auto observer = std::make_shared<RecordingObserver>();
    Request request;
    request.source.ids = {3, 4, 5};
    request.prefix = model->model->decoder_prefix();
    request.decoding = model->model->decoding_defaults();
    request.decoding->max_new_tokens = 4;
    request.model = model;
    request.observer = observer;
    std::vector<Request> requests;
    requests.push_back(std::move(request));
    const Submission submission =
        batcher_->Submit(batcher_->NewCall(), std::move(requests));
    if (!submission.ok()) return submission.status;
    return observer->Wait().status();
  }

  static bool Soon(const std::function<bool()>& condition) {
    for (int i = 0; i < 3000 && !condition(); ++i) {
      absl::SleepFor(absl::Milliseconds(10));
    }
    return condition();
  }

  // From here on folders of these names are read until Unstick.
  void Stick(std::set<std::string> names) {
    reading_.read = [names, stuck = unstick_.get_future().share(), this](
                        const ModelSpec& spec, const Options& options) {
      if (names.contains(fs::path(spec.folder).filename())) {
        ++stuck_;
        stuck.wait();
      }
      return LoadModel(spec, options);
    };
  }
  void Unstick() {
    unstick_.set_value();
    EXPECT_TRUE(Soon([] { return ModelsBeingRead() == 0; }));
  }

  int64_t kv_cache_bytes_ = 1 << 20;
  ModelManager::Reading reading_;
  std::promise<void> unstick_;
  std::atomic<int> stuck_ = 0;
  fs::path root_;
  Options options_;
  Metrics metrics_{1};
  std::unique_ptr<Batcher> batcher_;
  ModelDirectory directory_;
  std::unique_ptr<ModelManager> manager_;
};

// A batcher for which there is no memory to add the next model.
class ForgetfulBatcher : public Batcher {
 public:
  explicit ForgetfulBatcher(std::unique_ptr<Batcher> batcher)
      : batcher_(std::move(batcher)) {}

  absl::Status AddModel(ModelHandle model, Engines engines) override {
    if (std::exchange(forgets_, false)) throw std::bad_alloc();
    return batcher_->AddModel(std::move(model), std::move(engines));
  }
  // Its error needs memory.
  absl::Status RemoveModel(const ServedModel& model) override {
    if (!batcher_->Serves(model)) throw std::bad_alloc();
    return batcher_->RemoveModel(model);
  }
  bool Serves(const ServedModel& model) const override {
    return batcher_->Serves(model);
  }
  CallId NewCall() override { return batcher_->NewCall(); }
  Submission Submit(CallId call, std::vector<Request> requests) override {
    return batcher_->Submit(call, std::move(requests));
  }
  Submission CheckAdmission(const ServedModel* model, Sender sender,
                            CallId call, absl::Time deadline) override {
    return batcher_->CheckAdmission(model, sender, call, deadline);
  }
  void AddInTransit(CallId call, Sender sender) override {
    batcher_->AddInTransit(call, sender);
  }
  void RemoveInTransit(CallId call) override {
    batcher_->RemoveInTransit(call);
  }
  int64_t free_waiting_tokens(Sender sender) const override {
    return batcher_->free_waiting_tokens(sender);
  }
  bool Drain(absl::Duration timeout) override {
    return batcher_->Drain(timeout);
  }

 private:
  const std::unique_ptr<Batcher> batcher_;
  bool forgets_ = true;
};

TEST_F(ModelManagerTest, NothingStaysOfAModelForWhichMemoryEnds) {
  batcher_ = std::make_unique<ForgetfulBatcher>(std::move(batcher_));
  Start();
  AddFolder("opus");
  EXPECT_EQ(Load({.folder = "opus"}).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("model=\"opus\"")));
  const auto opus = Load({.folder = "opus"});
  ASSERT_TRUE(opus.ok()) << opus.status();
  EXPECT_TRUE(Ask(*opus).ok());
}

TEST_F(ModelManagerTest, LoadsUnderTheFoldersNameOrAnother) {
  Start();
  AddFolder("opus");
  const auto opus = Load({.folder = "opus"});
  ASSERT_TRUE(opus.ok()) << opus.status();
  EXPECT_EQ((*opus)->name, "opus");
  EXPECT_TRUE(Ask(*opus).ok());
  EXPECT_EQ(Load({.folder = "opus"}).status().code(),
            absl::StatusCode::kAlreadyExists);
  const auto other = Load({.folder = "opus",
                           .name = "exact",
                           .precision = Precision::kF32,
                           .kv_precision = Precision::kBf16});
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ((*other)->model->info().kv_precision, Precision::kBf16);
  EXPECT_THAT(Names(), ElementsAre("opus", "exact"));
}

TEST_F(ModelManagerTest, LoadsNothingOutsideItsRoot) {
  Start();
  const fs::path outside = root_.string() + "-outside";
  fs::remove_all(outside);
  fs::copy(kGolden, outside, fs::copy_options::recursive);
  fs::create_directory_symlink(outside, root_ / "link");
  for (const std::string& folder :
       {std::string("../") + outside.filename().string(), outside.string(),
        std::string("link"), std::string("."), std::string(""),
        std::string("below/..")}) {
    EXPECT_THAT(Load({.folder = folder}),
                IsError(absl::StatusCode::kInvalidArgument, "--model-root"))
        << folder;
  }
  // Nothing is read or fetched for a name that is none.
  EXPECT_THAT(Load({.folder = "below", .name = "a\n"}),
              IsError(absl::StatusCode::kInvalidArgument, "name 'a'"));
  // Only the command line fetches.
  EXPECT_THAT(Load({.folder = "hf:test/tiny"}),
              IsError(absl::StatusCode::kPermissionDenied, "'hf:test/tiny'"));
  EXPECT_THAT(Load({.folder = "nothing"}),
              IsError(absl::StatusCode::kInvalidArgument, "'nothing'"));
  EXPECT_EQ(Load({.folder = "below"}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Names().empty());
  fs::remove_all(outside);
}

TEST_F(ModelManagerTest, ACallKeepsItsModel) {
  AddFolder("opus");
  Start();
  ModelHandle first = *directory_.Find("opus");
  const ServedModel* const old = first.get();
  for (int i = 0; i < 20; ++i) {
    const auto reloaded = Reload("opus");
    ASSERT_TRUE(reloaded.ok()) << reloaded.status();
    EXPECT_NE((*directory_.Find("opus"))->id, old->id);
    ASSERT_TRUE(Ask(*reloaded).ok());
  }
  ASSERT_TRUE(Ask(first).ok());
  ASSERT_TRUE(Unload("opus").ok());
  EXPECT_TRUE(absl::IsNotFound(directory_.Find("opus").status()));
  EXPECT_TRUE(absl::IsNotFound(Unload("opus").status()));
  EXPECT_TRUE(absl::IsNotFound(Reload("opus").status()));
  ASSERT_TRUE(Ask(first).ok());
  EXPECT_THAT(metrics_.Text(), HasSubstr("model=\"opus\""));
  // Then its series go, the last of all that was there.
  const std::shared_ptr<const Model> model = first->model;
  first.reset();
  EXPECT_TRUE(Soon([&] {
    return metrics_.Text().find("model=\"opus\"") == std::string::npos;
  }));
  EXPECT_TRUE(Soon([&] { return model.use_count() == 1; }));
}

TEST_F(ModelManagerTest, WaitingOrdersAreBounded) {
  AddFolder("opus");
  Start();
  // The first one holds up the others.
  std::promise<void> began, go_on;
  manager_->Reload({kClient}, "opus", [&](const auto&) {
    began.set_value();
    go_on.get_future().wait();
  });
  began.get_future().wait();
  std::atomic<int> done = 0;
  for (int i = 0; i < ModelManager::kMostOrders; ++i) {
    const ClientId client = 10 + i / ModelManager::kMostOrdersOfClient;
    manager_->Unload({client}, "none", [&](const auto& model) {
      EXPECT_TRUE(absl::IsNotFound(model.status())) << model.status();
      ++done;
    });
  }
  const absl::Status refused = Reload("opus").status();
  EXPECT_THAT(refused, IsError(absl::StatusCode::kResourceExhausted, "64"));
  EXPECT_TRUE(RetryDelay(refused).has_value());
  go_on.set_value();
  EXPECT_TRUE(Soon([&] { return done == ModelManager::kMostOrders; }));
  EXPECT_TRUE(Reload("opus").ok());
}

TEST_F(ModelManagerTest, LeavesRoomForOrdersOfOtherClients) {
  AddFolder("opus");
  Start();
  std::promise<void> began, go_on;
  manager_->Reload({kClient}, "opus", [&](const auto&) {
    began.set_value();
    go_on.get_future().wait();
  });
  began.get_future().wait();
  for (int i = 0; i < ModelManager::kMostOrdersOfClient; ++i) {
    manager_->Unload({kClient}, "none", [](const auto&) {});
  }
  const absl::Status refused = Reload("opus").status();
  EXPECT_THAT(refused, IsError(absl::StatusCode::kResourceExhausted, "client"));
  std::promise<void> done;
  manager_->Unload({kClient + 1}, "none", [&](const auto& model) {
    EXPECT_TRUE(absl::IsNotFound(model.status())) << model.status();
    done.set_value();
  });
  go_on.set_value();
  done.get_future().wait();
  EXPECT_TRUE(Reload("opus").ok());
}

TEST_F(ModelManagerTest, AModelThatDoesNotFitIntoMemoryIsNotRead) {
  Start();
  AddFolder("opus");
  // Not a model: were it read, that would be the error.
  std::ofstream(root_ / "opus/config.json") << "{";
  fs::resize_file(root_ / "opus/model.safetensors", uintmax_t{1} << 40);
  EXPECT_THAT(Load({.folder = "opus"}),
              AllOf(IsError(absl::StatusCode::kResourceExhausted, "'opus'"),
                    IsError(absl::StatusCode::kResourceExhausted, "262144")));
  EXPECT_THAT(Names(), ElementsAre());
}

TEST_F(ModelManagerTest, AModelWhoseKvCacheDoesNotFitIsNotServed) {
  options_.memory_limit_bytes = PrivateMemory() + (int64_t{1} << 30);
  kv_cache_bytes_ = int64_t{2} << 30;
  Start();
  AddFolder("opus");
  EXPECT_THAT(
      Load({.folder = "opus"}),
      AllOf(IsError(absl::StatusCode::kResourceExhausted, "--kv-cache-bytes"),
            IsError(absl::StatusCode::kResourceExhausted, "2048")));
  EXPECT_THAT(Names(), ElementsAre());
}

TEST_F(ModelManagerTest, KeepsTheOldModelIfAReloadFails) {
  AddFolder("opus");
  Start();
  const uint64_t id = (*directory_.Find("opus"))->id;
  std::ofstream(root_ / "opus/config.json") << "{";
  EXPECT_THAT(Reload("opus"),
              IsError(absl::StatusCode::kInvalidArgument, "config.json"));
  EXPECT_EQ((*directory_.Find("opus"))->id, id);
  EXPECT_TRUE(Ask(*directory_.Find("opus")).ok());
}

TEST_F(ModelManagerTest, FollowsAWatchedFolder) {
  AddFolder("first");
  options_.watch_interval = absl::Milliseconds(20);
  Start();
  EXPECT_THAT(Names(), ElementsAre("first"));
  const uint64_t id = (*directory_.Find("first"))->id;
  AddFolder("second");
  fs::create_directory(root_ / ".hidden");
  EXPECT_TRUE(Soon([&] { return Names().size() == 2; }));
  EXPECT_EQ((*directory_.Find("first"))->id, id);  // nothing about it changed
  std::ofstream(root_ / "first/note.txt") << "changed";
  EXPECT_TRUE(Soon([&] { return (*directory_.Find("first"))->id != id; }));
  fs::remove_all(root_ / "first");
  EXPECT_TRUE(Soon([&] { return Names().size() == 1; }));
  EXPECT_THAT(Names(), ElementsAre("second"));
}

TEST_F(ModelManagerTest, LeavesModelsOutsideAWatchedFolderAlone) {
  const fs::path outside = root_.string() + "-outside";
  fs::remove_all(outside);
  fs::copy(kGolden, outside, fs::copy_options::recursive);
  options_.watch_interval = absl::Milliseconds(20);
  Start({{{.name = "opus", .folder = outside.string()}}});
  const uint64_t id = (*directory_.Find("opus"))->id;
  AddFolder("opus");
  AddFolder("other");
  EXPECT_TRUE(Soon([&] { return Names().size() == 2; }));
  fs::remove_all(root_ / "opus");
  fs::remove_all(root_ / "other");
  EXPECT_TRUE(Soon([&] { return Names().size() == 1; }));
  EXPECT_EQ((*directory_.Find("opus"))->id, id);
  fs::remove_all(outside);
}

TEST_F(ModelManagerTest, AWatchFollowsASwitchedLink) {
  fs::create_directories(root_ / ".versions");
  AddFolder(".versions/1");
  AddFolder(".versions/2");
  std::ofstream(root_ / ".versions/2/note.txt") << "the second";
  fs::create_directory_symlink(".versions/1", root_ / "opus");
  options_.watch_interval = absl::Milliseconds(20);
  Start();
  EXPECT_THAT(Names(), ElementsAre("opus"));
  const uint64_t id = (*directory_.Find("opus"))->id;
  fs::create_directory_symlink(".versions/2", root_ / ".new");
  fs::rename(root_ / ".new", root_ / "opus");
  EXPECT_TRUE(Soon([&] { return (*directory_.Find("opus"))->id != id; }));
  EXPECT_THAT(Names(), ElementsAre("opus"));
}

TEST_F(ModelManagerTest, SubfoldersBelongToTheModel) {
  AddFolder("opus");
  fs::create_directory(root_ / "opus/1_Pooling");
  const std::string folder = (root_ / "opus").string();
  const std::string before = FingerprintOfFolder(folder);
  fs::create_directory(root_ / "opus/.cache");
  std::ofstream(root_ / "opus/.cache/lock") << "x";
  EXPECT_EQ(FingerprintOfFolder(folder), before);
  std::ofstream(root_ / "opus/1_Pooling/config.json") << "{}";
  EXPECT_NE(FingerprintOfFolder(folder), before);
}

TEST_F(ModelManagerTest, NoOrderStartsAfterStop) {
  AddFolder("opus");
  Start();
  manager_->Stop();
  EXPECT_TRUE(absl::IsUnavailable(Load({.folder = "opus"}).status()));
  EXPECT_TRUE(Ask(*directory_.Find("opus")).ok());
}

TEST_F(ModelManagerTest, OrdersDoNotWaitForAModelThatIsReadForLong) {
  reading_.patience = absl::Milliseconds(1);
  Stick({"stuck"});
  Start();
  AddFolder("stuck");
  AddFolder("opus");
  std::promise<absl::StatusOr<ModelHandle>> stuck;
  manager_->Load({kClient}, {.folder = "stuck"},
                 [&](const auto& model) { stuck.set_value(model); });
  EXPECT_TRUE(Load({.folder = "opus"}).ok());
  EXPECT_TRUE(Reload("opus").ok());
  EXPECT_TRUE(Unload("opus").ok());
  EXPECT_EQ(Load({.folder = "stuck"}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  Unstick();
  const auto model = stuck.get_future().get();
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(Ask(*model).ok());
}

TEST_F(ModelManagerTest, OrdersWaitForAModelThatIsReadWithinTime) {
  Stick({"slow"});
  Start();
  AddFolder("slow");
  std::promise<void> loaded;
  manager_->Load({kClient}, {.folder = "slow"},
                 [&](const auto&) { loaded.set_value(); });
  const absl::Status late =
      Wait([&](auto done) {
        manager_->Unload({kClient, absl::Now() + absl::Milliseconds(20)},
                         "slow", done);
      }).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  std::promise<absl::Status> unloaded;
  manager_->Unload({kClient}, "slow", [&](const auto& model) {
    unloaded.set_value(model.status());
  });
  Unstick();
  loaded.get_future().wait();
  EXPECT_TRUE(unloaded.get_future().get().ok());
}

TEST_F(ModelManagerTest, AModelThatTakesTooLongIsGivenUp) {
  // Long enough for a thread to begin: an order that is given up before is not
  // read at all.
  reading_.patience = reading_.limit = absl::Milliseconds(100);
  Stick({"stuck"});
  Start();
  AddFolder("stuck");
  for (int i = 0; i < ModelManager::kMostRead; ++i) {
    const absl::Status late = Load({.folder = "stuck"}).status();
    EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  }
  EXPECT_TRUE(Soon([this] { return stuck_ == ModelManager::kMostRead; }));
  // Each still has a thread.
  const absl::Status many = Load({.folder = "stuck"}).status();
  EXPECT_THAT(many, IsError(absl::StatusCode::kResourceExhausted, "4"));
  EXPECT_TRUE(RetryDelay(many).has_value());
  Unstick();
  EXPECT_THAT(Names(), ElementsAre());  // what they have read is dropped
}

// As many as may be fetched at once, from a network that is slow.
TEST_F(ModelManagerTest, SlowNetworksHoldUpNoFolder) {
  options_.pull_owners = {"*"};
  reading_.patience = absl::Milliseconds(1);
  std::atomic<int> pulling = 0;
  reading_.pull = [&](const ModelSpec&, const Options&,
                      const AliveCheck& wanted) -> absl::StatusOr<std::string> {
    ++pulling;
    for (;;) {
      TRIVIUM_RETURN_IF_ERROR(wanted());
      absl::SleepFor(absl::Milliseconds(1));
    }
  };
  Start();
  AddFolder("opus");
  for (int i = 0; i < ModelManager::kMostPulled; ++i) {
    const std::string name = "slow" + std::to_string(i);
    manager_->Load({kClient}, {.folder = "hf:owner/" + name, .name = name},
                   [](const auto&) {});
  }
  EXPECT_TRUE(Soon([&] { return pulling == ModelManager::kMostPulled; }));
  EXPECT_THAT(
      Load({.folder = "hf:owner/one_more", .name = "one_more"}).status(),
      IsError(absl::StatusCode::kResourceExhausted, "4"));
  EXPECT_TRUE(Load({.folder = "opus"}).ok());
  EXPECT_TRUE(Unload("opus").ok());
  manager_->Stop();
  EXPECT_TRUE(Soon([] { return ModelsBeingRead() == 0; }));
}

TEST_F(ModelManagerTest, AFetchThatTakesTooLongEnds) {
  options_.pull_owners = {"*"};
  reading_.patience = reading_.pull_limit = absl::Milliseconds(1);
  reading_.pull = [&](const ModelSpec&, const Options&,
                      const AliveCheck& wanted) -> absl::StatusOr<std::string> {
    while (wanted().ok()) absl::SleepFor(absl::Milliseconds(1));
    return wanted();
  };
  Start();
  for (int i = 0; i < ModelManager::kMostPulled + 1; ++i) {
    const absl::Status late =
        Load({.folder = "hf:owner/slow", .name = "slow"}).status();
    EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
    EXPECT_TRUE(Soon([] { return ModelsBeingRead() == 0; }));
  }
}

TEST_F(ModelManagerTest, StopsWhileAModelIsRead) {
  Stick({"stuck"});
  Start();
  AddFolder("stuck");
  std::promise<absl::Status> loaded, waited;
  manager_->Load({kClient}, {.folder = "stuck"},
                 [&](const auto& model) { loaded.set_value(model.status()); });
  EXPECT_TRUE(Soon([this] { return stuck_ == 1; }));
  manager_->Unload({kClient}, "stuck", [&](const auto& model) {
    waited.set_value(model.status());
  });
  manager_->Stop();
  EXPECT_TRUE(absl::IsUnavailable(loaded.get_future().get()));
  EXPECT_TRUE(absl::IsUnavailable(waited.get_future().get()));
  manager_.reset();
  EXPECT_EQ(ModelsBeingRead(), 1);
  Unstick();
}

}  // namespace
}  // namespace trivium
