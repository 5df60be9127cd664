"""The pages that compute in a browser: headless Chromium moves their controls, and the package has the same numbers."""

from __future__ import annotations

import html
import importlib.util
import json
import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import specmargin as sm
from specmargin.exceptions import InvalidInputError

DOCS = Path(__file__).resolve().parents[1] / "docs"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

PAGE = """<!doctype html><meta charset="utf-8"><style>{style}</style><body><script>
const seen = [], note = extra => seen.push({{...structuredClone(window.shown), ...extra}});
onerror = message => seen.push(message);
const moved = control => control.dispatchEvent(new Event(control.type === "range" ? "input" : "change"));
const set = (control, value) => {{ control.value = value; moved(control); }};
const press = (element, key) => element.dispatchEvent(new KeyboardEvent("keydown", {{key, bubbles: true}}));
const all = selector => [...document.querySelectorAll("#interactive " + selector)];
</script>{fragment}<script>{{{script}}}</script><script>
const kept = (_, x) => x instanceof Map ? [...x] : x;
const textContent = JSON.stringify(seen, kept);
document.body.append(Object.assign(document.createElement("pre"), {{id: "seen", textContent}}));
</script>"""


@cache
def pages() -> ModuleType:
    """Import what writes the pages."""
    spec = importlib.util.spec_from_file_location("interactive_pages", DOCS / "_extensions" / "interactive_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def seen(name: str, script: str, folder: Path) -> list[Any]:
    """Return what `script` notes of a page; an error of the page stands among it as a text."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed; Debian and Ubuntu have a package of that name")
    path, style = folder / "page.html", (DOCS / "_static" / "site.css").read_text(encoding="utf-8")
    fragment = pages().fragment(name, (DOCS / "_static").as_uri())
    path.write_text(PAGE.format(style=style, fragment=fragment, script=script), encoding="utf-8")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}", "--dump-dom"]
    done = subprocess.run([CHROMIUM, *options, path.as_uri()], capture_output=True, text=True, check=True, timeout=120)
    found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found is not None, done.stdout[-2000:]
    noted: list[Any] = json.loads(html.unescape(found[1]))
    assert [one for one in noted if isinstance(one, str)] == []
    return noted


def close(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(np.asarray(ours, dtype=float), theirs, rtol=0, atol=1e-6)


def manifold(data: dict[str, Any], signs: dict[int, int], gamma_A: float, gamma_I: float, loss: str = "hinge") -> Any:
    """Return the kernel's matrix and the objective of the moons with these labels."""
    K, W = sm.kernels.gram(data["X"], gamma=data["width"]), np.zeros((len(data["X"]),) * 2)
    i, j = np.transpose(data["edges"])[:2].astype(int)
    W[i, j] = W[j, i] = 1.0
    y = np.full(len(K), -1)
    for at, sign in signs.items():
        y[at] = sign > 0
    labels = sm.encode_labels(y)
    return sm.objectives.LapSVM(K, sm.graphs.laplacian(W), labels, loss, gamma_A=gamma_A, gamma_I=gamma_I)


def test_dual_of_moved_labels_is_that_of_the_package(tmp_path: Path) -> None:
    script = """
        const mark = i => all(".point")[i], [graph] = all("select"), [steps] = all("input");
        note({sides: all(".boundary")[0].getAttribute("d").split("M").length});
        for (const [i, key] of [[20, "+"], [30, "-"], [12, " "]]) press(mark(i), key);
        note();
        set(graph, 1); note(); set(graph, 0);
        press(mark(20), "Delete"); note();
        for (const i of [0, 1, 2, 3, 6, 7, 8, 9]) press(mark(i), data.truth[i] ? "+" : "-");
        note();
        set(steps, 3); note(); set(steps, 100);
        all("button")[0].click(); press(mark(4), "Delete"); press(mark(28), "Delete"); note();
        press(mark(12), "-"); press(mark(14), "-"); note();
        press(mark(12), "Delete"); press(mark(14), "Delete"); note();
        press(mark(40), "+"); press(mark(41), "-"); note();
        const send = (kind, target, {x, y, width, height}) => target.dispatchEvent(
            new PointerEvent(kind, {clientX: x + width / 2, clientY: y + height / 2, bubbles: true}));
        const place = i => mark(i).getBoundingClientRect(), svg = mark(0).ownerSVGElement;
        send("pointerdown", svg, place(40)); send("pointermove", window, place(0));
        send("pointerup", window, place(0)); note();
        send("pointerdown", svg, place(0)); send("pointerup", window, place(0)); note();
        press(mark(4), "ArrowRight"); note({focus: all(".point").indexOf(document.activeElement)});
    """
    noted, data = seen("dual", script, tmp_path), pages().dual()
    assert [len(one["labeled"]) for one in noted] == [4, 6, 6, 5, 12, 12, 2, 2, 0, 2, 2, 2, 2]
    assert noted[5]["steps"] == 3 < noted[4]["steps"]
    assert noted[5]["primal"] > noted[4]["primal"] >= noted[4]["dual"] > noted[5]["dual"]
    for k, one in enumerate(noted):
        signs = dict(zip(one["labeled"], one["y"], strict=True))
        if k == 5 or not signs:
            continue
        assert abs(one["gap"]) < 1e-10
        if len(set(one["y"])) == 1:  # the package refuses; by hand: beta is zero, and any b beyond the margin will do
            with pytest.raises(InvalidInputError, match="one class"):
                manifold(data, signs, data["gamma_A"], data["gamma_I"])
            close(one["beta"], 0.0)
            close(one["f"], one["y"][0])
            continue
        obj = manifold(data, signs, data["gamma_A"], data["gamma_I"] * (k != 2))
        result = sm.solvers.factorized(obj, tol=1e-13)
        alpha, b = result.variables["alpha"], result.variables["b"]
        close(one["primal"], result.certificate.primal_objective)
        close(one["dual"], result.certificate.dual_objective)
        close(one["beta"], result.variables["beta"])
        close(one["f"], result.variables["f"])
        close(one["b"], b)
        close(one["at"], sm.kernels.gram(np.array(data["probes"]), data["X"], gamma=data["width"]) @ alpha + b)
    assert noted[-1]["focus"] not in (-1, 4)  # an arrow key went on
    assert min(noted[9]["beta"]) == 1.0  # so that an interval of intercepts is best, and its middle is taken
    assert [noted[k]["y"] for k in (9, 10, 11)] == [[1, -1], [1, -1], [-1, -1]]  # a label was dragged, then clicked
    assert [noted[k]["labeled"] for k in (9, 10)] == [[40, 41], [0, 41]]
    assert noted[0]["sides"] > 20  # of small squares, crossed by the boundary


def test_filter_and_decisions_are_those_of_the_package(tmp_path: Path) -> None:
    script = """
        const [graphWeight, normWeight, part] = all("input"), [loss] = all("select");
        const weights = [[0, -2, 0], [0, -2, 1], [-4.25, -2, 0], [-4.25, 0, 1], [2, -4, 0], [2, 1, 1], [-2, -3, 0]];
        for (const [i, a, k] of weights) { set(graphWeight, i); set(normWeight, a); set(loss, k); note(); }
        set(part, 7); note();
    """
    data = pages().moons()
    noted, signs = seen("filter", script, tmp_path), dict(data["labels"])
    for one in noted:
        obj = manifold(data, signs, one["gammaA"], one["gammaI"], one["loss"])
        result = sm.solvers.factorized(obj, tol=1e-13)
        assert abs(one["gap"]) < 1e-9 * max(1.0, one["primal"])
        close(one["primal"], result.certificate.primal_objective)
        close(one["f"], result.variables["f"])
        np.testing.assert_allclose(one["G"], obj.reduction.G, rtol=1e-6)
        # The share kept is what the two penalties leave of an eigenvector of L K.
        energies = np.sort(np.linalg.eigvals(obj.L @ obj.K).real)
        close(one["kept"], one["gammaA"] / (one["gammaA"] + one["gammaI"] * np.maximum(energies, 0.0)))
    assert len({one["wrong"] for one in noted}) > 2


def test_alignment_is_that_of_the_package(tmp_path: Path) -> None:
    script = """
        const [which, family] = all("select"), bar = j => all("input")[j], [take, equal] = all("button");
        for (const k of [0, 1, 2]) for (const free of [0, 1]) {
            set(which, k); set(family, free); equal.click(); note();
            set(bar(4), 0.3); set(bar(6), 0.6); set(bar(0), 0); set(bar(2), 0.9); note();
            set(family, 0); note(); set(family, free); take.click(); note();
        }
        for (const j of range(9)) set(bar(j), 0);
        note();
    """
    noted, cases = seen("alignment", script, tmp_path), pages().alignment()["cases"]
    for one in noted:
        case = cases[one["which"]]
        n = len(case["X"])
        y, W = np.full(n, -1), np.zeros((n, n))
        for i, sign in case["labels"]:
            y[i] = sign > 0
        i, j = np.transpose(case["edges"])
        W[i, j] = W[j, i] = 1.0
        spectrum = sm.spectra.laplacian_eigenpairs(W, q=9, normalized=False)
        if case["rays"].shape[0] == 9:  # no eigenvalue is repeated: vectors are the same up to their signs
            np.testing.assert_allclose(np.abs(case["U"]), np.sqrt(n) * np.abs(spectrum.eigenvectors), atol=1e-6)
        spectrum = replace(spectrum, eigenvectors=case["U"] / np.sqrt(n))
        obj = sm.objectives.Alignment(spectrum, sm.encode_labels(y), order=not one["free"])
        result = sm.solvers.alignment(obj)
        best, delta = np.array(one["best"]["delta"]), np.array(one["delta"])
        close(one["value"], obj.value_at(delta))
        close(one["f"], obj.decisions_at(delta))
        close(one["best"]["value"], result.certificate.primal_objective)
        close(best / best.sum(), result.variables["delta"] / result.variables["delta"].sum())
        assert -1e-12 < one["best"]["gap"] < 1e-10
        assert one["value"] < one["best"]["bound"] + 1e-12
        assert delta.max() == 0 or np.abs(obj.repair(delta) - delta / delta.sum()).max() < 1e-12  # one of the family
    assert cases[2]["rays"].shape[0] == 5 < 9
    assert noted[-1]["value"] == 0.0


def test_tree_proves_the_minimum_of_the_package(tmp_path: Path) -> None:
    script = """
        const [step] = all("input"), [order] = all("select");
        for (const k of [0, 1]) {
            set(order, k); note();
            for (let j = 1; j <= Number(step.max); j++) { set(step, j); note(); }
        }
    """
    noted, data = seen("tree", script, tmp_path), pages().tree()
    labels = sm.encode_labels(np.where(data["sign"] == 0, -1, data["sign"] > 0).astype(int))
    obj = sm.objectives.S3VM(data["X"], labels, loss="hinge", C=data["C"], balance=data["r"])
    result = sm.optima.branch_and_bound(obj, tol=1e-9)
    ends = [one for one in noted if one["step"] == one["last"]]
    assert len(ends) == 2
    assert len(noted) == sum(one["last"] + 1 for one in ends)
    assert len(ends[0]["cases"]) < 2**6
    for one in ends:
        close(one["best"]["J"], result.certificate.primal_objective)
        close(
            one["f"] if one["id"] == one["best"]["id"] else obj.decisions_at(np.array(one["best"]["w"])),
            result.variables["f"],
        )
        assert abs(one["gap"]) < 1e-9
        for case in one["cases"]:
            signs = np.array(case["signs"])
            costs = [obj.C * (signs > 0), obj.C * (signs < 0)]
            alone = sm.solvers.weighted_svm(sm.objectives.WeightedSVM(obj.features, *costs, "hinge"), tol=1e-12)
            close(case["lower"], alone.certificate.primal_objective)
            close(case["J"], obj.value_at(np.array(case["w"])))
            assert case["fate"] in ("split", "pruned")
            if case["fate"] == "pruned":
                assert case["lower"] > one["best"]["J"] - 1e-8
    for one, after in pairwise(noted):
        if after["step"]:
            assert after["bound"] >= one["bound"] - 1e-9
            assert after["best"]["J"] <= one["best"]["J"]
        assert one["bound"] <= result.certificate.primal_objective + 1e-9 <= one["best"]["J"] + 2e-9


def test_path_is_that_of_the_package(tmp_path: Path) -> None:
    script = """
        const [step] = all("input"), [which] = all("select");
        for (const k of [0, 1]) {
            set(which, k); note();
            for (let j = 1; j <= Number(step.max); j++) { set(step, j); note(); }
        }
    """
    noted, problems = seen("continuation", script, tmp_path), pages().continuation()["problems"]
    assert len(noted) == 42
    x, y = np.array([-1.5, -1.2, -1.9, -1.8, -1.7, -0.2, 0.8]), np.array([0, 1] + [-1] * 5)
    for which, problem in enumerate(problems):
        obj = sm.objectives.S3VM(x[:, None], sm.encode_labels(y), "hinge", "exp", C=problem["C"], balance=0.6)
        result = sm.solvers.continuation(obj, n_steps=20, tol=1e-11)
        steps = [one for one in noted if one["which"] == which]
        close([one["gamma"] for one in steps], result.history["gamma"])
        close([one["value"] for one in steps], result.history["objective"])
        close(steps[-1]["w"], result.variables["w"][0])
        for one in steps:
            assert abs(one["slope"]) < 1e-10
            close(one["J"], obj.value_at(np.array([one["w"]])))
        for one in steps[::5]:
            smooth = obj.smoothed(one["gamma"])
            slopes = np.array([smooth.gradient(np.array([w]))[0] for w in np.linspace(-4, 4, 801)])
            turns = np.flatnonzero((slopes[:-1] < 0) & (slopes[1:] >= 0))
            np.testing.assert_allclose(one["all"], -4 + 0.01 * (turns + 0.5), atol=0.006)
            close([smooth.gradient(np.array([w]))[0] for w in one["all"]], 0.0)
            close(one["lowest"], min(smooth.value_at(np.array([w])) for w in one["all"]))
        assert len(steps[0]["all"]) == 1 < len(steps[-1]["all"])
    ends = [one["J"] - one["least"] for one in noted if one["k"] == 20]
    assert ends[0] < 0.01 < 0.05 < ends[1]  # a path may end in another minimum than the lowest
