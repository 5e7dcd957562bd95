#include "server/translation/place_names.h"

#include <unicode/locdspnm.h>
#include <unicode/locid.h>
#include <unicode/timezone.h>
#include <unicode/tznames.h>

#include <map>
#include <memory>

#include "base/mutex.h"

namespace trivium {

const PlaceNames& PlaceNames::Of(const std::string& code) {
  static Mutex mutex;
  static auto* const all =
      new std::map<std::string, std::unique_ptr<const PlaceNames>>;
  const MutexLock lock(&mutex);
  std::unique_ptr<const PlaceNames>& names = (*all)[code];
  if (!names) names.reset(new PlaceNames(code));
  return *names;
}

PlaceNames::PlaceNames(const std::string& code) {
  const icu::Locale locale(code.c_str());
  const auto add = [&](icu::UnicodeString name) {
    if (name.isEmpty() || name.indexOf(u' ') >= 0) return;
    std::string small;
    names_.insert(name.toLower(locale).toUTF8String(small));
  };
  const std::unique_ptr<icu::LocaleDisplayNames> regions(
      icu::LocaleDisplayNames::createInstance(locale));
  for (const char* const* region = icu::Locale::getISOCountries();
       regions != nullptr && *region != nullptr; ++region) {
    icu::UnicodeString name;
    add(regions->regionDisplayName(*region, name));
  }
  // Zones of time are named by a city.
  UErrorCode error = U_ZERO_ERROR;
  const std::unique_ptr<icu::TimeZoneNames> zones(
      icu::TimeZoneNames::createInstance(locale, error));
  const std::unique_ptr<icu::StringEnumeration> ids(
      icu::TimeZone::createTimeZoneIDEnumeration(
          UCAL_ZONE_TYPE_CANONICAL_LOCATION, nullptr, nullptr, error));
  if (U_FAILURE(error)) return;
  while (const icu::UnicodeString* const id = ids->snext(error)) {
    icu::UnicodeString city;
    add(zones->getExemplarLocationName(*id, city));
  }
}

}  // namespace trivium
