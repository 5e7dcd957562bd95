#ifndef TRIVIUM_SERVER_OBSERVABILITY_VERSION_H_
#define TRIVIUM_SERVER_OBSERVABILITY_VERSION_H_

namespace trivium {

// The project's version, from CMake.
inline constexpr char kVersion[] = TRIVIUM_VERSION;

}  // namespace trivium

#endif  // TRIVIUM_SERVER_OBSERVABILITY_VERSION_H_
