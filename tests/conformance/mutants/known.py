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
    r"rules azure seed .*: (\w+_penalty|max_tokens|seed|temperature|top_p) retyped bool refused": (
        "the profile of the documentation takes no type for another, the container's does (setting strict_types)"
    ),
    r"rules azure foundry .*: model retyped null refused": (
        "a null model is none, and Foundry demands one (Azure AI Foundry, recorded errors no_model_name)"
    ),
    r"rules databricks  \S*/(chat/completions/?|completions|embeddings|responses): model (dropped|renamed|retyped null) refused": (
        "the path names no endpoint, so the model does (databricks-sdk, openai client of serving endpoints)"
    ),
    r"rules databricks  .*: (tools\[\]|tools\[\]\.function_declarations\[\]) doubled refused": (
        "names of functions are unique (Databricks REST reference; Gemini API: duplicate function declaration)"
    ),
    r"rules databricks  .*(gpt-oss.*|gemini.*|chat/completions/?): messages\[\]\.content retyped list accepted": (
        "whether an empty list of parts is refused: unverified"
    ),
    r"rules databricks  .*/anthropic/v1/messages: messages\[\]\.content(\[\] dropped| retyped list) refused": (
        "an empty message is refused (anthropics/claude-code issue 6774)"
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
    # official descriptions
    r"\S+ (azure|databricks|openvino) .*: [\w.\[\]]+ retyped null accepted": (
        "description: null is absent (openai-python sends it, protobuf's JSON mapping, pydantic's Optional)"
    ),
    r"(openapi|openresponses|azure-openai-v1) .*/responses: (input|model) (dropped|retyped (list|null)) refused": (
        "description: nothing is required since prompts have ids; without one the service demands both (recorded errors)"
    ),
    r"(openapi|openresponses|azure-inference-\S+) .*: tools\[\](\.function)?\.parameters\..* refused": (
        "description: leaves the schema of parameters open, which the service validates (recorded errors)"
    ),
    r"openapi azure aoai .*: model dropped accepted": "the path names the deployment (Azure OpenAI REST API reference)",
    r"openapi azure aoai .*: tools\[\] dropped refused": "description: has no least number (recorded error, empty array)",
    r"azure-openai-2024-02-01 azure aoai .*: (foo|response_format) dropped accepted": (
        "description: has no model, which the path names; clients send it (openai-python)"
    ),
    r"azure-openai-2024-02-01 azure aoai .*: model dropped refused": "the model refuses response_format, not the schema",
    r"openresponses databricks .*: tools\[\] doubled refused": "names of functions are unique (Databricks REST reference)",
    r"openresponses openvino .*: \w+ renamed accepted": "OpenVINO ignores what it does not know (openai_api_handler.cpp)",
    r"azure-inference-\S+ azure .*: messages\[\]\.content (dropped|renamed|retyped \w+) refused": (
        "description: holds the base of all messages alone; each role demands its content (recorded errors)"
    ),
    r"azure-inference-\S+ azure .*: (messages\[\]\.content|stream|temperature|tools|encoding_format) renamed refused": (
        "description: leaves the body open for extra parameters, which the header does not admit here"
    ),
    r"azure-inference-\S+ azure .*: model (dropped|renamed) refused": "with several deployments a model is demanded, and no other name",
    r"azure-inference-\S+ azure .*: temperature (dropped|retyped float) refused": (
        "the golden's role is invalid as well, of which the description of the base has nothing"
    ),
    r"azure-inference-\S+ azure .*: tools\[\]\.function\.parameters renamed accepted": (
        "members further down are ignored (azureml foundation-models, pydantic's default)"
    ),
    r"azure-inference-\S+ azure .*: input(\[\])? (dropped refused|retyped (str|int) accepted)": (
        "description: texts alone; servers take one text and tokens, and demand one (Azure, Reference: Embeddings)"
    ),
    r"(gemini|aiplatform) databricks .*: contents(\[\])?(\.parts(\[\])?)? (dropped refused|retyped dict accepted)": (
        "description: what is required is in words alone, and one message stands for a list of one (recorded errors)"
    ),
    r"(gemini|aiplatform) databricks .*: generationConfig\.temperature retyped int refused": (
        "description: has the range in words, 0 to 2"
    ),
    r"kserve mindie .*": "MindIE takes one input and one output of token ids (single_req_triton_token_infer_interface.cpp)",
    r"kserve openvino .*: inputs\[\].* refused": "the model's inputs: their number, size and type (model_server, kserve.md)",
    r"kserve openvino .*: id renamed accepted": "OpenVINO ignores what it does not know (rest_parser.cpp)",
    r"kserve-generate mindie .*: parameters.* (renamed|retyped null) accepted": (
        "MindIE ignores what it does not know, and null is absent (parse_protocol.cpp)"
    ),
    r"tgi tgi \S+ .* doubled refused": "serde refuses a field twice",
    r"tgi tgi \S+ .* (renamed|retyped null|dropped) accepted": (
        "serde ignores unknown fields, and Option takes null (text-generation-inference, router/src/lib.rs)"
    ),
    r"tgi tgi \S+ .*: parameters retyped list accepted": "serde reads a struct from a list, too",
    r"tgi tgi \S+ .*: parameters\.do_sample dropped refused": f"{_TOGETHER} best_of needs sampling (validation.rs)",
    r"tgi tgi 0\.9\.4 .*: parameters\.top_n_tokens .* accepted": "the release has no such parameter",
    r"tgi tgi 3 /v1/completions: prompt retyped str accepted": "description: a list alone; the router takes one text (lib.rs, Prompt)",
}
