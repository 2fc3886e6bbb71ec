"""The pages for people: one file a page, each with its own router."""
