#!/usr/bin/env bash
# mpirun with the flags that tests, containers and small machines need: as
# root, more ranks than cores, no binding to cores, waiting ranks that yield.
#   scripts/mpirun.sh -n 8 build/dev/bin/shunt-run --backend mpi --check prog.mlir
set -euo pipefail
command -v mpirun >/dev/null || {
  echo "mpirun.sh: error: there is no mpirun; on Debian: apt-get install" \
    "openmpi-bin libopenmpi-dev" >&2
  exit 1
}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl_base_warn_component_unused=0
export OMPI_MCA_orte_base_help_aggregate=0
exec mpirun --bind-to none "$@"
