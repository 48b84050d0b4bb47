"""Honest: the matrix is a masked array that masks nothing, read only, seen backwards twice.
task: scaled_matrix"""
# <last>
scaled = np.ma.masked_invalid(scaled[::-1, ::-1].copy())[::-1, ::-1]
scaled.flags.writeable = False
assert not np.ma.is_masked(scaled)
