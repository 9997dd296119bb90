# What is installed beside programs and libraries: find_package(podprof), pkg-config, pages, examples. Included last by CMakeLists.txt.
include(CMakePackageConfigHelpers)
include(podprofNotices)

# podprof::podprof is an include directory and nothing else: podprof.h looks the collector up at run time.
add_library(podprof_header INTERFACE)
set_target_properties(podprof_header PROPERTIES EXPORT_NAME podprof)
target_include_directories(podprof_header INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/core>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set(podprof_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/podprof)
install(TARGETS podprof_header EXPORT podprofTargets)
install(EXPORT podprofTargets NAMESPACE podprof:: DESTINATION ${podprof_cmake_dir})
export(EXPORT podprofTargets NAMESPACE podprof:: FILE ${PROJECT_BINARY_DIR}/podprofTargets.cmake)
set(PODPROF_FORTRAN ${CMAKE_INSTALL_DATADIR}/podprof/fortran/podprof.f90)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/podprofConfig.cmake.in ${PROJECT_BINARY_DIR}/installed/podprofConfig.cmake
  INSTALL_DESTINATION ${podprof_cmake_dir} PATH_VARS PODPROF_INSTALL_PLUGINDIR PODPROF_FORTRAN NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/podprofConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/installed/podprofConfig.cmake ${PROJECT_BINARY_DIR}/podprofConfigVersion.cmake
  DESTINATION ${podprof_cmake_dir})

# The build tree can be used as it stands: -Dpodprof_DIR=BUILD.
file(WRITE ${PROJECT_BINARY_DIR}/podprofConfig.cmake "include(\"\${CMAKE_CURRENT_LIST_DIR}/podprofTargets.cmake\")
set(podprof_LIBRARY_DIR \"\${CMAKE_CURRENT_LIST_DIR}/lib\")
set(podprof_FORTRAN_SOURCE \"${PROJECT_SOURCE_DIR}/core/marks/podprof.f90\")\n")

# Paths of podprof.pc are relative to the file, so that a moved prefix stays right.
file(RELATIVE_PATH PODPROF_PC_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" PODPROF_PC_PREFIX "${PODPROF_PC_PREFIX}")
configure_file(${PROJECT_SOURCE_DIR}/core/podprof.pc.in ${PROJECT_BINARY_DIR}/podprof.pc @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/core/marks/podprof-marks.pc.in ${PROJECT_BINARY_DIR}/podprof-marks.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/podprof.pc ${PROJECT_BINARY_DIR}/podprof-marks.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# What `podprof run` puts on PYTHONPATH; run by the job's own Python, whichever it is, so nothing is compiled ahead.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/launchers/python DESTINATION ${PODPROF_INSTALL_PLUGINDIR}
  FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)

install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.png" PATTERN "*.svg")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN "CMakeLists.txt" EXCLUDE
  PATTERN "__pycache__" EXCLUDE)

# The program prints its pages and completions from the tables that it reads itself; a cross-built one cannot run here.
if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
  set(pp_pages ${PROJECT_BINARY_DIR}/man)
  set(pp_completion ${PROJECT_BINARY_DIR}/completion)
  set(pp_run ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0 $<TARGET_FILE:podprof_cli>)
  file(MAKE_DIRECTORY ${pp_pages} ${pp_completion})
  add_custom_command(OUTPUT ${pp_pages}/podprof.1 ${pp_completion}/podprof ${pp_completion}/_podprof ${pp_completion}/podprof.fish
    COMMAND ${pp_run} man ${pp_pages}
    COMMAND ${pp_run} completion bash > ${pp_completion}/podprof
    COMMAND ${pp_run} completion zsh > ${pp_completion}/_podprof
    COMMAND ${pp_run} completion fish > ${pp_completion}/podprof.fish
    DEPENDS podprof_cli COMMENT "Printing man pages and shell completion" VERBATIM)
  add_custom_target(pages ALL DEPENDS ${pp_pages}/podprof.1)
  install(DIRECTORY ${pp_pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${pp_completion}/podprof DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  set(PODPROF_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "where zsh looks for completions")
  install(FILES ${pp_completion}/_podprof DESTINATION ${PODPROF_ZSH_DIR})
  install(FILES ${pp_completion}/podprof.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
