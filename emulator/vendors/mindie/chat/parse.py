"""Parse ``POST /v1/chat/completions`` requests.

Source: MindIE-LLM, ``single_req_vllm_openai_infer_interface.cpp`` and ``utils/infer_param.cpp``.
"""

from emulator.core.http import Request
from emulator.core.requests import ChatRequest, Message
from emulator.core.vendor import InferenceCall
from emulator.vendors.mindie.chat.fields import validate_template
from emulator.vendors.mindie.chat.messages import Tools, join_parts, parse_messages, parse_tools
from emulator.vendors.mindie.chat.render import ChatCodec
from emulator.vendors.mindie.options import Options, parse_options
from emulator.vendors.mindie.profile import MindieService
from emulator.vendors.mindie.request import measure_lengths, parse_body, validate_headers
from emulator.vendors.mindie.request_ids import parse_id
from emulator.vendors.mindie.sampling import parse_model
from emulator.vendors.mindie.server_state import list_served, validate_serving


def parse_chat(request: Request, service: MindieService) -> InferenceCall:
    validate_headers(request, service)
    settings = service.settings
    fields = parse_body(request, settings)
    joined = join_parts(fields.get("messages"))
    served = list_served(request, service)
    model = parse_model(fields, served, "Model not found")
    deployment = validate_serving(request, served[model])
    tools = parse_tools(fields)
    validate_template(fields)
    messages = parse_messages(joined, settings.max_input_chars, len(request.body), tools=tools.given)
    count = service.count_chat(messages, tools.offered, deployment)
    options = parse_options(fields, service, deployment, chat=True)
    lengths = measure_lengths(service, deployment, count, options.asked)
    chat = _build_request(messages, tools, options, lengths.answer)
    request_id = parse_id(request)
    codec = ChatCodec(
        id=request_id,
        model=model,
        prompt_tokens=lengths.prompt,
        limit=lengths.answer,
        stops=options.sampling.stops,
        tokenizer=service.tokenizer(deployment),
        full_text=settings.full_text,
        split=settings.enable_reasoning,
        beams=options.sampling.beams,
        prefix_cache=settings.prefix_cache,
    )
    return InferenceCall(
        deployment=deployment,
        request=chat,
        codec=codec,
        stream=options.stream,
        prompt_tokens=(lengths.prompt,),
        repeatable=True,
        cancel_ids=request_id.names,
    )


def _build_request(messages: tuple[Message, ...], tools: Tools, options: Options, max_tokens: int) -> ChatRequest:
    sampling = options.sampling
    return ChatRequest(
        messages=messages,
        sampling=sampling.build_sampling(max_tokens, options.logprobs),
        tools=tools.offered,
        tool_choice=tools.choice,
        tool_name=tools.name,
        parallel=tools.name is None,
        format=options.form,
        schema=options.schema,
        reasoning="medium" if sampling.thinking else None,
    )
