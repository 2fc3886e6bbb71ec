"""The interface for programs: one file a subject, each with its own router."""
