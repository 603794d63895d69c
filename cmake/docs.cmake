# Tests that documents and examples are true.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME docs_operators
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/operators_doc.py --check)
add_test(NAME docs_links
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/docs_links.py)
if(TARGET faces)
  set(models ${PROJECT_SOURCE_DIR}/tests/models)
  add_test(NAME example_faces COMMAND faces ${models}/onnx/yunet_n_dynamic/model.onnx
    ${models}/media/grace_hopper.jpg ${PROJECT_BINARY_DIR}/faces.png)
  set_tests_properties(example_faces PROPERTIES PASS_REGULAR_EXPRESSION "517 x 606 pixels, 1 face\n")
endif()
