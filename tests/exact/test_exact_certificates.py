"""Every certificate against arithmetic in a hundred digits: the reported gap is never below the true one.

    python tests/exact/test_exact_certificates.py               1,000 results of all kinds, a line a result
    python tests/exact/test_exact_certificates.py 90 500        90 results, from the seed 500 on

Every objective and every solver that proves something, on random problems and on real data, with weights to 1e10,
gamma_A to 1e-10, hard margins, ties, features on scales from 1e-8 to 1e8 and up to 1e12 away from the origin. At the
returned points primal and dual objective are evaluated again, from the data alone (`exact_values`). What must hold:

- the reported gap is at least the true one, and the reported primal within `rounding` of the true one;
- no lower bound of a problem that is not convex is above a value that was met;
- the status is the one that `docs/certificates.md` gives to that gap; nothing raises.
"""

import contextlib
import sys
import traceback
import warnings
from collections import defaultdict

import pytest
from exact_kinds import KINDS, shortfall, solved

PROBLEMS = 8
"""A kind, of the test: one in every regime."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_certificate_claims_more_than_holds(kind):
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(PROBLEMS):
            regime, answers = solved(kind, seed)
            said = [(answer.solver, shortfall(answer)) for answer in answers]
            wrong += [f"{seed}, {regime}, {solver}: {why}" for solver, why in said if why]
    assert not wrong


def say(line):
    """Write a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def figure(value):
    """A number in two digits, a dash for none."""
    return "-" if value is None else f"{value:.1e}"


def report(kind, seed, counts):
    """Solve a problem, and write a line a result."""
    try:
        regime, answers = solved(kind, seed)
    except Exception as error:  # of any kind: the campaign goes on
        counts[kind]["raised"] += 1
        where = traceback.format_tb(error.__traceback__)[-1].strip()
        say(f"WRONG {kind} {seed}: raised {type(error).__name__}: {error} ({where})")
        return 1
    for answer in answers:
        why, certificate = shortfall(answer), answer.result.certificate
        counts[kind]["results"] += 1
        counts[kind][answer.result.status.name] += 1
        counts[kind]["wrong"] += bool(why)
        true = None
        if answer.primal is not None and answer.dual is not None:
            true = abs(answer.primal - answer.dual)
        say(
            f"{'WRONG' if why else 'holds'} {kind} {seed}, {regime}, {answer.solver}: {answer.result.status.name}, "
            f"gap {figure(certificate.gap)}, truly {figure(true)}, of {figure(certificate.primal_objective)}"
            f"{', ' + why if why else ''}"
        )
    return len(answers)


def main(count=1000, first=0):
    """Run the campaign over all kinds in turn, and count."""
    counts, done, seed = defaultdict(lambda: defaultdict(int)), 0, first
    with contextlib.suppress(KeyboardInterrupt), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while done < count:
            for kind in KINDS:
                done += report(kind, seed, counts)
                if done >= count:
                    break
            seed += 1
    for kind, found in counts.items():
        rest = ", ".join(f"{name} {n}" for name, n in found.items() if name not in ("results", "wrong", "raised"))
        say(f"{kind}: {found['results']} results, {found['wrong']} wrong, {found['raised']} raised; {rest}")
    return any(found["wrong"] or found["raised"] for found in counts.values())


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
