# Compile and link options of all targets of the project.
add_library(trivium_options INTERFACE)
target_compile_features(trivium_options INTERFACE cxx_std_20)
target_include_directories(trivium_options INTERFACE ${PROJECT_SOURCE_DIR})
# -ffp-contract=off: a fused multiply-add appears only where the code asks for
# one, so that all compilers round alike (see "Batch invariance").
# -ffile-prefix-map: programs do not contain the path that they were built in,
# and ccache can reuse in one clone what was compiled for another.
target_compile_options(trivium_options INTERFACE
  -Wall -Wextra -Wno-unused-parameter -ffp-contract=off
  -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety -Werror=thread-safety>)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  # Makes char signed, as it is on x86.
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
    # Leaving these checks out halves the time to compile. A null pointer ends a
    # program anyway, and the address sanitizer checks what any other pointer
    # reads. The preset fuzz has all checks.
    target_compile_options(trivium_options INTERFACE
      -fno-sanitize=null,object-size,alignment,vptr,pointer-overflow)
  endif()
endif()

# A generator expression for link options that targets pass on. True if the
# linked target is a program, and not a Python module.
set(trivium_is_program $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)

# Options that end a program before its memory is corrupted, and that make
# corruption hard to exploit: protected stacks, checked calls of the C library,
# checked indices of the C++ library, random addresses, read-only tables of
# functions.
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

# trivium_check_hardened(PROGRAM): the build fails if the program is not
# hardened.
function(trivium_check_hardened program)
  add_custom_command(TARGET ${program} POST_BUILD VERBATIM
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${program}>
            -DREADELF=${CMAKE_READELF}
            -P ${PROJECT_SOURCE_DIR}/cmake/CheckHardened.cmake)
endfunction()

# The number of files of a folder that are compiled together. Their common
# headers and templates are then compiled once: client/commands took 188 s of a
# processor with eight files at once, and 78 s with all. 50 are enough for all of
# most folders; a rest of one to nine files would take 4 to 5 s more. A file must
# not depend on the includes or names of another, so the preset dev compiles each
# by itself.
# Files that cannot share are marked SKIP_UNITY_BUILD_INCLUSION.
set(trivium_files_at_once 50 CACHE STRING "Files that are compiled at once")
function(trivium_compile_together name)
  if(TRIVIUM_UNITY)
    set_target_properties(${name} PROPERTIES
      UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${trivium_files_at_once})
  endif()
endfunction()

# A release compiles most code with -O2, and with the two functions below what
# deserves more or less. Measured on one file alone: -O1 took 12.2 s of
# compiling, -O3 19.6 s.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE
         "${CMAKE_CXX_FLAGS_RELEASE}")
endif()

# trivium_runs_hot(NAME): for the arithmetic.
function(trivium_runs_hot name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O3>)
endfunction()

# trivium_runs_seldom(NAME): for what runs once a start, model, command or request,
# and not for each token.
function(trivium_runs_seldom name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# Only what is judged counts its lines. Everything else, such as tests, is
# compiled as in the preset test, so that ccache has it.
if(TRIVIUM_COVERAGE)
  target_link_options(trivium_options INTERFACE --coverage)
endif()
function(trivium_count_lines name)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR
             BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  if(TRIVIUM_COVERAGE AND folder MATCHES "${TRIVIUM_COVERAGE}")
    target_compile_options(${name} PRIVATE --coverage)
  endif()
endfunction()

# trivium_library(NAME [DEPENDENCY...]): defines the library of the calling
# folder: its *.cc, without those of subfolders.
function(trivium_library name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "main\\.cc$")
  if(sources)
    add_library(${name} STATIC ${sources})
    trivium_compile_together(${name})
    trivium_count_lines(${name})
    target_link_libraries(${name} PUBLIC trivium_options ${ARGN})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE trivium_options ${ARGN})
  endif()
endfunction()

# Object files that every test program contains besides its own sources.
set(trivium_test_sources)
set(trivium_test_libraries)
if(TRIVIUM_SANITIZE STREQUAL "thread")
  set(trivium_test_sources ${PROJECT_SOURCE_DIR}/tests/tsan/abseil.cc)
  set(trivium_test_libraries absl::status absl::synchronization absl::cord)
endif()

# trivium_test(NAME [DEPENDENCY...]): builds one program of the calling folder's
# *_test.cc, which ctest runs.
function(trivium_test name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  if(sources)
    add_executable(${name} ${sources} ${trivium_test_sources})
    trivium_compile_together(${name})
    target_link_libraries(${name} PRIVATE trivium_options ${ARGN}
                          ${trivium_test_libraries} trivium_error_texts
                          trivium_patience
                          GTest::gmock GTest::gtest_main)
    add_test(NAME ${name} COMMAND ${name}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  endif()
endfunction()

# The instruction sets that tests are repeated with, if the machine has them.
# "best" is the machine's best; "above-avx2" is the same if it is better than
# AVX2. Sanitizers use the best alone, but for kernels_test: what they find
# hardly ever depends on the instruction set.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(trivium_all_isas neon)
else()
  set(trivium_all_isas avx2 avx512 vnni bf16 amx)
endif()
set(trivium_test_isas ${trivium_all_isas})
if(TRIVIUM_SANITIZE)
  set(trivium_test_isas best)
endif()

# trivium_keep_threaded(VARIABLE): keeps the listed test files that use threads.
# The thread sanitizer can find nothing in the others.
function(trivium_keep_threaded variable)
  foreach(source ${${variable}})
    file(STRINGS ${source} threads REGEX "thread" LIMIT_COUNT 1)
    if(threads)
      list(APPEND kept ${source})
    endif()
  endforeach()
  set(${variable} ${kept} PARENT_SCOPE)
endfunction()

# trivium_isa_test(NAME [DEPENDENCY...]): as trivium_test, but ctest runs the
# program once with each of trivium_test_isas.
function(trivium_isa_test name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  if(TRIVIUM_SANITIZE STREQUAL "thread")
    trivium_keep_threaded(sources)
  endif()
  add_executable(${name} ${sources}
                 ${PROJECT_SOURCE_DIR}/tests/support/isa_main.cc)
  trivium_compile_together(${name})
  target_link_libraries(${name} PRIVATE trivium_options trivium_kernels
                        ${ARGN} trivium_error_texts trivium_patience GTest::gmock
                        GTest::gtest)
  foreach(isa ${trivium_test_isas})
    add_test(NAME ${name}.${isa} COMMAND ${name} --isa=${isa}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${name}.${isa} PROPERTIES SKIP_RETURN_CODE 77)
  endforeach()
endfunction()
