"""What an error on the command line looks like."""


def complaints(text: str) -> list[str]:
    """The lines, after checking that each is a complaint; a file is told all of its problems."""
    lines = text.splitlines()
    assert lines
    assert all(line.startswith("quiltwork: ") for line in lines)
    assert "Traceback" not in text
    return lines


def one_line(text: str) -> str:
    """The text, after checking that it is a single complaint."""
    assert text.count("\n") == 1
    assert text.startswith("quiltwork: ")
    assert "Traceback" not in text
    return text
