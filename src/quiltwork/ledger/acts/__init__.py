"""What can be done with a ledger: open, spend, ask, admit, verify."""
