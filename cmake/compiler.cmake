# Language, warnings, sanitizers: the same for every target.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
add_compile_definitions(_GNU_SOURCE) # POSIX, O_PATH, asprintf: no file defines it by itself
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
endif()

# Asserts are for the builds of who writes the code (dev, asan). Whatever else is built, also with CMAKE_BUILD_TYPE=None as
# packages are, has none: the driver never ends the process (P6).
add_compile_definitions($<$<NOT:$<CONFIG:Debug>>:NDEBUG>)

set(rset_warnings -Wall -Wextra -Wformat=2 -Wmissing-prototypes -Wstrict-prototypes -Wshadow
    -Wpointer-arith -Wwrite-strings -Wvla)
if(REDSET_WERROR)
    list(APPEND rset_warnings -Werror)
endif()

if(REDSET_SANITIZE)
    # -O1, as the manual of the sanitizers has it: the tests take half to two thirds of what they take with -O0.
    add_compile_options(-O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    add_link_options(-fsanitize=address,undefined)
endif()
