# How files become tests. Nothing has to be listed here, a file's place and name decide:
#   test/support/*.c          linked into every unit program (they use cmocka)
#   test/unit/test_*.c        cmocka program, label unit; other *.c there are linked into each of them;
#                             test_vfd_*.c reaches into vfd/ as well, and links HDF5. test_NAME.wrap: functions
#                             that the program puts its own in the place of, with ld's --wrap
#   test/sweep/sweep_*.c      program with the engine and test/support inside that tries one kind of fault
#                             at every point; "change" as argument: a sample within a minute, test
#                             sweep.NAME; "all": every point, test sweep.NAME.all, label nightly as well.
#                             Other *.c there are linked into each of them. The last line printed is
#                             "NAME: N points, M violations"; M must be 0. sweep_NAME.wrap: as above.
#                             sweep_scavenge, and test_tool_* of test/unit, have h5redset inside as well
#   test/fuzz/fuzz_NAME.c     fuzz target; here linked with replay.c, which runs it over test/fuzz/corpus/NAME
#                             without libFuzzer, test fuzz.NAME. Other *.c there, and those of test/sweep,
#                             are linked into each of them but fiber.c, which needs clang
#   test/mpi/*.c              MPI program; test/mpi/testlist.in says how it is run, label mpi; test_NAME.wrap: as above
#   test/vfd/*.c              HDF5 + MPI program, a tool for the scripts; NAME_*.c beside NAME.c are parts of
#                             program NAME. link_*.c links the plugin too, serial_*.c links no MPI;
#                             preload_*.c is a library for LD_PRELOAD, libpreload_*.so
#   test/hang/{hang,link}_*.c the same; other *.c there are linked into each of them
#   test/{vfd,cluster,clients,hang,hostile,bench,docs,install,lives,tool}/test_*.sh   scripts, label = the directory; with
#                             the sanitizers only those of test/tool, and of vfd, cluster and hang with label
#                             nightly as well
#   .../nightly_*.sh          the same, label nightly as well
#   test/docs/test_*.sh       the same, label docs: every command of the documents; first flavour only
#   test/checks/nightly_*.sh  checks around the tests, which make builds of their own; first flavour only
#   test/house/*.sh           the rules of the house, label house
# What is in rset_long below has the label long as well: test/run.sh runs it with --full only.
# Exit status 77 means skipped. Scripts find what they need in the environment set below.

find_package(PkgConfig REQUIRED)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

set(REDSET_TEST_PREFIX "" CACHE STRING "Put in front of test names, to tell builds apart in one run")
# What links no HDF5 finds with one flavour all that it finds with another.
set(REDSET_TEST_ENGINE ON CACHE BOOL "Build the unit tests, sweeps and fuzz targets too")
set(REDSET_TEST_LEAVE_OUT "" CACHE STRING
    "Regexes: the unit tests, sweeps and fuzz targets, as PREFIXunit.NAME, that are not built")

# Takes the sources whose tests are left out from the list.
function(rset_leave_out list begin end)
    foreach(source IN LISTS ${list})
        cmake_path(GET source STEM name)
        string(REGEX REPLACE "^${begin}" "${end}" name "${name}")
        foreach(regex IN LISTS REDSET_TEST_LEAVE_OUT)
            if("${REDSET_TEST_PREFIX}${name}" MATCHES "${regex}")
                list(REMOVE_ITEM ${list} "${source}")
            endif()
        endforeach()
    endforeach()
    set(${list} "${${list}}" PARENT_SCOPE)
endfunction()

set(rset_test_env
    "REDSET_BUILD_DIR=${PROJECT_BINARY_DIR}"
    "REDSET_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
    "REDSET_FLAVOUR=${REDSET_FLAVOUR}"
    "REDSET_HDF5_PARALLEL=${REDSET_HDF5_PARALLEL}"
    "REDSET_HDF5_TOOLDIR=${REDSET_HDF5_TOOLDIR}" # empty: no h5dump of this flavour, skip what needs it
    "REDSET_SANITIZE=${REDSET_SANITIZE}"
    "FORMAT_VECTORS=${PROJECT_SOURCE_DIR}/test/golden/vectors"
    "HDF5_PLUGIN_PATH=${PROJECT_BINARY_DIR}/plugins"
    "MPIEXEC=${MPIEXEC_EXECUTABLE}")
