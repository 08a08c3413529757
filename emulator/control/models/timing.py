"""How well the server kept its own schedule."""

from pydantic import Field

from emulator.control.models.base import Given


class LatenessQuantiles(Given):
    """Real seconds."""

    count: int
    mean: float
    p50: float
    p90: float
    p99: float
    worst: float


class TimingErrors(Given):
    ttft: LatenessQuantiles = Field(description="How late first tokens were.")
    itl: LatenessQuantiles = Field(description="How far gaps between two writes were off.")
    end: LatenessQuantiles = Field(description="How late answers ended.")


class TimingReport(Given):
    valid: bool = Field(description="No p99 since reset is above `invalid_above`.")
    reason: str | None = Field(description="Why not.")
    invalid_above: float | None = Field(description="Seconds; null: no bound.")
    since_reset: TimingErrors
    overall: TimingErrors = Field(description="Since the process began.")
