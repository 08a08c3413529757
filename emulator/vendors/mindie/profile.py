"""Token limits of a MindIE deployment, derived once from deployment and settings."""

from emulator.core.dataclass import fast_dataclass
from emulator.core.requests import Deployment
from emulator.core.vendor import Service
from emulator.vendors.mindie.settings import MindieSettings

_DEFAULT_ANSWER = 20


@fast_dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentProfile:
    """Token limits of a deployment.

    Fields:
        prompt: maximum tokens of the prompt.
        answer: maximum tokens of the response.
        default_answer: maximum tokens of the response, where a request in TGI's or the native form sets none.
        sequence: maximum tokens of both together, as configured; ``max_position_embeddings`` is applied later.
    """

    prompt: int
    answer: int
    default_answer: int
    sequence: int


def profile_deployment(deployment: Deployment, settings: MindieSettings) -> DeploymentProfile:
    """Build the token limits; a deployment with a context of its own ignores ``max_input_token_len``."""
    sequence = deployment.context or settings.max_seq_len
    prompt = sequence - 1
    if sequence == settings.max_seq_len:
        prompt = min(prompt, settings.max_input_token_len)
    return DeploymentProfile(
        prompt=prompt,
        answer=deployment.max_output or settings.max_iter_times,
        default_answer=deployment.default_max_tokens or _DEFAULT_ANSWER,
        sequence=sequence,
    )


MindieService = Service[MindieSettings, DeploymentProfile]
