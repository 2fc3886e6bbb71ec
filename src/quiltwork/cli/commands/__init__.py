"""One file a command: its options and examples. The work is imported when the command runs, so that help is instant."""
