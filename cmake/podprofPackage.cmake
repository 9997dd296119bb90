# The tarball: `cpack` in the build directory packs what `cmake --install` installs. Included last by CMakeLists.txt.
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME podprof)
set(CPACK_PACKAGE_VENDOR "the podprof authors")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "profile a whole training job: every rank, one window, one answer")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
string(TOLOWER ${CMAKE_SYSTEM_NAME} pp_system)
set(CPACK_PACKAGE_FILE_NAME podprof-${PROJECT_VERSION}-${pp_system}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_STRIP_FILES ON)
# Modes must not follow the umask of who packs.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
