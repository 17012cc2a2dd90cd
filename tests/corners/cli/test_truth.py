"""``corners truth``: the certificate for people and for programs, the files, the exit status, and what is refused."""

import re

import numpy as np
import pytest

from inference.truth import NetworkReference, ReferencePosterior, read_certificate
from tests.support.drawn_truths import drawn

__all__ = ["drawn"]


def test_a_certificate_for_people(command, drawn, tmp_path):
    ran = command("truth", "linear", "--seed", "3", "--prior-precision", "1.5", "--noise-scale", "0.4", "--out", "here")
    assert ran.code == 0
    assert "linear: all 300 rows, targets centred and scaled\none linear layer on 5 standardised inputs, no" in ran.out
    assert "prior_precision held at 1.5, noise_scale held at 0.4" in ran.out
    assert re.search(r"^R-hat +weights\[0\] +1 +< 1.01 +ok$", ran.out, flags=re.MULTILINE)
    assert re.search(r"^log evidence +-1\.500 +bridge sampling, standard error 0\.01$", ran.out, flags=re.MULTILINE)
    assert re.search(r"^log evidence +-\d+\.\d{3} +exact$", ran.out, flags=re.MULTILINE)
    assert re.search(r"^leave-one-out +-\d+\.\d{3} +exact$", ran.out, flags=re.MULTILINE)
    assert "verdict             usable as ground truth" in ran.out
    assert "here/linear_gaussian_fixed.json and .npz" in ran.out and "sampling 5 weights on 300 rows" in ran.err
    made = ReferencePosterior.load(tmp_path / "here" / "linear_gaussian_fixed")
    assert made.provenance.source["command"].startswith("corners truth linear --seed 3 ") and not made.complete


def test_json_is_the_certificate_with_its_place(command, drawn):
    ran = command("truth", "linear", "--seed", "3", "--evidence", "smc", "--json", "--quiet")
    document = ran.json()
    assert ran.err == "" and ran.code == 0
    assert document["saved"] == "reports/truth/linear_gaussian_hierarchical.json"
    kept = read_certificate(document["saved"])
    assert {name: document[name] for name in kept if name not in ("arrays_sha256", "compact")} == {
        name: value for name, value in kept.items() if name not in ("arrays_sha256", "compact")
    }
    assert document["smc"]["chains"] == [-1.58, -1.62] and drawn.asked[1]["what"] == "smc"


def test_a_run_that_failed_is_saved_as_not_usable_with_status_1(command, drawn, tmp_path):
    drawn.rhat = 1.3
    ran = command("truth", "linear", "--seed", "3", "--out", str(tmp_path))
    assert ran.code == 1
    assert re.search(r"^R-hat +weights\[0\] +1\.3 +< 1.01 +FAILED$", ran.out, flags=re.MULTILINE)
    assert "verdict             not usable as ground truth\n  R-hat: the chains disagree: run more" in ran.out
    assert read_certificate(tmp_path / "linear_gaussian_hierarchical")["passed"] is False


def test_a_network_says_where_it_was_judged(command, drawn, tmp_path):
    ran = command("truth", "sine", "--network", "6", "--seed", "3", "--out", str(tmp_path))
    assert ran.code == 0
    assert "a whole network on 1 standardised inputs, judged at 25 evenly spaced from the least input" in ran.out
    assert "log evidence" not in ran.out and re.search(r"^R-hat +function\[0\]", ran.out, flags=re.MULTILINE)
    assert NetworkReference.load(tmp_path / "sine_network_6").inputs.shape == (25, 1)


def test_a_file_by_its_target_and_task(command, drawn, tmp_path):
    lines = [f"{k},{k % 7},{k % 4}" for k in range(30)]
    (tmp_path / "calls.csv").write_text("a,b,n\n" + "\n".join(lines) + "\n", encoding="utf-8")
    options = ("--target", "n", "--task", "count", "--head", "negative_binomial", "--units", "3")
    ran = command("truth", "calls.csv", *options)
    assert ran.code == 0 and "on 3 fixed random tanh features of the standardised inputs (seed 0) and a con" in ran.out
    assert (tmp_path / "reports" / "truth" / "calls_negative_binomial_3_units_hierarchical.npz").is_file()
    np.testing.assert_array_equal(drawn.asked[0]["targets"], np.arange(30) % 4)


def test_a_certificate_names_no_folder_of_anybodys_machine(command, drawn, table, tmp_path):
    command("truth", str(table.resolve()), "--target", "price", "--out", str(tmp_path / "out"))
    document = (tmp_path / "out" / "houses_gaussian_hierarchical.json").read_text(encoding="utf-8")
    assert str(tmp_path) not in document and "corners truth houses.csv --target price --out out" in document


def test_without_a_terminal_there_are_no_control_characters(command, drawn):
    ran = command("truth", "linear")
    assert not re.search(r"\x1b|\r", ran.out + ran.err)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("linear", "--hierarchical", "--noise-scale", "1"), "and --noise-scale holds them; choose"),
        (
            ("linear", "--empirical-bayes", "--noise-scale", "1"),
            "empirical Bayes finds prior precision and noise scale",
        ),
        (("linear", "--network", "3", "--evidence", "smc"), "smc: of a last layer on fixed features"),
        (("linear", "--head", "poison"), "no head is called 'poison'"),
        (("linear", "--head", "probit"), "head 'probit' is not for regression"),
        (("linear", "--target", "y"), "--target names a column of a CSV file"),
        (("liner",), "no data set is called 'liner'"),
        (("nowhere.csv",), "nowhere.csv is a file: name its target column"),
        (("iris",), "there is no truth for likelihood 'one_vs_all'"),
        (("linear", "--prior-precision", "-1"), "prior_precision must be finite and positive but got -1.0"),
        (("linear", "--target-accept", "2"), "target_accept must lie strictly between 0 and 1 but got 2.0"),
    ],
)
def test_bad_input_is_one_sentence_with_status_2(command, arguments, words):
    """Before anything is sampled: the sampler of this test is the real one."""
    ran = command("truth", *arguments, "--quiet")
    assert ran.code == 2 and ran.out == "" and words in ran.err and ran.err.count("\n") == 1


def test_a_folder_that_cannot_be_made_is_refused_before_anything_is_sampled(command, drawn, tmp_path):
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    ran = command("truth", "linear", "--out", "taken/inside")
    assert ran.code == 2 and "taken/inside cannot be made" in ran.err and drawn.asked == []
