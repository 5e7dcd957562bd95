#include "server/calls/glossary_store.h"

#include <gtest/gtest.h>

#include <set>

namespace trivium {
namespace {

GlossaryStore::Glossary Named(const std::string& name) {
  return {.name = name, .dictionaries = {{{"en", "de"}, {{"house", "Bude"}}}}};
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
  EXPECT_EQ(*store.Find("a", (*first)->id), *first);
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
  large.dictionaries[{"en", "fr"}].emplace_back(std::string(1000, 'a'),
                                                std::string(1000, 'b'));
  EXPECT_TRUE(absl::IsResourceExhausted(small.Add("a", large).status()));
  const auto kept = small.Add("a", Named("small"));
  ASSERT_TRUE(kept.ok());
  const auto grow = [&](GlossaryStore::Glossary* glossary) {
    glossary->dictionaries = large.dictionaries;
    return absl::OkStatus();
  };
  EXPECT_TRUE(
      absl::IsResourceExhausted(small.Change("a", (*kept)->id, grow).status()));
  EXPECT_EQ(*small.Find("a", (*kept)->id), *kept);
}

TEST(GlossaryStoreTest, AChangeIsSeenAndItsRoomIsCounted) {
  GlossaryStore store({.most_bytes = 1500}, Clock::Real());
  const std::string id = (*store.Add("a", Named("first")))->id;
  const auto no_change = [](GlossaryStore::Glossary*) {
    return absl::OkStatus();
  };
  EXPECT_TRUE(absl::IsNotFound(store.Change("b", id, no_change).status()));
  // Another client's change in between is not lost.
  int calls = 0;
  const auto changed =
      store.Change("a", id, [&](GlossaryStore::Glossary* glossary) {
        if (++calls == 1) {
          EXPECT_TRUE(store
                          .Change("a", id,
                                  [](GlossaryStore::Glossary* other) {
                                    other->name = "second";
                                    return absl::OkStatus();
                                  })
                          .ok());
        }
        glossary->dictionaries[{"en", "fr"}] = {{"house", "piaule"}};
        return absl::OkStatus();
      });
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ((*changed)->name, "second");
  EXPECT_EQ((*changed)->dictionaries.size(), 2u);
  EXPECT_EQ(*store.Find("a", id), *changed);
  // Errors leave it as it is.
  EXPECT_TRUE(absl::IsAborted(store
                                  .Change("a", id,
                                          [](GlossaryStore::Glossary* other) {
                                            other->name = "lost";
                                            return absl::AbortedError("no");
                                          })
                                  .status()));
  EXPECT_EQ((*store.Find("a", id))->name, "second");
  // Two dictionaries take the room of a second glossary, and give it back.
  EXPECT_TRUE(absl::IsResourceExhausted(store.Add("a", Named("x")).status()));
  EXPECT_TRUE(store
                  .Change("a", id,
                          [](GlossaryStore::Glossary* glossary) {
                            glossary->dictionaries.clear();
                            return absl::OkStatus();
                          })
                  .ok());
  EXPECT_TRUE(store.Add("a", Named("x")).ok());
}

}  // namespace
}  // namespace trivium
