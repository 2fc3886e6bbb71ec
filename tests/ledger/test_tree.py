"""The tree against RFC 9162 written down naively: every size up to 70, every wrong proof of small ones."""

from __future__ import annotations

import hashlib

import pytest

from quiltwork.ledger.chain.tree import (
    EMPTY,
    Tree,
    consistency,
    continues,
    includes,
    inclusion,
    leaf,
    parent,
)

MOST = 70
LEAVES = [hashlib.sha256(bytes([i])).digest() for i in range(MOST)]


def naive(leaves: list[bytes]) -> bytes:
    if not leaves:
        return EMPTY
    if len(leaves) == 1:
        return leaf(leaves[0])
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return parent(naive(leaves[:half]), naive(leaves[half:]))


ROOTS = [naive(LEAVES[:size]) for size in range(MOST + 1)]


@pytest.fixture(scope="module")
def tree() -> Tree:
    made = Tree(keep=True)
    for size, one in enumerate(LEAVES):
        assert (made.size, made.root) == (size, ROOTS[size])
        made.append(one)
    return made


def test_every_proof_holds(tree: Tree) -> None:
    for size in range(1, MOST + 1):
        for index in range(size):
            assert includes(LEAVES[index], index, size, inclusion(index, size, tree.node), ROOTS[size])
        for old in range(1, size + 1):
            proof = consistency(old, size, tree.node)
            assert continues(old, ROOTS[old], size, ROOTS[size], proof)
            assert not continues(old, ROOTS[old - 1], size, ROOTS[size], proof)


def test_every_small_change_of_a_proof_is_refused(tree: Tree) -> None:
    for size in range(2, 18):
        for index in range(size):
            proof = inclusion(index, size, tree.node)
            others = [[*proof, EMPTY], proof[:-1]]
            others += [[*proof[:at], bytes(32), *proof[at + 1 :]] for at in range(len(proof))]
            assert not any(includes(LEAVES[index], index, size, other, ROOTS[size]) for other in others)
            assert not any(includes(LEAVES[index], at, size, proof, ROOTS[size]) for at in range(size) if at != index)
    assert not includes(LEAVES[0], -1, 3, [], ROOTS[3])
    assert not continues(0, EMPTY, 3, ROOTS[3], [])
    assert not continues(2, ROOTS[2], 3, ROOTS[3], [])


def test_proofs_of_a_batch_need_the_peaks_before_it_and_its_own_leaves(tree: Tree) -> None:
    for before in range(0, MOST, 3):
        start = Tree()
        for one in LEAVES[:before]:
            start.append(one)
        batch = Tree(before, start.peaks, keep=True)
        for one in LEAVES[before:]:
            batch.append(one)
        assert batch.root == ROOTS[MOST]
        for index in range(before, MOST):
            assert includes(LEAVES[index], index, MOST, inclusion(index, MOST, batch.node), ROOTS[MOST])


def test_tiles_are_the_subtrees_of_256_leaves() -> None:
    tree = Tree()
    leaves = [hashlib.sha256(index.to_bytes(4)).digest() for index in range(600)]
    for one in leaves:
        tree.append(one)
    assert tree.tiles == [(1, 0, naive(leaves[:256])), (1, 1, naive(leaves[256:512]))]
