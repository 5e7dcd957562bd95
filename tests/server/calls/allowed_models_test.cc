// Which model a call gets that names one, another name of one, or none.
#include "server/calls/allowed_models.h"

#include <gmock/gmock.h>

#include "tests/support/error_texts.h"
#include "tests/support/puppet_model.h"

namespace trivium {
namespace {

class AllowedModelsTest : public testing::Test {
 protected:
  AllowedModelsTest() {
    for (const char* name : {"first", "second"}) {
      EXPECT_TRUE(directory_.Add(ServedPuppet(name)).ok());
    }
  }
  // The name of the model of a Translate call; empty if there is none.
  std::string Found(const std::string& name,
                    std::vector<std::string> allowed = {}) {
    std::shared_ptr<const Grant> grant;
    if (!allowed.empty()) {
      Grant::Rules rules;
      rules.name = "token";
      rules.models = std::move(allowed);
      grant = std::make_shared<Grant>(rules);
    }
    const AllowedModels models(directory_, grant);
    const auto found = models.FindFor(Rpc::kTranslate, name);
    EXPECT_EQ(models.Names(name) && found.ok(),
              !name.empty() && models.Find(name).ok());
    return found.ok() ? (*found)->name : "";
  }

  ModelDirectory directory_;
};

TEST_F(AllowedModelsTest, AnAliasIsAnotherName) {
  directory_.SetNames({.aliases = {{"gpt-4o", "second"}}});
  EXPECT_EQ(Found("gpt-4o"), "second");
  EXPECT_EQ(Found("second"), "second");
  EXPECT_EQ(Found(""), "first");
  EXPECT_EQ(Found("gpt-4"), "");
}

TEST_F(AllowedModelsTest, AnAliasOpensNoModelThatATokenMayNotUse) {
  directory_.SetNames({.aliases = {{"gpt-4o", "second"}}});
  EXPECT_EQ(Found("gpt-4o", {"second"}), "second");
  EXPECT_EQ(Found("gpt-4o", {"first"}), "");
  // A token that may use the name may not use the model by it.
  EXPECT_EQ(Found("gpt-4o", {"gpt-4o"}), "");
}

TEST_F(AllowedModelsTest, AnyNameFindsTheFirstModelOfTheToken) {
  directory_.SetNames({.aliases = {{"gpt-4o", "second"}}, .any = true});
  EXPECT_EQ(Found("dummy"), "first");
  EXPECT_EQ(Found("second"), "second");
  EXPECT_EQ(Found("gpt-4o"), "second");
  EXPECT_EQ(Found("dummy", {"second"}), "second");
  // A model that the token may not use is like one that is not there.
  EXPECT_EQ(Found("first", {"second"}), "second");
  EXPECT_EQ(Found("gpt-4o", {"first"}), "first");
}

}  // namespace
}  // namespace trivium