set(rset_test_path "PATH=path_list_prepend:${PROJECT_BINARY_DIR}/test/vfd")
if(REDSET_HDF5_TOOLDIR)
    list(PREPEND rset_test_path "PATH=path_list_prepend:${REDSET_HDF5_TOOLDIR}")
endif()
if(REDSET_SANITIZE) # Open MPI and HDF5 keep what they allocate: look for leaks where neither runs. Some tests preload.
    set(rset_no_leaks "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0")
endif()

# Tests of more than some 15 s of which a shorter one looks at the same rooms. Of each kind at least one stays.
set(rset_long "^(unit[.](golden_sets|engine_(faults|damage|update|update_ends)|comm_peers|no_memory_jobs|rendezvous_(late|missing)"
    "|vfd_faults|replicas_faults|step_dirs|readers)|hang[.]hang"
    "|vfd[.](odd|async|finalize|generation_list|generations|mixture|opens|outside|rename|series|sources|start_over)"
    "|cluster[.](back|loss|root_kept|moved_anew|moved_older|moved_one_name|tool)|tool[.](scavenge|states)|bench[.]short"
    "|install[.]mpich|sweep[.](flip|power|io|scavenge|second|soak)|mpi[.].*(missing|never|speed))$")
list(JOIN rset_long "" rset_long)

# What a test takes of the N of `ctest -j N` (test/run.sh: two for each core, and one for each lane). What computes, on
# as many threads or ranks as keep a core busy, takes two. What is made of waiting, for a timeout or a rank that does
# not come, takes one, and a lane, so that beside those that wait there is always room for what computes.
set(rset_waits "^(unit[.](rendezvous.*|comm_peers|vfd_background|names|renamed)|mpi[.].*[.](missing|late|never|nottaken)"
    "|tool[.](h5redset|scavenge|renamed|wait)|vfd[.]([^m].*|m[^i].*)|cluster[.]root)$") # not vfd.mixture
list(JOIN rset_waits "" rset_waits)
set(rset_lanes 4)
# Of those that compute, the long ones begin early: what comes last is short, and no core is without work before the end.
set(rset_early "^(sweep|cluster|hang|lives)[.]|^unit[.](decide|engine)$")
# First, as the first results are there at once then.
set(rset_at_once "^house[.](doxygen|hosts|patches|recovery|sentences|states|words)$")
# Alone: the job that docs.commands takes a node from must not be over before.
set(rset_alone "^(docs[.]|clients[.]|mpi[.].*[.]speed$)")

function(rset_share name test)
    get_property(number GLOBAL PROPERTY rset_tests)
    math(EXPR number "0${number} + 1")
    set_property(GLOBAL PROPERTY rset_tests ${number})
    # Open MPI 4 makes, and removes, one directory for all jobs of a user: see mpi_settings.sh.
    set(jobs "${PROJECT_BINARY_DIR}/jobs/${number}")
    file(MAKE_DIRECTORY "${jobs}")
    set_property(TEST "${name}" APPEND PROPERTY ENVIRONMENT "OMPI_MCA_orte_tmpdir_base=${jobs}")
    if(test MATCHES "${rset_alone}")
        set_tests_properties("${name}" PROPERTIES RUN_SERIAL ON)
    elseif(test MATCHES "${rset_waits}")
        math(EXPR lane "${number} % ${rset_lanes}")
        set_tests_properties("${name}" PROPERTIES PROCESSORS 1 COST 1000 RESOURCE_LOCK "lane${lane}")
    elseif(test MATCHES "${rset_at_once}")
        set_tests_properties("${name}" PROPERTIES PROCESSORS 1 COST 2000)
    else()
        set_tests_properties("${name}" PROPERTIES PROCESSORS 2)
        if(test MATCHES "${rset_long}" OR test MATCHES "${rset_early}")
            set_tests_properties("${name}" PROPERTIES COST 100)
        endif()
    endif()
endfunction()

