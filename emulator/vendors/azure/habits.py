"""What there is to know of a deployment under its service's settings, found out once and not with each request."""

from emulator.core.call import Deployment
from emulator.core.record import record
from emulator.vendors.azure.catalogue import is_openai
from emulator.vendors.azure.chat.shapes import Shown
from emulator.vendors.azure.settings import AzureSettings


@record(frozen=True, slots=True, eq=False)
class Nature:
    """A deployment as requests meet it.

    Fields:
        openai: it answers in the form of Azure OpenAI.
        reasoning: it thinks aloud.
        default_tokens: most tokens of an answer to a request that sets no limit.
        shown: what chat answers show, by whether a stream ends with token counts, then by whether a tool is named.
    """

    deployment: Deployment
    settings: AzureSettings
    openai: bool
    reasoning: bool
    default_tokens: int | None
    shown: tuple[tuple[Shown, Shown], tuple[Shown, Shown]]


_NATURES: dict[tuple[int, int], Nature] = {}
_MOST = 1024


def nature_of(deployment: Deployment, settings: AzureSettings) -> Nature:
    """What is kept holds both, so nothing else takes their ``id``."""
    key = (id(deployment), id(settings))
    nature = _NATURES.get(key)
    if nature is None:
        if len(_NATURES) >= _MOST:
            _NATURES.clear()
        nature = _NATURES[key] = _find_nature(deployment, settings)
    return nature


def _find_nature(deployment: Deployment, settings: AzureSettings) -> Nature:
    openai = is_openai(deployment, settings)
    traits = deployment.traits

    def show(usage: bool, named_tool: bool) -> Shown:
        return Shown(
            openai=openai,
            usage=usage,
            named_tool=named_tool,
            filtered=openai and settings.content_filter_results,
            mistral=not openai and traits.get("provider") == "Mistral",
            inline=traits.get("reasoning") == "inline",
        )

    default = settings.default_max_tokens if deployment.default_max_tokens is None else deployment.default_max_tokens
    return Nature(
        deployment=deployment,
        settings=settings,
        openai=openai,
        reasoning=bool(traits.get("reasoning")),
        default_tokens=default,
        shown=((show(False, False), show(False, True)), (show(True, False), show(True, True))),
    )
