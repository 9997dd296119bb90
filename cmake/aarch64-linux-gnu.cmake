# Toolchain of Debian's cross compiler: cmake -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64-linux-gnu.cmake -DPODPROF_KEEPER=OFF
# builds what goes into the application (and proto/) for aarch64; qemu-user runs its unit tests here. Used by tests/cross.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
find_program(PODPROF_QEMU NAMES qemu-aarch64-static qemu-aarch64)
if(PODPROF_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${PODPROF_QEMU} -L /usr/aarch64-linux-gnu)
endif()
