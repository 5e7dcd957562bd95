// LoadModel, ReloadModel and UnloadModel, with a puppet for ModelControl.
#include <gmock/gmock.h>

#include <utility>

#include "server/calls/handlers.h"
#include "tests/server/calls/handlers_fixture.h"
#include "tests/support/error_texts.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

class PuppetControl : public ModelControl {
 public:
  void Load(Giver giver, LoadOrder order, Done done) override {
    loaded = std::move(order);
    giver_ = giver;
    done_ = std::move(done);
  }
  void Reload(Giver giver, std::string name, Done done) override {
    reloaded = std::move(name);
    giver_ = giver;
    done_ = std::move(done);
  }
  void Unload(Giver giver, std::string name, Done done) override {
    unloaded = std::move(name);
    giver_ = giver;
    done_ = std::move(done);
  }
  absl::Time deadline() const { return giver_.deadline; }
  void Answer(const absl::StatusOr<ModelHandle>& model) { done_(model); }

  LoadOrder loaded;
  std::string reloaded, unloaded;

 private:
  Giver giver_ = {};
  Done done_;
};

class ModelOrdersTest : public HandlersTest {
 protected:
  ModelOrdersTest() { environment_.model_control = &control_; }

  void Start(NewHandler* make, const google::protobuf::Message& request) {
    transport_.Bring(request);
    handler_ = make(environment_, {}, &transport_);
    handler_->Start();
  }
  absl::Status Status() { return transport_.WaitForFinish().status; }

  PuppetControl control_;
  FakeTransport transport_;
  std::unique_ptr<Handler> handler_;
};

TEST_F(ModelOrdersTest, OrdersHaveTheCallsDeadline) {
  const absl::Time deadline = absl::Now() + absl::Hours(1);
  CallContext context;
  context.deadline = deadline;
  v1::ReloadModelRequest request;
  request.set_name("translator");
  transport_.Bring(request);
  handler_ = NewReloadModel(environment_, std::move(context), &transport_);
  handler_->Start();
  EXPECT_EQ(control_.deadline(), deadline);
  control_.Answer(absl::DeadlineExceededError("late"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Status()));
}

TEST_F(ModelOrdersTest, LoadPassesAllOptionsOn) {
  v1::LoadModelRequest request;
  request.set_folder("opus");
  request.set_name("exact");
  request.set_precision(v1::PRECISION_F32);
  request.set_kv_precision(v1::PRECISION_BF16);
  request.set_vocabulary_shortlist(false);
  request.set_translate_with("tower");
  Start(&NewLoadModel, request);
  EXPECT_FALSE(transport_.finished());
  EXPECT_EQ(control_.loaded.folder, "opus");
  EXPECT_EQ(control_.loaded.name, "exact");
  EXPECT_EQ(control_.loaded.precision, Precision::kF32);
  EXPECT_EQ(control_.loaded.kv_precision, Precision::kBf16);
  EXPECT_EQ(control_.loaded.shortlist, false);
  EXPECT_EQ(control_.loaded.translate_with, "tower");
  control_.Answer(*environment_.models.Find("translator"));
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
  EXPECT_EQ(transport_.Response<v1::Model>(0).name(), "translator");
}

TEST_F(ModelOrdersTest, UnsetOptionsAreTheServersDefaults) {
  v1::LoadModelRequest request;
  request.set_folder("opus");
  Start(&NewLoadModel, request);
  EXPECT_EQ(control_.loaded.name, "");
  EXPECT_FALSE(control_.loaded.precision.has_value());
  EXPECT_FALSE(control_.loaded.kv_precision.has_value());
  EXPECT_FALSE(control_.loaded.shortlist.has_value());
  EXPECT_FALSE(control_.loaded.translate_with.has_value());
  control_.Answer(absl::AlreadyExistsError("there is one"));
  EXPECT_EQ(Status(), absl::AlreadyExistsError("there is one"));
}

// An order is not withdrawn when its client disconnects or its deadline passes.
TEST_F(ModelOrdersTest, AnOrderIsCarriedOutEvenIfItsClientDisconnects) {
  v1::ReloadModelRequest request;
  request.set_name("translator");
  Start(&NewReloadModel, request);
  handler_->OnCancel();
  EXPECT_FALSE(transport_.finished());
  EXPECT_EQ(control_.reloaded, "translator");
  control_.Answer(*environment_.models.Find("translator"));
  transport_.WaitForFinish();
}

TEST_F(ModelOrdersTest, UnloadIsAnsweredWithNothing) {
  v1::UnloadModelRequest request;
  request.set_name("translator");
  Start(&NewUnloadModel, request);
  EXPECT_EQ(control_.unloaded, "translator");
  control_.Answer(*environment_.models.Find("translator"));
  EXPECT_TRUE(transport_.WaitForFinish().status.ok());
  EXPECT_EQ(transport_.written(), 1);
}

TEST_F(ModelOrdersTest, RefusesANameThatIsTooLong) {
  v1::LoadModelRequest request;
  request.set_folder("opus");
  request.set_name(std::string(257, 'n'));
  Start(&NewLoadModel, request);
  EXPECT_THAT(Status(), InvalidAt("name: "));
}

TEST_F(ModelOrdersTest, RefusesToLoadWithoutAFolder) {
  Start(&NewLoadModel, v1::LoadModelRequest());
  EXPECT_THAT(Status(), InvalidAt("folder: "));
}

TEST_F(ModelOrdersTest, RefusesToUnloadWithoutAName) {
  Start(&NewUnloadModel, v1::UnloadModelRequest());
  EXPECT_THAT(Status(), InvalidAt("name: "));
}

TEST_F(ModelOrdersTest, RefusesAPromptThatItDoesNotKnow) {
  v1::LoadModelRequest request;
  request.set_folder("opus");
  request.set_translate_with("tower-of-babel");
  Start(&NewLoadModel, request);
  EXPECT_THAT(Status(), InvalidAt("translate_with: "));
}

TEST_F(ModelOrdersTest, RefusesKeysAndValuesInInt4) {
  v1::LoadModelRequest request;
  request.set_folder("opus");
  request.set_precision(v1::PRECISION_INT4);
  request.set_kv_precision(v1::PRECISION_INT4);
  Start(&NewLoadModel, request);
  EXPECT_THAT(Status(), InvalidAt("kv_precision: "));
}

TEST_F(ModelOrdersTest, RefusesAnUnknownPrecision) {
  v1::LoadModelRequest request;
  request.set_folder("opus");
  request.set_precision(static_cast<v1::Precision>(77));
  Start(&NewLoadModel, request);
  EXPECT_THAT(Status(), InvalidAt("precision: "));
}

TEST_F(ModelOrdersTest, AServerMayRefuseAllOrders) {
  environment_.model_control = nullptr;
  v1::ReloadModelRequest request;
  request.set_name("translator");
  Start(&NewReloadModel, request);
  EXPECT_THAT(Status(),
              IsError(absl::StatusCode::kFailedPrecondition, "--model-root"));
}

}  // namespace
}  // namespace trivium
