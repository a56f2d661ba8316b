"""Folding a log into a Run's state."""

from psych_runtime.log.fold.reduce import check, fold, fold_unsequenced, initial_state, reduce
from psych_runtime.log.fold.state import RunStateView

__all__ = ["RunStateView", "check", "fold", "fold_unsequenced", "initial_state", "reduce"]
