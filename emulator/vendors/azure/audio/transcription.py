"""``POST /audio/transcriptions`` and ``/audio/translations``: parse a form with a sound, and render its transcript.

Sources: openai/openai-openapi, "Audio"; Azure/azure-rest-api-specs, ``/deployments/{deployment}/audio``; vercel/ai
issue 8214 (formats of a model). Texts of other refusals unverified.
"""

import hashlib
from collections import deque
from collections.abc import Iterator
from math import ceil
from typing import Literal

from emulator.core.calls import InferenceCall
from emulator.core.dataclass import fast_dataclass
from emulator.core.errors import EmulatedError
from emulator.core.http import Event, Request, Response, StreamingResponse
from emulator.core.json import JSON, Object, as_array, dump_json, parse_json
from emulator.core.plan import Logprob, Plan
from emulator.core.requests import CompletionRequest, Sampling
from emulator.encoding.multipart import Form
from emulator.encoding.sse import encode_event
from emulator.protocols.choice_events import FINISH, PLAIN, USAGE, last_due
from emulator.vendors.azure.audio.container import read_sound, validate_choice, validate_fields
from emulator.vendors.azure.audio.transcript import (
    format_srt,
    format_vtt,
    list_segments,
    list_speakers,
    list_words,
    split_parts,
)
from emulator.vendors.azure.decoder import Fraction, WireModel
from emulator.vendors.azure.errors import refusals
from emulator.vendors.azure.forms import read_form, read_members
from emulator.vendors.azure.headers import answer_headers
from emulator.vendors.azure.profile import AzureService, DeploymentProfile
from emulator.vendors.azure.request import ParsedRequest, parse_request
from emulator.vendors.azure.url_kind import OPENAI_KINDS

_FORMATS = ("json", "text", "srt", "verbose_json", "vtt", "diarized_json")
_TEXT_TYPE = ("Content-Type", "text/plain; charset=utf-8")
_TOKENS_PER_SECOND = 4
_AUDIO_TOKENS_PER_SECOND = 10
_MAX_UNCHUNKED = 30  # seconds that a model of speakers transcribes as one
_MAX_SPEAKERS = 4
# Languages of Whisper by ISO 639 code, as its transcripts name them. Source: openai/whisper, tokenizer.py.
_LISTED = """
    en english zh chinese de german es spanish ru russian ko korean fr french ja japanese pt portuguese tr turkish
    pl polish ca catalan nl dutch ar arabic sv swedish it italian id indonesian hi hindi fi finnish vi vietnamese
    he hebrew uk ukrainian el greek ms malay cs czech ro romanian da danish hu hungarian ta tamil no norwegian th thai
    ur urdu hr croatian bg bulgarian lt lithuanian la latin mi maori ml malayalam cy welsh sk slovak te telugu
    fa persian lv latvian bn bengali sr serbian az azerbaijani sl slovenian kn kannada et estonian mk macedonian
    br breton eu basque is icelandic hy armenian ne nepali mn mongolian bs bosnian kk kazakh sq albanian sw swahili
    gl galician mr marathi pa punjabi si sinhala km khmer sn shona yo yoruba so somali af afrikaans oc occitan
    ka georgian be belarusian tg tajik sd sindhi gu gujarati am amharic yi yiddish lo lao uz uzbek fo faroese
    ht haitian_creole ps pashto tk turkmen nn nynorsk mt maltese sa sanskrit lb luxembourgish my myanmar bo tibetan
    tl tagalog mg malagasy as assamese tt tatar haw hawaiian ln lingala ha hausa ba bashkir jw javanese su sundanese
    yue cantonese
"""
_WORDS = _LISTED.split()
_LANGUAGES = {code: name.replace("_", " ") for code, name in zip(_WORDS[::2], _WORDS[1::2], strict=True)}


class TranslationFields(WireModel):
    """Fields of a translation."""

    model: str | None = None
    prompt: str | None = None
    response_format: str = "json"
    temperature: Fraction | None = None


