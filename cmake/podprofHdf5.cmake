# pp_hdf5: HDF5 and all it needs, as an interface target. In: PODPROF_STATIC. Out: the archive where it links, else the shared library.
# The archive keeps 30 libraries (curl, TLS, Kerberos, LDAP) out of the keeper: they serve HDF5's S3 driver, which nothing here calls.
option(PODPROF_STATIC "link HDF5 and zlib as archives, so that podprof runs in other images" ON)
find_package(HDF5 REQUIRED COMPONENTS C HL)
find_package(ZLIB REQUIRED)
include(CheckCSourceCompiles)

add_library(pp_hdf5 INTERFACE)
target_include_directories(pp_hdf5 SYSTEM INTERFACE ${HDF5_C_INCLUDE_DIRS} ${ZLIB_INCLUDE_DIRS})

set(pp_archives)
if(PODPROF_STATIC)
  set(pp_hdf5_dirs)
  foreach(library IN LISTS HDF5_HL_LIBRARIES HDF5_C_LIBRARIES)
    get_filename_component(dir "${library}" DIRECTORY)
    list(APPEND pp_hdf5_dirs "${dir}")
  endforeach()
  list(REMOVE_DUPLICATES pp_hdf5_dirs)
  find_library(PODPROF_HDF5_HL_A NAMES libhdf5_hl.a libhdf5_serial_hl.a HINTS ${pp_hdf5_dirs})
  find_library(PODPROF_HDF5_A NAMES libhdf5.a libhdf5_serial.a HINTS ${pp_hdf5_dirs})
  find_library(PODPROF_SZ_A NAMES libsz.a)
  find_library(PODPROF_AEC_A NAMES libaec.a)
  find_library(PODPROF_Z_A NAMES libz.a)
  mark_as_advanced(PODPROF_HDF5_HL_A PODPROF_HDF5_A PODPROF_SZ_A PODPROF_AEC_A PODPROF_Z_A)
  # An HDF5 without szip names no libsz: leave out what is not there and let the linker decide.
  foreach(archive IN ITEMS ${PODPROF_HDF5_HL_A} ${PODPROF_HDF5_A} ${PODPROF_SZ_A} ${PODPROF_AEC_A} ${PODPROF_Z_A})
    if(archive)
      list(APPEND pp_archives ${archive})
    endif()
  endforeach()
  set(CMAKE_REQUIRED_INCLUDES ${HDF5_C_INCLUDE_DIRS} ${ZLIB_INCLUDE_DIRS})
  set(CMAKE_REQUIRED_LIBRARIES ${pp_archives} m ${CMAKE_DL_LIBS} pthread)
  check_c_source_compiles("
    #include <hdf5.h>
    #include <hdf5_hl.h>
    #include <zlib.h>
    int main(void) { return H5open() + (int)H5DSis_scale(0) + (zlibVersion() == 0); }" PODPROF_HDF5_ARCHIVE_LINKS)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
endif()

if(PODPROF_STATIC AND PODPROF_HDF5_ARCHIVE_LINKS)
  set(PODPROF_LINKED static)
  target_link_libraries(pp_hdf5 INTERFACE ${pp_archives} m ${CMAKE_DL_LIBS})
else()
  set(PODPROF_LINKED shared)
  message(STATUS "HDF5 and zlib are linked as shared libraries: PODPROF_STATIC is ${PODPROF_STATIC}, or no archive of HDF5 that links")
  target_link_libraries(pp_hdf5 INTERFACE ${HDF5_HL_LIBRARIES} ${HDF5_C_LIBRARIES} ZLIB::ZLIB m)
endif()
