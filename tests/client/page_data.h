#ifndef TRIVIUM_TESTS_CLIENT_PAGE_DATA_H_
#define TRIVIUM_TESTS_CLIENT_PAGE_DATA_H_

#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace trivium {

// Returns the data of a page of client/pages. Checks that the page has exactly
// its own two script elements, loads nothing, and has no placeholder left.
inline nlohmann::json PageData(const std::string& page) {
  const auto count = [&page](const std::string& what) {
    int found = 0;
    for (size_t i = page.find(what); i != page.npos;
         i = page.find(what, i + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_EQ(count("<script"), 2);
  EXPECT_EQ(count("</script"), 2);
  EXPECT_EQ(count("<!--"), 1);
  EXPECT_EQ(count("src="), 0);
  EXPECT_EQ(count("<link"), 0);
  EXPECT_EQ(count("default-src 'none'"), 1);
  EXPECT_EQ(count("</html>"), 1);
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const size_t from = page.find(begin);
  EXPECT_NE(from, page.npos);
  if (from == page.npos) return nullptr;
  const size_t to = page.find("</script>", from);
  const std::string text =
      page.substr(from + begin.size(), to - from - begin.size());
  for (const char c : text) EXPECT_TRUE(c >= ' ' && c <= '~');
  const nlohmann::json data =
      nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  EXPECT_FALSE(data.is_discarded());
  return data;
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_CLIENT_PAGE_DATA_H_
