"""The loops of Appendix D: exact within the bound, and a controller that tells its last state."""

from examples import confounding_feedback as example


def test_every_scene_keeps_its_bound(capsys):
    scenes = example.main()
    told = capsys.readouterr().out
    assert [scene.name for scene in scenes] == ["sensing", "recommender", "control"]
    for scene in scenes:
        assert scene.process.feedback
        assert f"{scene.name}: epsilon" in told
        exact, bound = (
            ask(example.SHORT).epsilon(example.DELTA) for ask in (scene.process.release, scene.process.bound)
        )
        assert exact.upper <= bound.upper
    control = scenes[-1].process
    last, first = (control.release(example.SHORT, about).epsilon(example.DELTA).upper for about in ("last", "first"))
    assert last > first