class TranscriptionFields(TranslationFields):
    """Fields of a transcription."""

    language: str | None = None
    languages: list[str] | None = None
    keywords: list[str] | None = None
    include: list[Literal["logprobs"]] | None = None
    timestamp_granularities: list[Literal["word", "segment"]] | None = None
    stream: bool | None = None
    chunking_strategy: str | dict[str, JSON] | None = None
    known_speaker_names: list[str] | None = None
    known_speaker_references: list[str] | None = None


def parse_transcription(request: Request, service: AzureService) -> InferenceCall:
    """``POST /audio/transcriptions``."""
    return _parse(request, service, "transcription", TranscriptionFields)


def parse_translation(request: Request, service: AzureService) -> InferenceCall:
    """``POST /audio/translations``: to English, by Whisper alone."""
    return _parse(request, service, "translation", TranslationFields)


def _parse(request: Request, service: AzureService, kind: str, model: type[TranslationFields]) -> InferenceCall:
    forms: list[Form] = []

    def read(request: Request, settings: object) -> JSON:
        forms.append(read_form(request))
        return read_members(forms[0])

    parsed = parse_request(request, service, "transcription", OPENAI_KINDS, kind, read=read)
    profile = parsed.profile
    if kind == "translation" and not profile.traits.get("translates"):
        raise refusals.wrong_route(kind, "transcription", profile.model)
    wire = validate_fields(model, parsed.body, profile)
    _validate_format(wire, profile)
    if isinstance(wire, TranscriptionFields):
        _validate_fields(wire, profile)
    name, sound, seconds = read_sound(forms[0], profile)
    if isinstance(wire, TranscriptionFields):
        _validate_chunks(wire, seconds, profile)
    return _build_call(parsed, wire, name, sound, seconds)


def _build_call(
    parsed: ParsedRequest, wire: TranslationFields, name: str, sound: bytes, seconds: float
) -> InferenceCall:
    """Return a call for text in proportion to the sound; rules of a scenario match the file's name as its prompt."""
    profile = parsed.profile
    wants = wire if isinstance(wire, TranscriptionFields) else TranscriptionFields()
    path = parsed.request.path.rpartition("/")[2]
    digest = hashlib.sha256(sound + path.encode() + repr((wire.prompt, wants.language)).encode()).hexdigest()
    text_tokens = parsed.service.tokenizer(parsed.deployment).count(wire.prompt) if wire.prompt else 0
    generation = CompletionRequest(
        prompts=(name,),
        sampling=Sampling(
            max_tokens=max(_TOKENS_PER_SECOND, int(seconds * _TOKENS_PER_SECOND)),
            seed=0,
            parameters=(("file", digest), ("temperature", wire.temperature or 0)),
            logprobs=0 if wants.include else None,
        ),
    )
    return InferenceCall(
        deployment=parsed.deployment,
        request=generation,
        codec=TranscriptionCodec(
            profile=profile, wire=wants.model_copy(update=dict(wire)), task=path, seconds=seconds, text=text_tokens
        ),
        stream=wants.stream is True and bool(profile.traits.get("streams")),
        prompt_tokens=(text_tokens + ceil(seconds * _AUDIO_TOKENS_PER_SECOND),),
        repeatable=True,
    )


def _validate_format(wire: TranslationFields, profile: DeploymentProfile) -> None:
    known = [str(each) for each in as_array(profile.traits.get("audio_formats", [*_FORMATS]))]
    wanted = wire.response_format
    if profile.traits.get("container"):
        validate_choice("response_format", wanted, known, profile)
        return
    validate_choice("response_format", wanted, _FORMATS, profile)
    if wanted not in known:
        listed = " or ".join(f"'{name}'" for name in known)
        text = f"response_format '{wanted}' is not compatible with model '{profile.model}'. Use {listed} instead."
        raise refusals.contradicts(text, "response_format", "unsupported_value")


