"""Verdicts on mutants that rules or a description do not explain, with their reasons, by a pattern of their text.

The text is the description (``rules`` for those of the specifications), vendor, profile, path, place, change and
verdict. The lists must not grow without a reason.
"""

# ruff: noqa: E501 -- one pattern, one line

from collections.abc import Mapping

_TOGETHER = "rules of fields together, which a schema cannot say:"

KNOWN: Mapping[str, str] = {
    r"rules azure aoai .*: stream (dropped|retyped null) refused": (
        f"{_TOGETHER} stream_options needs stream (OpenAI API reference)"
    ),
    r"rules azure foundry .*: model retyped null refused": (
        "a null model is none, and Foundry demands one (Azure AI Foundry, recorded errors no_model_name)"
    ),
    r"rules databricks  \S*/(chat/completions/?|completions|embeddings|responses): model (dropped|retyped null) refused": (
        "the path names no endpoint, so the model does (databricks-sdk, openai client of serving endpoints)"
    ),
    r"rules databricks  .*: (tools\[\]|tools\[\]\.function_declarations\[\]) doubled refused": (
        "names of functions are unique (Databricks REST reference; Gemini API: duplicate function declaration)"
    ),
    r"rules databricks  .*(gpt-oss.*|chat/completions/?): messages\[\]\.content retyped list accepted": (
        "whether an empty list of parts is refused: unverified"
    ),
    r"rules databricks  .*: input retyped list refused": "an empty list has no item (Databricks REST reference, 'at least one')",
    r"rules databricks  .*: logprobs (dropped|retyped null) refused": (
        f"{_TOGETHER} top_logprobs needs logprobs (Databricks REST reference)"
    ),
    r"rules databricks  .*: dataframe_split\.(columns\[\]|data\[\]\[\]) (doubled|dropped) refused": (
        f"{_TOGETHER} as many columns as the rows are wide (pandas)"
    ),
    r"rules mindie motor .*: stream retyped null refused": (
        "the Coordinator takes a boolean alone (MindIE-Motor, request_listener)"
    ),
    r"rules mindie \w+ /v1/chat/completions: messages\[\]\.(role|content) retyped \w+ refused": (
        "with tools the role is one of four, and a null is none (MindIE-LLM, single_req_vllm_openai_infer_interface.cpp)"
    ),
    r"rules mindie strict /: inputs\[\]\.(image_url|text) (dropped|renamed|retyped (dict|null)) refused": (
        f"{_TOGETHER} the payload is the member that the type names (MindIE-LLM, tokenizer.py)"
    ),
    r"rules mindie strict /v1/(chat/)?completions: (max_tokens|temperature|use_beam_search) (dropped|renamed|retyped null) refused": (
        f"{_TOGETHER} more than one choice needs sampling or beams, and beams a limit (MindIE-LLM)"
    ),
    r"rules mindie strict .*/infer: inputs\[\]\.(data|shape)\[\] (doubled|dropped) refused": (
        f"{_TOGETHER} the data has the size of the shape (MindIE-LLM, single_req_triton_token_infer_interface.cpp)"
    ),
    r"rules tgi \S+ .*: (parameters|stream_options) retyped list accepted": "serde reads a struct from a list, too",
    r"rules tgi \S+ .*: parameters\.do_sample (dropped|renamed) refused": (
        f"{_TOGETHER} best_of needs sampling (text-generation-inference, validation.rs)"
    ),
    r"rules tgi 3 .*: messages\[\] doubled refused": "the model's chat template demands alternating roles",
    r"rules openvino .*/infer: inputs\[\]\.shape\[\] retyped bool refused": "Python has true for 1 in the rules' schema",
    r"rules openvino .*: (best_of|num_assistant_tokens) (dropped|renamed) refused": (
        f"{_TOGETHER} n needs best_of, a speculative graph its number (model_server, openai_completions.cpp)"
    ),
    r"rules openvino .*: stream (dropped|renamed) refused": (
        f"{_TOGETHER} stream_options needs stream (model_server, openai_completions.cpp)"
    ),
}
