"""From a per-entry privacy loss to a Pufferfish guarantee: influence, translation, witnesses."""