def _validate_fields(wire: TranscriptionFields, profile: DeploymentProfile) -> None:
    traits = profile.traits
    if wire.language is not None and wire.language.lower() not in _LANGUAGES:
        text = f"Invalid language '{wire.language}'. Language parameter must be specified in ISO-639-1 format."
        raise refusals.contradicts(text, "language", "invalid_language_format")
    given: dict[str, object] = {
        "include": wire.include if not traits.get("logprobs") else None,
        "known_speaker_names": wire.known_speaker_names if not traits.get("diarizes") else None,
        "known_speaker_references": wire.known_speaker_references if not traits.get("diarizes") else None,
        "prompt": wire.prompt if traits.get("diarizes") else None,
        "languages": wire.languages if not traits.get("detects") else None,
        "keywords": wire.keywords if not traits.get("detects") else None,
    }
    wrong = next((name for name, value in given.items() if value is not None), None)
    if wrong is not None:
        text = f"Unsupported parameter: '{wrong}' is not supported with this model."
        raise refusals.contradicts(text, wrong, "unsupported_parameter")
    names, samples = wire.known_speaker_names or [], wire.known_speaker_references or []
    if len(names) > _MAX_SPEAKERS:
        raise refusals.too_long("known_speaker_names", names, _MAX_SPEAKERS)
    if len(names) != len(samples):
        text = "known_speaker_names and known_speaker_references must have the same length"
        raise refusals.contradicts(text, "known_speaker_names", "invalid_value")


def _validate_chunks(wire: TranscriptionFields, seconds: float, profile: DeploymentProfile) -> None:
    strategy = wire.chunking_strategy
    if strategy is None:
        if profile.traits.get("diarizes") and seconds > _MAX_UNCHUNKED:
            text = "chunking_strategy is required for diarization models"
            raise refusals.contradicts(text, "chunking_strategy", "invalid_value")
        return
    if isinstance(strategy, str) and strategy.startswith("{"):
        try:
            strategy = parse_json(strategy)  # type: ignore[assignment]
        except ValueError:
            raise _error_chunks(str(wire.chunking_strategy)) from None
    name = strategy.get("type") if isinstance(strategy, dict) else strategy
    if name != ("server_vad" if isinstance(strategy, dict) else "auto"):
        raise _error_chunks(str(name))


def _error_chunks(value: str) -> EmulatedError:
    return refusals.invalid_value("chunking_strategy", value, ("auto", "server_vad"))


