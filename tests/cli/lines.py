"""What an error on the command line looks like."""


def one_line(text: str) -> str:
    """The text, after checking that it is a single complaint."""
    assert text.count("\n") == 1
    assert text.startswith("quiltwork: ")
    assert "Traceback" not in text
    return text
