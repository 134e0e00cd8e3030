# SPDX-License-Identifier: Apache-2.0
# The Python package of the installation, from an empty directory: the example, the plot that it draws, and a block of RTL,
# which is a module beside the package.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(python ${CMAKE_COMMAND} -E env --unset=PYTHONHOME PYTHONPATH=${PREFIX}/lib/python3/dist-packages MPLCONFIGDIR=${WORK}/matplotlib
  ${CMAKE_COMMAND} -E chdir ${WORK} ${PYTHON})
run(${python} ${PREFIX}/share/spyre-cosim/examples/python/sweep.py)
expect("${output}" "launch: 65536 sums are right")
expect("${output}" "matmul 512: 32 cores")
run(${python} ${CMAKE_CURRENT_LIST_DIR}/python_package.py)
expect("${output}" "^${PREFIX}/")