function(rset_test name label timeout)
    set(test "${name}")
    if(name MATCHES "${rset_long}")
        list(APPEND label long)
    endif()
    set(name "${REDSET_TEST_PREFIX}${name}")
    add_test(NAME "${name}" COMMAND ${ARGN})
    set_tests_properties("${name}" PROPERTIES LABELS "${label}" TIMEOUT ${timeout} SKIP_RETURN_CODE 77
        ENVIRONMENT_MODIFICATION "${rset_test_path}")
    set(env ${rset_test_env})
    if(NOT label MATCHES "^(unit|sweep)")
        list(APPEND env ${rset_no_leaks})
    endif()
    set_tests_properties("${name}" PROPERTIES ENVIRONMENT "${env}")
    rset_share("${name}" "${test}")
endfunction()

function(rset_program name directory)
    add_executable(${name} ${ARGN})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test/${directory}")
    target_compile_options(${name} PRIVATE ${rset_warnings})
    target_compile_definitions(${name} PRIVATE
        "FORMAT_VECTORS=\"${PROJECT_SOURCE_DIR}/test/golden/vectors\"")
    target_include_directories(${name} PRIVATE include test/support)
endfunction()

# Functions that the program puts its own in the place of.
function(rset_wrap name directory)
    set(list "${PROJECT_SOURCE_DIR}/test/${directory}/${name}.wrap")
    if(EXISTS "${list}")
        file(STRINGS "${list}" wrapped)
        list(TRANSFORM wrapped PREPEND "-Wl,--wrap=")
        target_link_options(${name} PRIVATE ${wrapped})
    endif()
endfunction()

# What several programs share is compiled once, if there is one of them.
function(rset_shared name)
    if(ARGN)
        add_library(${name} STATIC EXCLUDE_FROM_ALL ${ARGN})
        target_compile_options(${name} PRIVATE ${rset_warnings})
        target_compile_definitions(${name} PRIVATE
            "FORMAT_VECTORS=\"${PROJECT_SOURCE_DIR}/test/golden/vectors\"")
        target_include_directories(${name} PUBLIC include test/support)
        target_link_libraries(${name} PUBLIC rset_engine PkgConfig::ISAL PkgConfig::CMOCKA Threads::Threads)
    else()
        add_library(${name} INTERFACE)
    endif()
endfunction()

