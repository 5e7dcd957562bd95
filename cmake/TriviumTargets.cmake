# Compile and link options that every target of the project shares.
add_library(trivium_options INTERFACE)
target_compile_features(trivium_options INTERFACE cxx_std_20)
target_include_directories(trivium_options INTERFACE ${PROJECT_SOURCE_DIR})
# -ffp-contract=off: a fused multiply-add appears only where the code asks for
# one, so that every compiler rounds alike (see "Batch invariance").
# -ffile-prefix-map: programs do not tell where they were built, and what was
# compiled for one clone serves another (ccache).
target_compile_options(trivium_options INTERFACE
  -Wall -Wextra -Wno-unused-parameter -ffp-contract=off
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety -Werror=thread-safety>)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  # As char is on x86.
  target_compile_options(trivium_options INTERFACE -fsigned-char)
endif()
if(TRIVIUM_ASSERTIONS)
  # Indices of the C++ library are checked as in a hardened program, so that
  # tests see what would end one.
  target_compile_options(trivium_options INTERFACE -UNDEBUG)
  target_compile_definitions(trivium_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(TRIVIUM_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "TRIVIUM_FUZZERS needs clang: its libFuzzer")
  endif()
  set(TRIVIUM_SANITIZE fuzzer-no-link,address,undefined)
endif()
if(TRIVIUM_SANITIZE)
  target_compile_options(trivium_options INTERFACE
    -fsanitize=${TRIVIUM_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(trivium_options INTERFACE
    -fsanitize=${TRIVIUM_SANITIZE})
  if(NOT TRIVIUM_FUZZERS)
    # Half of the time that it takes to compile: a null pointer ends a program
    # by itself, the end of an object is the address sanitizer's. The preset
    # fuzz has all of them.
    target_compile_options(trivium_options INTERFACE
      -fno-sanitize=null,object-size,alignment,vptr)
  endif()
endif()

# In what targets pass on when they are linked: whether that makes a program,
# not a module of Python's.
set(trivium_is_program $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)

# What ends a program whose memory is about to be spoiled, and makes that hard to
# use: protected stacks, checked calls of the C library and indices of the C++
# library, random addresses, tables of functions that are read only.
add_library(trivium_hardened INTERFACE)
target_compile_options(trivium_hardened INTERFACE
  -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:POSITION_INDEPENDENT_CODE>>>:-fPIE>)
target_compile_definitions(trivium_hardened INTERFACE _GLIBCXX_ASSERTIONS)
target_link_options(trivium_hardened INTERFACE
  $<${trivium_is_program}:-pie> -Wl,-z,relro,-z,now,-z,noexecstack)
if(TRIVIUM_HARDENED)
  target_link_libraries(trivium_options INTERFACE trivium_hardened)
endif()

# trivium_check_hardened(PROGRAM): building it fails where it is not.
function(trivium_check_hardened program)
  add_custom_command(TARGET ${program} POST_BUILD VERBATIM
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${program}>
            -DREADELF=${CMAKE_READELF}
            -P ${PROJECT_SOURCE_DIR}/cmake/CheckHardened.cmake)
endfunction()

# Files of a folder that are compiled together, so that the headers they share
# are read once: a third of the time of a build from nothing. A file must not
# lean on what another includes or names, so the preset dev compiles each by
# itself. Those that cannot share are marked SKIP_UNITY_BUILD_INCLUSION.
set(trivium_files_at_once 8 CACHE STRING "Files that are compiled at once")
function(trivium_compile_together name)
  if(TRIVIUM_UNITY)
    set_target_properties(${name} PROPERTIES
      UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${trivium_files_at_once})
  endif()
endfunction()

# trivium_library(NAME [DEPENDENCY...]): the library of the calling folder,
# made of its *.cc (not of its subfolders').
function(trivium_library name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "main\\.cc$")
  if(sources)
    add_library(${name} STATIC ${sources})
    trivium_compile_together(${name})
    target_link_libraries(${name} PUBLIC trivium_options ${ARGN})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE trivium_options ${ARGN})
  endif()
endfunction()

# What the programs of a test are made of beside its own sources.
set(trivium_test_sources)
set(trivium_test_libraries)
if(TRIVIUM_SANITIZE STREQUAL "thread")
  set(trivium_test_sources ${PROJECT_SOURCE_DIR}/tests/tsan/abseil.cc)
  set(trivium_test_libraries absl::status absl::synchronization absl::cord)
endif()

# trivium_test(NAME [DEPENDENCY...]): one program of the calling folder's
# *_test.cc, run by ctest.
function(trivium_test name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  if(sources)
    add_executable(${name} ${sources} ${trivium_test_sources})
    trivium_compile_together(${name})
    target_link_libraries(${name} PRIVATE trivium_options ${ARGN}
                          ${trivium_test_libraries}
                          GTest::gmock GTest::gtest_main)
    add_test(NAME ${name} COMMAND ${name}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  endif()
endfunction()

# The instruction sets that tests are repeated at, where the machine has them;
# "best" is the machine's own, "above-avx2" the same where it is more. What
# sanitizers find is hardly ever of one instruction set alone: threads meet at
# the same places in all of them.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(trivium_all_isas neon)
else()
  set(trivium_all_isas avx2 avx512 vnni bf16 amx)
endif()
set(trivium_test_isas ${trivium_all_isas})
if(TRIVIUM_SANITIZE STREQUAL "thread")
  set(trivium_test_isas best)
elseif(TRIVIUM_SANITIZE AND "avx2" IN_LIST trivium_all_isas)
  set(trivium_test_isas avx2 above-avx2)
endif()

# Of the test files that a variable lists, those that have to do with threads:
# in the others the thread sanitizer has nothing to find.
function(trivium_keep_threaded variable)
  foreach(source ${${variable}})
    file(STRINGS ${source} threads REGEX "thread" LIMIT_COUNT 1)
    if(threads)
      list(APPEND kept ${source})
    endif()
  endforeach()
  set(${variable} ${kept} PARENT_SCOPE)
endfunction()

# trivium_isa_test(NAME [DEPENDENCY...]): the same, run once at each of
# trivium_test_isas.
function(trivium_isa_test name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  if(TRIVIUM_SANITIZE STREQUAL "thread")
    trivium_keep_threaded(sources)
  endif()
  add_executable(${name} ${sources}
                 ${PROJECT_SOURCE_DIR}/tests/support/isa_main.cc)
  trivium_compile_together(${name})
  target_link_libraries(${name} PRIVATE trivium_options trivium_kernels
                        ${ARGN} GTest::gmock GTest::gtest)
  foreach(isa ${trivium_test_isas})
    add_test(NAME ${name}.${isa} COMMAND ${name} --isa=${isa}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${name}.${isa} PROPERTIES SKIP_RETURN_CODE 77)
  endforeach()
endfunction()
