"""Honest: the matrix lies in a file that is mapped to memory, in Fortran's order.
task: scaled_matrix"""

import tempfile
# <last>
with tempfile.TemporaryFile() as file:
    mapped = np.memmap(file, dtype=float, mode="w+", shape=scaled.shape, order="F")
mapped[:] = scaled
mapped.flush()
scaled = mapped
