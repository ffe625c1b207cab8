"""Runs named checks and prints one JSON line for each; the test runner turns them into results."""
import json
import sys
import traceback

CHECKS = []


def check(function):
    """Registers a function as a check, named by its first docstring line."""
    CHECKS.append(function)
    return function


def run_all():
    failed = 0
    for function in CHECKS:
        name = (function.__doc__ or function.__name__).strip().splitlines()[0]
        try:
            function()
            print(json.dumps({"check": name, "ok": True}), flush=True)
        except Exception as error:  # noqa: BLE001 - a failed check must not hide the others
            failed += 1
            where = traceback.extract_tb(error.__traceback__)[-1]
            reason = f"{type(error).__name__}: {error} (line {where.lineno})"
            print(json.dumps({"check": name, "ok": False, "reason": reason}), flush=True)
    sys.exit(1 if failed else 0)


def raises(kind, call, *needles):
    """The call must fail with `kind` and a message that has every needle (case-insensitive)."""
    try:
        call()
    except kind as error:
        text = str(error)
        for needle in needles:
            assert needle.lower() in text.lower(), f"{needle!r} is not in {text!r}"
        return error
    raise AssertionError(f"expected {kind.__name__}, got an answer")
