# pp_net: messages between keepers of several hosts, and how they find each other. In: pp_message, libzmq, PODPROF_STATIC. Out: the
# target, or why it is off. The archive keeps libzmq and the twelve libraries behind it (multicast, Kerberos) out of the keeper's needs.
find_path(PODPROF_ZMQ_INCLUDE zmq.h)
find_library(PODPROF_ZMQ zmq)
mark_as_advanced(PODPROF_ZMQ_INCLUDE PODPROF_ZMQ)
if(NOT TARGET pp_message OR NOT PODPROF_ZMQ OR NOT PODPROF_ZMQ_INCLUDE)
  message(STATUS "Messages between hosts are not built: keepers' messages or libzmq is missing (libzmq3-dev)")
  return()
endif()
include(CheckCSourceCompiles)
set(pp_keeper ${PROJECT_SOURCE_DIR}/aggregate/keeper)
set(pp_zmq ${PODPROF_ZMQ})
set(pp_zmq_options)

if(PODPROF_STATIC)
  find_library(PODPROF_ZMQ_A NAMES libzmq.a)
  find_library(PODPROF_SODIUM_A NAMES libsodium.a)
  mark_as_advanced(PODPROF_ZMQ_A PODPROF_SODIUM_A)
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libstdc++.a OUTPUT_VARIABLE pp_stdcxx OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(PODPROF_ZMQ_A AND PODPROF_SODIUM_A AND IS_ABSOLUTE "${pp_stdcxx}")
    file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/zmq_left_out.list pp_symbols REGEX "^[^#]")
    foreach(symbol IN LISTS pp_symbols)
      list(APPEND pp_zmq_options LINKER:--defsym=${symbol}=pp_net_left_out)
    endforeach()
    list(APPEND pp_zmq_options LINKER:-u,pp_net_left_out LINKER:--defsym=strlcpy=pp_net_copy_text
      LINKER:--defsym=arc4random=pp_net_random LINKER:--defsym=_dl_find_object=pp_net_find_object -static-libgcc)
    set(CMAKE_REQUIRED_INCLUDES ${PODPROF_ZMQ_INCLUDE})
    set(CMAKE_REQUIRED_LINK_OPTIONS ${pp_zmq_options})
    set(CMAKE_REQUIRED_LIBRARIES ${PODPROF_ZMQ_A} ${PODPROF_SODIUM_A} ${pp_stdcxx} m pthread)
    check_c_source_compiles("
      #include <stddef.h>
      #include <zmq.h>
      int pp_net_left_out(void) { return 1; }
      size_t pp_net_copy_text(char *to, const char *from, size_t size) { return to && from && size; }
      int pp_net_random(void) { return 1; }
      int pp_net_find_object(void *address, void *result) { return address && result; }
      int main(void) { return zmq_ctx_new() == NULL; }" PODPROF_ZMQ_ARCHIVE_LINKS)
    unset(CMAKE_REQUIRED_INCLUDES)
    unset(CMAKE_REQUIRED_LINK_OPTIONS)
    unset(CMAKE_REQUIRED_LIBRARIES)
  endif()
  if(PODPROF_ZMQ_ARCHIVE_LINKS)
    set(pp_zmq ${PODPROF_ZMQ_A} ${PODPROF_SODIUM_A} ${pp_stdcxx} m pthread)
  else()
    set(pp_zmq_options)
    message(STATUS "libzmq is linked as a shared library: there is no archive of it, or of libsodium, that links")
  endif()
endif()

add_library(pp_net STATIC ${pp_keeper}/net/rendezvous_point.c ${pp_keeper}/net/net.c ${pp_keeper}/net/net_left_out.c
  ${pp_keeper}/net/net_socket.c ${pp_keeper}/net/rendezvous.c ${pp_keeper}/net/star.c)
target_include_directories(pp_net SYSTEM PRIVATE ${PODPROF_ZMQ_INCLUDE})
target_link_libraries(pp_net PUBLIC pp_flags pp_core pp_message PRIVATE ${pp_zmq})
target_link_options(pp_net INTERFACE ${pp_zmq_options})
