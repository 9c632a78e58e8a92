"""Why a component is not wholly on its device, as data for reports, log and panel (S168)."""

from __future__ import annotations

from dataclasses import dataclass

MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Partial:
    """The numbers weighed when a handle was placed partly.

    Attributes:
        reason: "budget", "mode low", "mode none", "capped after running out of memory" or "gave way to another".
        mode: The vram mode in force.
        free_bytes: Free on the device after placing.
        working_bytes: Kept free for the phase.
        reserve_bytes: Kept free for everybody else.
        gave_up_for: Whom it gave way to, if it did.
    """

    reason: str
    mode: str
    free_bytes: int
    working_bytes: int
    reserve_bytes: int
    gave_up_for: str = ""

    def as_data(self) -> dict[str, str | float]:
        """JSON-ready, in MB."""
        return {
            "reason": self.reason,
            "mode": self.mode,
            "free_mb": round(self.free_bytes / MB, 2),
            "working_mb": round(self.working_bytes / MB, 2),
            "reserve_mb": round(self.reserve_bytes / MB, 2),
            "gave_up_for": self.gave_up_for,
        }
