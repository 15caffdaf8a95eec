# h5redset: the tool, with the engine inside and no HDF5. It links MPI, which it uses only where a launcher
# has started it.

file(GLOB h5redset_sources CONFIGURE_DEPENDS tools/h5redset/*.c)
add_executable(h5redset ${h5redset_sources})
set_target_properties(h5redset PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tools")
target_compile_options(h5redset PRIVATE ${rset_warnings})
target_compile_definitions(h5redset PRIVATE "REDSET_VERSION=\"${PROJECT_VERSION}\"")
target_link_libraries(h5redset PRIVATE rset_engine PkgConfig::ISAL PkgConfig::JANSSON Threads::Threads
    MPI::MPI_C)
install(TARGETS h5redset RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
