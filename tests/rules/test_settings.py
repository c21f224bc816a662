"""Files of thresholds that nobody meant to write: one clear, short sentence for each kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from gputop.rules.settings import SettingsError, load

LONGEST_SENTENCE = 400


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[HW20l]", "did you mean HW201?"),
        ("[thermal_slowdown]", "did you mean HW201?"),
        ("[Thermal-Slowdown]", "did you mean HW201?"),
        ("[XYZ999]", "gputop rules lists them"),
        ("[HW201]\nx = 1", "it has temperature_celsius"),
        ("[HW201]\ntemperature_celsius = " + "9" * 5000, "is not valid TOML"),
        ("[HW201]\ntemperature_celsius = 1" + "0" * 400, "is too large a number"),
        ("[HW201]\ntemperature_celsius = -1" + "0" * 400, "is too large a number"),
        ("[HW201]\ntemperature_celsius = inf", "a number of 0 or more"),
        ("[HW201]\ntemperature_celsius = nan", "a number of 0 or more"),
        ("a = " + "[" * 50_000, "is not valid TOML"),
        (f'[HW201]\ntemperature_celsius = "{"k" * 9000}"', "must be a number"),
        (f'[HW201]\n"{"k" * 9000}" = 1', "is no threshold"),
        (f'["{"k" * 9000}"]', "is no rule"),
        ('["two\\nlines"]', "[two lines] is no rule"),
    ],
    ids=lambda text: text[:30],
)
def test_one_short_sentence_for_what_means_nothing(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "r.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as refused:
        load(file)
    sentence = str(refused.value)
    assert said in sentence
    assert len(sentence) < LONGEST_SENTENCE and "\n" not in sentence