@fast_dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TranscriptionCodec:
    """Codec of transcripts in each format, and of their streams.

    Fields:
        task: ``transcriptions`` or ``translations``.
        seconds: duration of the sound.
        text: tokens of the prompt; all others of the request are of the sound.
    """

    profile: DeploymentProfile
    wire: TranscriptionFields
    task: str
    seconds: float
    text: int

    def render(self, plan: Plan, request: Request) -> Response:
        headers = answer_headers(plan, request, self.profile)
        wanted, choice = self.wire.response_format, plan.choices[0]
        if wanted not in ("text", "srt", "vtt"):
            return Response(200, dump_json(self._shape(plan)), headers)
        text = f"{choice.text()}\n"
        if wanted != "text":
            text = (format_srt if wanted == "srt" else format_vtt)(split_parts(choice, self.seconds))
        return Response(200, text.encode(), (_TEXT_TYPE, *headers[1:]))

    def _shape(self, plan: Plan) -> Object:
        choice, wanted = plan.choices[0], self.wire.response_format
        text = choice.text()
        translates = self.task == "translations"
        if wanted == "diarized_json":
            spoken: list[JSON] = [*list_speakers(choice, self.seconds, self._speakers, plan.key)]
            head: Object = {"task": "transcribe", "duration": self.seconds, "text": text, "segments": spoken}
            return {**head, "usage": self._count_seconds()}
        if wanted == "verbose_json":
            return self._shape_verbose(plan, text)
        shaped: Object = {"text": text}
        if self.profile.traits.get("detects"):
            shaped["languages"] = self._detect()
        if choice.logprobs is not None:
            shaped["logprobs"] = [*map(_build_logprob, choice.logprobs)]
        return shaped if translates else {**shaped, "usage": self._count(plan)}

    def _shape_verbose(self, plan: Plan, text: str) -> Object:
        """Source of ``task``: recorded answers of Whisper in Azure/azure-rest-api-specs."""
        choice, wire = plan.choices[0], self.wire
        translates = self.task == "translations"
        shaped: Object = {
            "task": "translate" if translates else "transcribe",
            "language": "english" if translates else _LANGUAGES[(wire.language or "en").lower()],
            "duration": self.seconds,
            "text": text,
        }
        kinds = wire.timestamp_granularities or ["segment"]
        if "word" in kinds:
            shaped["words"] = list_words(text, self.seconds)
        if "segment" in kinds:
            shaped["segments"] = list_segments(choice, self.seconds, wire.temperature or 0.0, plan.key)
        return shaped if translates else {**shaped, "usage": self._count_seconds()}

    @property
    def _speakers(self) -> list[str]:
        return self.wire.known_speaker_names or []

    def _detect(self) -> list[JSON]:
        codes = self.wire.languages or [self.wire.language or "en"]
        return [{"code": code} for code in codes[:1]]

    def _count(self, plan: Plan) -> Object:
        if self.profile.traits.get("bills") == "seconds":
            return self._count_seconds()
        usage = plan.usage
        details: Object = {"text_tokens": self.text, "audio_tokens": usage.prompt_tokens - self.text}
        return {
            "type": "tokens",
            "input_tokens": usage.prompt_tokens,
            "input_token_details": details,
            "output_tokens": usage.completion_tokens,
            "total_tokens": usage.total_tokens,
        }

    def _count_seconds(self) -> Object:
        return {"type": "duration", "seconds": ceil(self.seconds)}

    def stream(self, plan: Plan, request: Request) -> StreamingResponse:
        headers = answer_headers(plan, request, self.profile, stream=True)
        return StreamingResponse(self._stream(plan), headers)

    def _stream(self, plan: Plan) -> Iterator[Event]:
        """Yield a delta a token, the segments of speakers after their last token, and the whole text."""
        choice = plan.choices[0]
        spoken = self._list_spoken(plan)
        for position, token in enumerate(choice.tokens):
            due, count = choice.due[position], position + 1
            if token:
                delta: Object = {"type": "transcript.text.delta", "delta": token}
                if choice.logprobs is not None:
                    delta["logprobs"] = [_build_logprob(choice.logprobs[position])]
                if spoken:
                    delta["segment_id"] = spoken[0][1]["id"]
                yield due, encode_event(delta), count, PLAIN
            if spoken and count == spoken[0][0]:
                yield due, encode_event(spoken.popleft()[1]), count, PLAIN
        done: Object = {"type": "transcript.text.done", "text": choice.text()}
        if self.profile.traits.get("detects"):
            done["languages"] = self._detect()
        if choice.logprobs is not None:
            done["logprobs"] = [*map(_build_logprob, choice.logprobs)]
        end = last_due(choice, plan.due)
        yield end, encode_event({**done, "usage": self._count(plan)}), len(choice.tokens), FINISH | USAGE

    def _list_spoken(self, plan: Plan) -> deque[tuple[int, Object]]:
        """Return the segments of speakers, each with the number of tokens after which it is complete."""
        if not self.profile.traits.get("diarizes"):
            return deque()
        choice = plan.choices[0]
        ends = [part.last for part in split_parts(choice, self.seconds)]
        return deque(zip(ends, list_speakers(choice, self.seconds, self._speakers, plan.key), strict=True))


def _build_logprob(entry: Logprob) -> JSON:
    return {"token": entry.token, "logprob": entry.logprob, "bytes": [*entry.token.encode()]}
