"""All kinds of all rooms."""

from __future__ import annotations

from benchmarks.soundness.claims import Kind
from benchmarks.soundness.rooms import (
    audit_scores,
    beside,
    compose,
    compose_lattices,
    compose_programs,
    compose_renyi,
    compose_samples,
    confounding,
    confounding_mixed,
    confounding_processes,
    curves,
    curves_classes,
    data,
    game,
    joined,
    joined_worlds,
    ledger,
    ledger_blocks,
    ledger_events,
    ledger_filters,
    ledger_odometers,
    ledger_windows,
    losses,
    losses_batches,
    losses_choices,
    losses_composed,
    losses_edges,
    losses_groups,
    losses_sampling,
    losses_steps,
    mechanisms,
    mechanisms_samplers,
    proofs,
    proofs_nested,
    pufferfish,
    pufferfish_gaussian,
    pufferfish_networks,
    pufferfish_noise,
    pufferfish_small,
    rare,
    regions,
    regions_outer,
    renyi,
    report,
    spec,
    tables,
    tables_notions,
    tables_persons,
    tables_published,
    tables_sessions,
)

ORDER = (
    "curves", "losses", "compose", "regions", "tables", "pufferfish", "confounding", "mechanisms", "game", "audit",
    "joined", "ledger", "spec", "report", "data",
)  # fmt: skip
_ROOMS = (
    curves, curves_classes, losses, losses_groups, losses_sampling, losses_batches, losses_steps,
    losses_composed, losses_choices,
    losses_edges,
    compose, compose_samples, compose_renyi, compose_lattices,
    compose_programs, beside, rare, renyi, proofs, proofs_nested,
    regions, regions_outer, tables, tables_notions, tables_persons, tables_published, tables_sessions,
    pufferfish, pufferfish_small, pufferfish_noise, pufferfish_gaussian, pufferfish_networks, confounding,
    confounding_mixed, confounding_processes, mechanisms, mechanisms_samplers, game, audit_scores, joined,
    joined_worlds, ledger, ledger_blocks, ledger_events, ledger_filters, ledger_odometers, ledger_windows, spec,
    report, data,
)  # fmt: skip
KINDS: dict[str, Kind] = {kind.title: kind for room in _ROOMS for kind in room.KINDS}


def of_rooms(rooms: list[str]) -> dict[str, list[str]]:
    """Titles of the kinds of these rooms."""
    return {room: [title for title, kind in KINDS.items() if kind.room == room] for room in ORDER if room in rooms}
