-- redset for Lmod: `module load redset/0.1.0`, then HDF5_DRIVER=redset mpirun ./simulation
-- Put it into MODULEPATH as redset/0.1.0.lua, and edit what follows. Tried with version 8.7.60.

local prefix = "/opt/redset"                     -- CMAKE_INSTALL_PREFIX
local plugins = pathJoin(prefix, "lib/hdf5/plugin") -- as cmake --install said: HDF5_PLUGIN_PATH=...
depends_on("hdf5")                               -- the very one it was built for: two in a process crash

whatis("HDF5 file driver: per-rank files on node-local storage survive a lost node")
help([[
HDF5_DRIVER=redset switches it on, HDF5_DRIVER_CONFIG has its settings, such as "scheme=RS checksums=2".
See man h5redset, and share/doc/hdf5_vfd_redset/docs/configuration.md below the prefix.
]])

prepend_path("HDF5_PLUGIN_PATH", plugins)
prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
prepend_path("CMAKE_PREFIX_PATH", prefix)
prepend_path("PKG_CONFIG_PATH", pathJoin(prefix, "lib/pkgconfig"))
prepend_path("PYTHONPATH", pathJoin(prefix, "share/redset/python"))
