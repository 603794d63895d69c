# The `treadle` command. Everything but main and the allocation counter is a library of its own, so
# that tests/cli_*_test.cpp can link it.
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
# Its headers alone, which lie where the compiler looks: the target would link its library.
find_package(tomlplusplus REQUIRED)

set(TREADLE_COMMIT "unknown")
find_package(Git QUIET)
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(TREADLE_COMMIT "${commit}")
  endif()
endif()
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}}" TREADLE_FLAGS)
configure_file(${PROJECT_SOURCE_DIR}/cmake/build_info.hpp.in
  ${PROJECT_BINARY_DIR}/generated/cli/build_info.hpp @ONLY)

list(FILTER cli_sources EXCLUDE REGEX "/(main|allocations)\\.cpp$")
# CLI11 (or toml++) is most of what these files cost to compile, and no loop in them is worth more.
foreach(source IN LISTS cli_sources)
  if(source MATCHES "/([a-z]+_command|command|inputs|model_args|suite_manifest)\\.cpp$" AND CMAKE_BUILD_TYPE STREQUAL "Release")
    set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-O1")
  endif()
endforeach()
add_library(treadle_cli STATIC ${cli_sources})
target_include_directories(treadle_cli PRIVATE ${PROJECT_BINARY_DIR}/generated)
target_link_libraries(treadle_cli
  PUBLIC treadle_internal nlohmann_json::nlohmann_json CLI11::CLI11)
if(TREADLE_PCH)
  target_precompile_headers(treadle_cli REUSE_FROM treadle_base)
endif()

add_executable(treadle_command src/cli/main.cpp src/cli/allocations.cpp)
set_target_properties(treadle_command PROPERTIES
  OUTPUT_NAME treadle RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_link_libraries(treadle_command PRIVATE treadle_cli)
if(TREADLE_SANITIZE)
  # The sanitizers bring their own malloc.
  target_compile_definitions(treadle_command PRIVATE TREADLE_NO_ALLOCATION_COUNT)
endif()
