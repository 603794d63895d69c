# Tests over the whole: damaged models, threads, the rules of the source tree, real models.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# Nothing but errors with context and valid runs, on messages and on damaged models.
file(GLOB hostile_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/hostile/*.cpp)
add_executable(hostile ${hostile_sources})
target_link_libraries(hostile PRIVATE treadle_internal)
add_test(NAME hostile COMMAND hostile --mutations 2400 --extra 600
  --keep ${PROJECT_BINARY_DIR}/hostile_failures
  ${CMAKE_CURRENT_SOURCE_DIR}/models ${PROJECT_SOURCE_DIR}/../shared/models)
set_tests_properties(hostile PROPERTIES TIMEOUT 1500)

foreach(name threads hostile_messages)
  add_executable(${name}_test ${name}_test.cpp)
  target_link_libraries(${name}_test PRIVATE treadle_internal GTest::gtest_main)
  target_include_directories(${name}_test PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  add_test(NAME ${name} COMMAND ${name}_test)
endforeach()

# The bench suite, with programs that the test writes.
add_executable(suite_test suite_test.cpp)
target_link_libraries(suite_test PRIVATE treadle_cli GTest::gtest_main)
target_include_directories(suite_test PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(suite_test PRIVATE TREADLE_SUITES="${PROJECT_SOURCE_DIR}/bench/suites")
add_test(NAME bench_suite COMMAND suite_test)
# The entries of the quick suite run, and their outputs are right; what they measure is not looked at.
if(TARGET treadle_command AND NOT TREADLE_SANITIZE)
  add_test(NAME bench_suite_quick COMMAND treadle_command bench suite
    ${PROJECT_SOURCE_DIR}/bench/suites/quick.toml --rounds 1 --time 0.01)
  set_tests_properties(bench_suite_quick PROPERTIES TIMEOUT 900)
endif()

# The objects of sanitizer builds hold what the sanitizers put there.
if(TREADLE_SANITIZE)
  set(committed_only --committed-only)
  add_test(NAME structure COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/structure/check.py)
else()
  add_test(NAME structure COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/structure/check.py
    --build ${PROJECT_BINARY_DIR})
endif()

if(TARGET treadle_command)
  add_test(NAME models COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/models/run.py
    --treadle $<TARGET_FILE:treadle_command> ${committed_only})
  set_tests_properties(models PROPERTIES TIMEOUT 1500)
endif()

# Whole vision models on the simulated device; those in f16 where the test environment is there.
if(TARGET treadle_command AND NOT TREADLE_SANITIZE)
  set(models_python ${Python3_EXECUTABLE})
  if(EXISTS ${TREADLE_PYTHON})
    set(models_python ${TREADLE_PYTHON})
  endif()
  add_test(NAME gpu_models COMMAND ${models_python} ${CMAKE_CURRENT_SOURCE_DIR}/gpu_models/run.py
    --treadle $<TARGET_FILE:treadle_command>)
  set_tests_properties(gpu_models PROPERTIES TIMEOUT 1500 LABELS full)
  if(TARGET treadle_softmetal_command)
    add_test(NAME gpu_models_metal COMMAND ${models_python}
      ${CMAKE_CURRENT_SOURCE_DIR}/gpu_models/run.py --treadle $<TARGET_FILE:treadle_softmetal_command>
      --target metal)
    set_tests_properties(gpu_models_metal PROPERTIES ENVIRONMENT ${softmetal_cache} TIMEOUT 3000 LABELS full)
  endif()
endif()

# What scripts/test.sh builds under sanitizers: everything that a test runs, no micro-benchmarks.
set(suite_targets hostile threads_test hostile_messages_test)
get_property(all_targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
foreach(target IN LISTS all_targets)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    list(APPEND suite_targets ${target})
  endif()
endforeach()
foreach(target treadle_command faces softmetal_test)
  if(TARGET ${target})
    list(APPEND suite_targets ${target})
  endif()
endforeach()
list(REMOVE_DUPLICATES suite_targets)
add_custom_target(suite DEPENDS ${suite_targets})
