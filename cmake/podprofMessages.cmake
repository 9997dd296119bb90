# pp_message: keepers' messages, generated from proto/podprof.proto by protobuf-c. In: PODPROF_STATIC. Out: the target, or why it is off.
find_program(PODPROF_PROTOC_C protoc-c)
find_path(PODPROF_PROTOBUF_C_INCLUDE protobuf-c/protobuf-c.h)
find_library(PODPROF_PROTOBUF_C protobuf-c)
find_library(PODPROF_PROTOBUF_C_A NAMES libprotobuf-c.a)
find_package(ZLIB)
mark_as_advanced(PODPROF_PROTOC_C PODPROF_PROTOBUF_C PODPROF_PROTOBUF_C_A PODPROF_PROTOBUF_C_INCLUDE)

if(NOT PODPROF_PROTOC_C OR NOT PODPROF_PROTOBUF_C OR NOT PODPROF_PROTOBUF_C_INCLUDE OR NOT ZLIB_FOUND OR CMAKE_CROSSCOMPILING)
  message(STATUS "Keepers' messages are not built: protoc-c, protobuf-c or zlib is missing (protobuf-c-compiler, libprotobuf-c-dev, zlib1g-dev)")
  return()
endif()
set(pp_protobuf_c ${PODPROF_PROTOBUF_C})
if(PODPROF_STATIC AND PODPROF_PROTOBUF_C_A)
  set(pp_protobuf_c ${PODPROF_PROTOBUF_C_A})
endif()

add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/proto/podprof.pb-c.c ${PROJECT_BINARY_DIR}/proto/podprof.pb-c.h
  COMMAND ${PODPROF_PROTOC_C} --c_out=${PROJECT_BINARY_DIR}/proto -I${PROJECT_SOURCE_DIR}/proto ${PROJECT_SOURCE_DIR}/proto/podprof.proto
  DEPENDS ${PROJECT_SOURCE_DIR}/proto/podprof.proto VERBATIM)
set_source_files_properties(${PROJECT_BINARY_DIR}/proto/podprof.pb-c.c PROPERTIES COMPILE_OPTIONS -w)
add_library(pp_message STATIC ${PROJECT_SOURCE_DIR}/proto/message.c ${PROJECT_BINARY_DIR}/proto/podprof.pb-c.c)
target_include_directories(pp_message SYSTEM PRIVATE ${PODPROF_PROTOBUF_C_INCLUDE})
target_link_libraries(pp_message PUBLIC pp_flags pp_core PRIVATE ${pp_protobuf_c} ZLIB::ZLIB)

# pp_perfetto: the rare packets of Perfetto traces, generated from proto/perfetto.proto.
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/proto/perfetto.pb-c.c ${PROJECT_BINARY_DIR}/proto/perfetto.pb-c.h
  COMMAND ${PODPROF_PROTOC_C} --c_out=${PROJECT_BINARY_DIR}/proto -I${PROJECT_SOURCE_DIR}/proto ${PROJECT_SOURCE_DIR}/proto/perfetto.proto
  DEPENDS ${PROJECT_SOURCE_DIR}/proto/perfetto.proto VERBATIM)
set_source_files_properties(${PROJECT_BINARY_DIR}/proto/perfetto.pb-c.c PROPERTIES COMPILE_OPTIONS -w)
add_library(pp_perfetto STATIC ${PROJECT_SOURCE_DIR}/proto/perfetto_rare.c ${PROJECT_BINARY_DIR}/proto/perfetto.pb-c.c)
target_include_directories(pp_perfetto SYSTEM PUBLIC ${PROJECT_BINARY_DIR}/proto ${PODPROF_PROTOBUF_C_INCLUDE})
target_link_libraries(pp_perfetto PUBLIC pp_flags PRIVATE ${pp_protobuf_c})
