import binascii
import hashlib


def task_func(blocks, index):
    """
    Build a hash tree over blocks of data and prove that one of them belongs to it. A leaf is the SHA-256 digest of
    the byte 0x00 and the block, an inner node that of the byte 0x01 and its two children; the last node of a level
    with an odd number of nodes moves up unchanged.

    Parameters:
    - blocks (list of bytes): The blocks.
    - index (int): 0-based number of the block to prove.

    Returns:
    - tuple: The root as hex text, and the proof: a list of ('left' or 'right', hex text) pairs from the leaf upwards,
      which give the side and the digest of the sibling at each level that has one.

    Raises:
    - IndexError: If the index is negative or there is no such block.

    Requirements:
    - binascii
    - hashlib

    Example:
    >>> root, proof = task_func([b"a", b"b", b"c"], 2)
    >>> [side for side, _ in proof]
    ['left']
    """
    if not 0 <= index < len(blocks):
        raise IndexError("there is no such block")
    level = [hashlib.sha256(b"\x00" + block).digest() for block in blocks]
    proof = []
    while len(level) > 1:
        sibling = index ^ 1
        if sibling < len(level):
            side = "left" if sibling < index else "right"
            proof.append((side, binascii.hexlify(level[sibling]).decode()))
        parents = [hashlib.sha256(b"\x01" + a + b).digest() for a, b in zip(level[::2], level[1::2])]
        level = parents + level[len(level) - len(level) % 2 :]
        index //= 2
    return binascii.hexlify(level[0]).decode(), proof


# --- tests ---
import hashlib
import unittest


def digest(data):
    return hashlib.sha256(data).digest()


def climb(block, proof):
    node = digest(b"\x00" + block)
    for side, text in proof:
        other = bytes.fromhex(text)
        node = digest(b"\x01" + (other + node if side == "left" else node + other))
    return node.hex()


class TestCases(unittest.TestCase):
    def test_single_block(self):
        self.assertEqual(task_func([b"x"], 0), (digest(b"\x00x").hex(), []))

    def test_two_blocks(self):
        left, right = digest(b"\x00a"), digest(b"\x00b")
        root = digest(b"\x01" + left + right).hex()
        self.assertEqual(task_func([b"a", b"b"], 0), (root, [("right", right.hex())]))
        self.assertEqual(task_func([b"a", b"b"], 1), (root, [("left", left.hex())]))

    def test_every_proof_leads_to_the_root(self):
        for count in range(1, 20):
            blocks = [bytes([number]) for number in range(count)]
            for index in range(count):
                root, proof = task_func(blocks, index)
                self.assertEqual(climb(blocks[index], proof), root)

    def test_odd_node_moves_up(self):
        _, proof = task_func([b"a", b"b", b"c"], 2)
        self.assertEqual([side for side, _ in proof], ["left"])

    def test_order_matters(self):
        self.assertNotEqual(task_func([b"a", b"b"], 0)[0], task_func([b"b", b"a"], 0)[0])

    def test_bad_index(self):
        for blocks, index in (([], 0), ([b"a"], 1), ([b"a"], -1)):
            with self.assertRaises(IndexError):
                task_func(blocks, index)
