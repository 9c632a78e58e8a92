from mizuoto.cli import common


def test_commands_go_by_what_was_set_in_the_page_of_the_comfyui_that_the_pack_lies_in(tmp_path, monkeypatch):
    file = tmp_path / "user" / "mizuoto" / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"hibari.speed": 2, "compute.oom_retries": 1}')
    monkeypatch.delenv("MIZUOTO_OOM_RETRIES", raising=False)
    assert common.preferences().saved() == {}, "this checkout lies in no ComfyUI"
    monkeypatch.setattr(common, "__file__", str(tmp_path / "custom_nodes" / "pack" / "cli" / "common.py"))
    assert common.preferences().saved("hibari.") == {"speed": 2.0}
    assert common.preferences().value("compute.oom_retries") == 1
    monkeypatch.setenv("MIZUOTO_OOM_RETRIES", "0")
    assert common.preferences().value("compute.oom_retries") == 0
