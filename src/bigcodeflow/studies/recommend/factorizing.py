"""Cholesky factors without threads: LAPACK's wait for one another where runs beside them keep the cores busy."""

import numpy as np

from bigcodeflow.studies.recommend.likelihood import Array

#: Rows of a tile; BLAS starts no threads for products of so small matrices.
_TILE = 48


def lower_factor(matrix: Array) -> Array:
    """The lower triangular L with L L' the symmetric matrix, which is positive definite.

    Tiles in place of columns: a tile's factor, then the tiles below it, then the update of all that is left. Source:
    Buttari et al. 2009, "A Class of Parallel Tiled Linear Algebra Algorithms for Multicore Architectures".

    Raises:
        numpy.linalg.LinAlgError: the matrix is not positive definite.
    """
    n_rows, n_tiles = len(matrix), -(-len(matrix) // _TILE)
    whole = np.eye(n_tiles * _TILE)
    whole[:n_rows, :n_rows] = matrix
    tiles = np.ascontiguousarray(whole.reshape(n_tiles, _TILE, n_tiles, _TILE).transpose(0, 2, 1, 3))
    for one in range(n_tiles):
        factor = np.linalg.cholesky(tiles[one, one])
        tiles[one, one] = factor
        tiles[one, one + 1 :] = 0.0
        below = tiles[one + 1 :, one] @ np.linalg.inv(factor).T
        tiles[one + 1 :, one] = below
        tiles[one + 1 :, one + 1 :] -= below[:, None] @ below.transpose(0, 2, 1)[None, :]
    found: Array = tiles.transpose(0, 2, 1, 3).reshape(whole.shape)[:n_rows, :n_rows]
    return found
