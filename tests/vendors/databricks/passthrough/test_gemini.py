"""Gemini endpoints by the Gemini API."""

import pytest

from tests.untyped_json import JSON
from tests.vendors.databricks.harness import GPT, Exchange, send

FLASH = "databricks-gemini-2-5-flash"
SIGNING = "databricks-gemini-3-1-pro"
ASKED = {"role": "user", "parts": [{"text": "What is the weather in Paris?"}]}
TOOL = {"name": "find", "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}}
OTHER = {**TOOL, "name": "other"}
OFFER = [{"functionDeclarations": [TOOL, OTHER]}]
RESULT = {"role": "user", "parts": [{"functionResponse": {"name": "find", "response": {"result": "sunny"}}}]}


def called(times: int = 1, **part: JSON) -> JSON:
    return {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {"city": "x"}}, **part}] * times}


def ask(
    model: str = FLASH, method: str = "generateContent", base: str = "/serving-endpoints", **fields: JSON
) -> Exchange:
    return send(f"{base}/gemini/v1beta/models/{model}:{method}", {"contents": [ASKED], **fields})


def config(**fields: JSON) -> Exchange:
    return ask(generationConfig=fields)


@pytest.mark.covers("databricks/inference routes", "POST gemini/v1beta generateContent")
def test_several_candidates() -> None:
    body = config(candidateCount=3, maxOutputTokens=100).body
    assert [candidate["index"] for candidate in body["candidates"]] == [0, 1, 2]
    assert len({str(candidate["content"]) for candidate in body["candidates"]}) == 3
    usage = body["usageMetadata"]
    assert usage["totalTokenCount"] == sum(
        usage[name] for name in ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
    )


def test_response_that_ends_while_thinking_has_no_parts() -> None:
    (candidate,) = config(maxOutputTokens=5).body["candidates"]
    assert (candidate["content"], candidate["finishReason"]) == ({"role": "model"}, "MAX_TOKENS")


@pytest.mark.parametrize(
    ("thinking", "tokens"),
    [
        pytest.param({"thinkingBudget": 0}, 0, id="none"),
        pytest.param({"thinkingBudget": 100}, 24, id="a little"),
        pytest.param({"thinkingLevel": "HIGH"}, 160, id="much"),
        pytest.param({"thinkingBudget": -1}, 64, id="as it likes"),
    ],
)
def test_thinking_config_sets_thought_tokens(thinking: JSON, tokens: int) -> None:
    assert config(thinkingConfig=thinking).body["usageMetadata"].get("thoughtsTokenCount", 0) == tokens


def test_log_probabilities() -> None:
    (candidate,) = config(
        responseLogprobs=True, logprobs=2, maxOutputTokens=3, thinkingConfig={"thinkingBudget": 0}
    ).body["candidates"]
    result = candidate["logprobsResult"]
    assert "".join(entry["token"] for entry in result["chosenCandidates"]) == candidate["content"]["parts"][0]["text"]
    assert [len(entry["candidates"]) for entry in result["topCandidates"]] == [2, 2, 2]
    assert candidate["avgLogprobs"] <= 0


@pytest.mark.parametrize(
    ("calling", "names"),
    [
        pytest.param({"mode": "ANY", "allowedFunctionNames": ["other"]}, ["other"], id="one"),
        pytest.param({"mode": "NONE"}, [], id="none"),
    ],
)
def test_function_calling_config_limits_functions(calling: JSON, names: JSON) -> None:
    body = ask(tools=OFFER, toolConfig={"functionCallingConfig": calling}).body
    parts = body["candidates"][0]["content"]["parts"]
    assert [part["functionCall"]["name"] for part in parts if "functionCall" in part] == names


def test_function_call_requires_thought_signature() -> None:
    contents = [ASKED, called(thoughtSignature="c2lnbmVk"), RESULT]
    assert ask(SIGNING, contents=contents, tools=OFFER).status == 200
    unsigned = ask(SIGNING, contents=[ASKED, called(), RESULT], tools=OFFER)
    assert unsigned.status == 400
    assert "`default_api:find` , position 2" in unsigned.body["error"]["message"]
    assert ask(FLASH, contents=[ASKED, called(), RESULT], tools=OFFER).status == 200


@pytest.mark.covers("databricks/inference routes", "POST gemini/v1beta countTokens")
def test_count_tokens_counts_full_request() -> None:
    inner = {"model": f"models/{FLASH}", "contents": [ASKED], "systemInstruction": {"parts": [{"text": "Be brief."}]}}
    whole = send(f"/serving-endpoints/gemini/v1/models/{FLASH}:countTokens", {"generateContentRequest": inner}).body
    assert whole["totalTokens"] > ask(method="countTokens").body["totalTokens"]


