#include "model/families/registry.h"

#include <utility>

#include "model/families/albert.h"
#include "model/families/bert.h"
#include "model/families/deberta.h"
#include "model/families/distilbert.h"
#include "model/families/electra.h"
#include "model/families/marian.h"
#include "model/families/mpnet.h"

namespace trivium {
namespace {

constexpr std::pair<std::string_view, FamilyLoader> kFamilies[] = {
    {"albert", LoadAlbert},        {"bert", LoadBert},
    {"camembert", LoadRoberta},    {"deberta", LoadDeberta},
    {"deberta-v2", LoadDebertaV2}, {"distilbert", LoadDistilBert},
    {"electra", LoadElectra},      {"marian", LoadMarian},
    {"mpnet", LoadMpnet},          {"roberta", LoadRoberta},
    {"xlm-roberta", LoadRoberta},
};

}  // namespace

FamilyLoader FindFamily(std::string_view model_type) {
  for (const auto& family : kFamilies) {
    if (family.first == model_type) return family.second;
  }
  return nullptr;
}

std::vector<std::string_view> FamilyNames() {
  std::vector<std::string_view> names;
  for (const auto& family : kFamilies) names.push_back(family.first);
  return names;
}

}  // namespace trivium
