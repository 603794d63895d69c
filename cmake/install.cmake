# The installable library libtreadle, its package files, and the command.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
# Debian's RE2 comes without a CMake package; linked by name, it needs none where treadle is used.
find_library(TREADLE_RE2 re2 REQUIRED)

target_link_libraries(treadle_internal PUBLIC ZLIB::ZLIB PNG::PNG JPEG::JPEG re2)
if(TARGET treadle_api)
  target_compile_definitions(treadle_api PRIVATE TREADLE_VERSION="${PROJECT_VERSION}")

  # Shared or static, as BUILD_SHARED_LIBS says.
  add_library(treadle ${TREADLE_OBJECTS})
  add_library(treadle::treadle ALIAS treadle)
  set_target_properties(treadle PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_include_directories(treadle PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(treadle PUBLIC cxx_std_20)
  target_link_libraries(treadle PRIVATE $<BUILD_INTERFACE:treadle_options> fmt::fmt Threads::Threads ZLIB::ZLIB PNG::PNG JPEG::JPEG re2)

  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/treadle)
  install(TARGETS treadle EXPORT treadle_targets)
  install(EXPORT treadle_targets FILE treadle-targets.cmake NAMESPACE treadle:: DESTINATION ${package_dir})
  configure_package_config_file(cmake/treadle-config.cmake.in
    ${PROJECT_BINARY_DIR}/treadle-config.cmake INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/treadle-config-version.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/treadle-config.cmake
    ${PROJECT_BINARY_DIR}/treadle-config-version.cmake DESTINATION ${package_dir})
  install(FILES include/treadle/treadle.hpp include/treadle/treadle.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/treadle)
  # The prefix is known to the install step only: pkg-config finds it from the file's own place.
  file(RELATIVE_PATH pc_to_prefix /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
  configure_file(cmake/treadle.pc.in ${PROJECT_BINARY_DIR}/treadle.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/treadle.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

if(TARGET treadle_command)
  install(TARGETS treadle_command)
endif()
install(DIRECTORY cmake/notices/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/notices)
if(EXISTS ${PROJECT_SOURCE_DIR}/LICENSE)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()