file(GLOB support CONFIGURE_DEPENDS test/support/*.c)

# Programs with the engine inside. Linking libmpi gives the weak MPI symbols a body; some linkers
# leave out a library that has only weak ones to give.
set(rset_mpi_bodies -Wl,--no-as-needed MPI::MPI_C)
file(GLOB unit_tests CONFIGURE_DEPENDS test/unit/test_*.c)
file(GLOB unit_helpers CONFIGURE_DEPENDS test/unit/*.c)
list(REMOVE_ITEM unit_helpers ${unit_tests} "")
if(TARGET rset_engine AND REDSET_TEST_ENGINE)
    rset_leave_out(unit_tests test_ unit.)
    rset_shared(rset_test_support ${support})
    rset_shared(rset_unit_helpers ${unit_helpers})
    # The tool as a library: its main is another program's function.
    if(TARGET h5redset)
        add_library(rset_h5redset STATIC EXCLUDE_FROM_ALL ${h5redset_sources})
        target_compile_options(rset_h5redset PRIVATE ${rset_warnings} -Wno-missing-prototypes)
        target_compile_definitions(rset_h5redset PRIVATE
            "REDSET_VERSION=\"${PROJECT_VERSION}\"" main=h5redset_main)
        target_link_libraries(rset_h5redset PUBLIC rset_engine PkgConfig::JANSSON MPI::MPI_C)
    else()
        list(FILTER unit_tests EXCLUDE REGEX "/test_tool_")
    endif()
    foreach(source IN LISTS unit_tests)
        cmake_path(GET source STEM name)
        rset_program(${name} unit ${source})
        if(name MATCHES "^test_tool_")
            target_link_libraries(${name} PRIVATE rset_h5redset)
        endif()
        target_link_libraries(${name} PRIVATE rset_unit_helpers rset_test_support rset_engine
            PkgConfig::ISAL PkgConfig::CMOCKA Threads::Threads ${rset_mpi_bodies})
        rset_wrap(${name} unit)
        if(name MATCHES "^test_vfd_" AND TARGET rset_vfd)
            target_link_libraries(${name} PRIVATE rset_vfd rset_hdf5)
        endif()
        string(REGEX REPLACE "^test_" "unit." test "${name}")
        rset_test(${test} unit 2400 ${name})
    endforeach()

    file(GLOB sweeps CONFIGURE_DEPENDS test/sweep/sweep_*.c)
    file(GLOB sweep_helpers CONFIGURE_DEPENDS test/sweep/*.c)
    list(REMOVE_ITEM sweep_helpers ${sweeps} "")
    rset_leave_out(sweeps sweep_ sweep.)
    rset_shared(rset_sweep_helpers ${sweep_helpers})
    foreach(source IN LISTS sweeps)
        cmake_path(GET source STEM name)
        rset_program(${name} sweep ${source})
        target_link_libraries(${name} PRIVATE rset_sweep_helpers rset_test_support rset_engine
            PkgConfig::ISAL PkgConfig::CMOCKA Threads::Threads ${rset_mpi_bodies})
        rset_wrap(${name} sweep)
        target_link_options(${name} PRIVATE -Wl,--wrap=rset_thread_create) # tap.c
        string(REGEX REPLACE "^sweep_" "sweep." test "${name}")
        if(REDSET_SANITIZE) # a fork is slow there
            rset_test(${test} "sweep;nightly" 3600 ${name} change)
        else()
            rset_test(${test} sweep 2400 ${name} change)
            rset_test(${test}.all "sweep;nightly" 7200 ${name} all)
        endif()
    endforeach()

    if(TARGET h5redset AND TARGET sweep_scavenge)
        target_link_libraries(sweep_scavenge PRIVATE rset_h5redset)
    endif()

    file(GLOB fuzz_targets CONFIGURE_DEPENDS test/fuzz/fuzz_*.c)
    file(GLOB fuzz_helpers CONFIGURE_DEPENDS test/fuzz/*.c)
    list(REMOVE_ITEM fuzz_helpers ${fuzz_targets} "${PROJECT_SOURCE_DIR}/test/fuzz/fiber.c" "")
    rset_leave_out(fuzz_targets fuzz_ fuzz.)
    foreach(source IN LISTS fuzz_targets)
        cmake_path(GET source STEM name)
        string(REGEX REPLACE "^fuzz_" "" name "${name}")
        rset_program(replay_${name} fuzz ${source} ${fuzz_helpers})
        target_include_directories(replay_${name} PRIVATE test/sweep)
        target_link_libraries(replay_${name} PRIVATE rset_sweep_helpers rset_test_support rset_engine
            PkgConfig::ISAL PkgConfig::CMOCKA Threads::Threads ${rset_mpi_bodies})
        rset_test(fuzz.${name} fuzz 2400 replay_${name} "${PROJECT_SOURCE_DIR}/test/fuzz/corpus/${name}"
            "${PROJECT_SOURCE_DIR}/test/golden/vectors")
    endforeach()
endif()

if(TARGET rset_engine)
    file(GLOB mpi_tests CONFIGURE_DEPENDS test/mpi/*.c)
    foreach(source IN LISTS mpi_tests)
        cmake_path(GET source STEM name)
        rset_program(${name} mpi ${source})
        target_link_libraries(${name} PRIVATE rset_engine PkgConfig::ISAL Threads::Threads ${rset_mpi_bodies})
        rset_wrap(${name} mpi)
    endforeach()

    # testlist.in: "name np [timeout=SECONDS] args...", # begins a comment
    set(testlist "${PROJECT_SOURCE_DIR}/test/mpi/testlist.in")
    if(EXISTS "${testlist}")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${testlist}")
        file(STRINGS "${testlist}" lines REGEX "^[^#]")
        foreach(line IN LISTS lines)
            string(REGEX REPLACE "#.*" "" line "${line}")
            separate_arguments(words UNIX_COMMAND "${line}")
            if(NOT words)
                continue()
            endif()
            list(POP_FRONT words name np)
            if(NOT TARGET "${name}" OR NOT np MATCHES "^[1-9][0-9]*$")
                message(FATAL_ERROR "${testlist}: no such program, or no number of ranks: ${line}")
            endif()
            set(timeout 300)
            if(words MATCHES "^timeout=([0-9]+)")
                set(timeout ${CMAKE_MATCH_1})
                list(POP_FRONT words)
            endif()
            string(JOIN "." test "mpi.${name}" np${np} ${words})
            string(REPLACE "/" "_" test "${test}")
            rset_test("${test}" mpi ${timeout}
                ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${np} $<TARGET_FILE:${name}> ${words})
            if(TARGET hdf5_vfd_redset AND NOT test MATCHES "speed$") # as redset_mpi_preload of mpi_settings.sh
                set_property(TEST "${REDSET_TEST_PREFIX}${test}" APPEND PROPERTY
                    ENVIRONMENT "LD_PRELOAD=${PROJECT_BINARY_DIR}/test/vfd/libpreload_yield.so")
            endif()
        endforeach()
    endif()
endif()

# Programs as users write them, and the scripts that run these and h5dump.
if(TARGET hdf5_vfd_redset)
    file(GLOB vfd_programs CONFIGURE_DEPENDS test/vfd/*.c)
    set(vfd_parts "")
    foreach(source IN LISTS vfd_programs)
        cmake_path(GET source STEM name)
        file(GLOB parts_of_${name} CONFIGURE_DEPENDS test/vfd/${name}_*.c)
        list(APPEND vfd_parts ${parts_of_${name}})
    endforeach()
    list(REMOVE_ITEM vfd_programs ${vfd_parts} "")
    foreach(source IN LISTS vfd_programs)
        cmake_path(GET source STEM name)
        if(name MATCHES "^preload_")
            add_library(${name} MODULE ${source})
            set_target_properties(${name} PROPERTIES
                LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test/vfd" C_VISIBILITY_PRESET default)
            target_compile_options(${name} PRIVATE ${rset_warnings})
            target_link_libraries(${name} PRIVATE -Wl,--as-needed rset_hdf5 MPI::MPI_C ${CMAKE_DL_LIBS})
            continue()
        endif()
        rset_program(${name} vfd ${source} ${parts_of_${name}})
        target_link_libraries(${name} PRIVATE rset_hdf5 Threads::Threads)
        if(name MATCHES "^serial_")
            target_link_libraries(${name} PRIVATE rset_mpi_headers)
        else()
            target_link_libraries(${name} PRIVATE MPI::MPI_C)
        endif()
        if(name MATCHES "^link_")
            target_link_libraries(${name} PRIVATE hdf5_vfd_redset)
        endif()
    endforeach()

    file(GLOB hang_programs CONFIGURE_DEPENDS test/hang/hang_*.c test/hang/link_*.c)
    file(GLOB hang_helpers CONFIGURE_DEPENDS test/hang/*.c)
    list(REMOVE_ITEM hang_helpers ${hang_programs} "")
    foreach(source IN LISTS hang_programs)
        cmake_path(GET source STEM name)
        rset_program(${name} hang ${source} ${hang_helpers})
        target_link_libraries(${name} PRIVATE rset_hdf5 MPI::MPI_C ${CMAKE_DL_LIBS})
        if(name MATCHES "^link_")
            target_link_libraries(${name} PRIVATE hdf5_vfd_redset)
        endif()
    endforeach()

    file(GLOB scripts CONFIGURE_DEPENDS test/*/test_*.sh test/*/nightly_*.sh)
    if(REDSET_SANITIZE)
        # programs built without the sanitizers cannot load a plugin built with them
        list(FILTER scripts INCLUDE REGEX "/test/(tool|vfd|hang|cluster)/test_")
    endif()
    foreach(script IN LISTS scripts)
        cmake_path(GET script STEM name)
        cmake_path(GET script PARENT_PATH label)
        cmake_path(GET label FILENAME label)
        string(REGEX REPLACE "^(test|nightly)_" "${label}." test "${name}")
        set(timeout 2400) # a watchdog, for a machine under load too
        if(name MATCHES "^nightly_" OR (REDSET_SANITIZE AND NOT label STREQUAL "tool"))
            list(APPEND label nightly)
            set(timeout 7200)
        endif()
        rset_test(${test} "${label}" ${timeout} "${script}")
    endforeach()
endif()

if(NOT REDSET_SANITIZE)
    file(GLOB house CONFIGURE_DEPENDS test/house/*.sh)
    foreach(script IN LISTS house)
        cmake_path(GET script STEM name)
        rset_test(house.${name} house 600 "${script}")
    endforeach()
endif()