@pytest.mark.covers("databricks/errors", "Gemini's own")
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param({"contents": []}, "* GenerateContentRequest.contents: contents is not specified\n", id="nothing"),
        pytest.param({"contents": [{"role": "user"}]},
                     "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.\n", id="no parts"),
        pytest.param({"contents": [{"role": "system", "parts": [{"text": "x"}]}]},
                     "Please use a valid role: user, model.", id="another role"),
        pytest.param({"contents": [ASKED, RESULT]}, "immediately after a function call turn", id="a result of no call"),
        pytest.param({"contents": [called(), RESULT]}, "immediately after a user turn", id="a call without a question"),
        pytest.param({"contents": [ASKED, called(2), RESULT]}, "is equal to the number of function call parts",
                     id="too few results"),
        pytest.param({"contents": [ASKED, called(), ASKED]}, "is equal to the number of function call parts",
                     id="no result"),
        pytest.param({"tools": [{"functionDeclarations": [TOOL, TOOL]}]}, "Duplicate function declaration found: find",
                     id="two of a name"),
        pytest.param({"tools": [{"functionDeclarations": [{"name": "1st"}]}]}, "Invalid function name", id="a name"),
        pytest.param({"tools": OFFER, "toolConfig": {"functionCallingConfig": {"allowedFunctionNames": ["find"]}}},
                     "only when function calling mode is ANY", id="names without a mode"),
        pytest.param({"tools": OFFER,
                      "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["x"]}}},
                     "not declared: x", id="a name that is not offered"),
        pytest.param({"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}, "without function_declarations",
                     id="a choice of nothing"),
        *(pytest.param({"generationConfig": fields}, message, id=f"config {fields}") for fields, message in [
            ({"temperature": 2.1}, "temperature must be in the range [0.0, 2.0]."),
            ({"topP": -0.1}, "top_p must be in the range [0.0, 1.0]."),
            ({"topK": 0}, "top_k must be positive."),
            ({"maxOutputTokens": 0}, "max_output_tokens must be positive."),
            ({"maxOutputTokens": 70_000}, "the supported range is from 1 (inclusive) to 65536 (exclusive)"),
            ({"candidateCount": 9}, "candidate_count must be in the range [1, 8]."),
            ({"logprobs": 1}, "logprobs only allowed when response_logprobs is set to true."),
            ({"responseMimeType": "text/html"}, "response_mime_type allowed mimetypes are text/plain"),
            ({"responseSchema": {}}, "response_schema only allowed when response_mime_type is application/json."),
        ]),
    ],
)  # fmt: skip
def test_invalid_requests_are_refused(fields: JSON, message: str) -> None:
    answer = ask(**fields)
    assert (answer.status, answer.body["error"]["code"], answer.body["error"]["status"]) == (
        400,
        400,
        "INVALID_ARGUMENT",
    )
    assert message in answer.body["error"]["message"]


@pytest.mark.slow
@pytest.mark.covers("databricks/AI gateway routes", "gemini/v1beta")
def test_prompt_over_context_limit_is_refused() -> None:
    words = {"contents": [{"parts": [{"text": "word " * 1_100_000}]}]}
    error = send(f"/ai-gateway/gemini/v1/models/{FLASH}:generateContent", words, payload_limit_bytes=10**8).body[
        "error"
    ]
    assert "exceeds the maximum number of tokens allowed (1048576)" in error["message"]


def test_other_model_family_is_refused() -> None:
    assert f"not supported for model {GPT}" in ask(GPT).body["error"]["message"]


HARM = "HARM_CATEGORY_HARASSMENT"
_PLACE = "type.googleapis.com/google.ai.generativelanguage.v1beta"


def test_rated_categories_have_ratings() -> None:
    settings = [
        {"category": HARM, "threshold": "BLOCK_ONLY_HIGH"},
        {"category": "HARM_CATEGORY_HATE_SPEECH", "threshold": "OFF"},
    ]
    (candidate,) = ask(safetySettings=settings).body["candidates"]
    assert candidate["safetyRatings"] == [{"category": HARM, "probability": "NEGLIGIBLE"}]
    assert "safetyRatings" not in ask(safetySettings=settings[1:]).body["candidates"][0]


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ({"category": "ODD"}, f"Invalid value at 'safety_settings[0].category' ({_PLACE}.HarmCategory), \"ODD\""),
        (
            {"category": HARM, "threshold": "NOW"},
            f"Invalid value at 'safety_settings[0].threshold' ({_PLACE}.SafetySetting.HarmBlockThreshold), \"NOW\"",
        ),
        (
            {"category": HARM, "level": 1},
            "Invalid JSON payload received. Unknown name \"level\" at 'safety_settings[0]': Cannot find field.",
        ),
        ({"threshold": "OFF"}, "* GenerateContentRequest.safety_settings[0].category: element predicate failed: "),
    ],
)
def test_wrong_safety_setting_is_refused(setting: JSON, text: str) -> None:
    refused = ask(safetySettings=[setting])
    assert refused.status == 400
    assert refused.body["error"]["message"].startswith(text)
    assert ask(safetySettings=[{"category": HARM}, {"category": HARM}]).status == 400
