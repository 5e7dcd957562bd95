#include "server/calls/glossary_store.h"

#include <gtest/gtest.h>

#include <set>

namespace trivium {
namespace {

GlossaryStore::Glossary Named(const std::string& name) {
  return {.name = name,
          .source_language = "en",
          .target_language = "de",
          .terms = {{"house", "Bude"}}};
}

TEST(GlossaryStoreTest, AnOwnerSeesItsOwnGlossariesOnly) {
  GlossaryStore store({}, Clock::Real());
  const auto first = store.Add("a", Named("first"));
  const auto second = store.Add("a", Named("second"));
  const auto other = store.Add("b", Named("other"));
  ASSERT_TRUE(first.ok() && second.ok() && other.ok());
  const auto list = store.List("a");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]->name, "first");
  EXPECT_EQ(list[1]->name, "second");
  EXPECT_EQ((*store.Find("a", (*first)->id))->terms[0].second, "Bude");
  EXPECT_TRUE(absl::IsNotFound(store.Find("a", (*other)->id).status()));
  EXPECT_TRUE(absl::IsNotFound(store.Remove("a", (*other)->id)));
  EXPECT_TRUE(store.Remove("b", (*other)->id).ok());
  EXPECT_TRUE(absl::IsNotFound(store.Remove("b", (*other)->id)));
  EXPECT_TRUE(store.List("b").empty());
  // A glossary in use outlives its removal.
  EXPECT_EQ((*other)->name, "other");
}

TEST(GlossaryStoreTest, RoomIsBoundedAndComesBack) {
  GlossaryStore store({.most_glossaries = 3}, Clock::Real());
  std::set<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.insert((*store.Add("a", Named("x")))->id);
  EXPECT_EQ(ids.size(), 3u);
  EXPECT_TRUE(absl::IsResourceExhausted(store.Add("b", Named("x")).status()));
  EXPECT_TRUE(store.Remove("a", *ids.begin()).ok());
  EXPECT_TRUE(store.Add("b", Named("x")).ok());

  GlossaryStore small({.most_bytes = 2000}, Clock::Real());
  GlossaryStore::Glossary large = Named("large");
  large.terms.emplace_back(std::string(1000, 'a'), std::string(1000, 'b'));
  EXPECT_TRUE(absl::IsResourceExhausted(small.Add("a", large).status()));
  EXPECT_TRUE(small.Add("a", Named("small")).ok());
}

}  // namespace
}  // namespace trivium
