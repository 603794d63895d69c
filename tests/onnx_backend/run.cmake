# Finds the ONNX backend tests and runs RUNNER on them. Arguments: RUNNER, EXPECT (the list of tests
# that do not pass), WORK (a folder to unpack to), MODELS (a folder that may hold the packed tests),
# PYTHON (an interpreter with the package onnx, which can make the same data).
set(archive ${MODELS}/onnx_backend/onnx_backend_tests.tar.xz)
set(data ${WORK}/data)
if(NOT EXISTS ${WORK}/complete)
  file(REMOVE_RECURSE ${data})
  file(MAKE_DIRECTORY ${data})
  if(EXISTS ${archive})
    file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${data})
  else()
    execute_process(COMMAND ${PYTHON} ${CMAKE_CURRENT_LIST_DIR}/generate.py ${data}
      RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
    if(failed)
      message(FATAL_ERROR "no ${archive}, and ${PYTHON} cannot make the data; run `make setup`")
    endif()
    file(TOUCH ${data}/generated)
  endif()
  file(TOUCH ${WORK}/complete)
endif()
if(EXISTS ${data}/generated)
  set(may --may ${CMAKE_CURRENT_LIST_DIR}/expected_generated.tsv)
endif()
execute_process(COMMAND ${RUNNER} ${data} --session --quiet --expect ${EXPECT} ${may}
  RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "ONNX backend tests are not as ${EXPECT} says")
endif()
