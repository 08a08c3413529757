"""``POST /v1/chat/completions``: from the wire to a call.

Source: MindIE-LLM, ``single_req_vllm_openai_infer_interface.cpp`` and ``utils/infer_param.cpp``.
"""

from dataclasses import replace

from emulator.core.call import ChatAsk, Message, Sampling
from emulator.core.vendor import Call
from emulator.core.wire import WireRequest
from emulator.vendors.mindie.chat.codec import ChatCodec
from emulator.vendors.mindie.chat.fields import check_template, read_logprobs, read_response_format
from emulator.vendors.mindie.chat.messages import Tools, join_parts, read_messages, read_tools
from emulator.vendors.mindie.decoder import read_boolean
from emulator.vendors.mindie.ids import read_id
from emulator.vendors.mindie.request import check_headers, measure_lengths, read_body
from emulator.vendors.mindie.sampling import check_choices, check_features, read_max_tokens, read_model, read_sampling
from emulator.vendors.mindie.settings import MindieService
from emulator.vendors.mindie.state import check_serving, find_bounds, list_served


def parse_chat(request: WireRequest, service: MindieService) -> Call:
    check_headers(request, service)
    settings = service.settings
    fields = read_body(request, settings)
    given = join_parts(fields.get("messages"))
    served = list_served(request, service)
    model = read_model(fields, served, "Model not found")
    deployment = check_serving(request, served[model])
    tools = read_tools(fields)
    check_template(fields)
    messages = read_messages(given, settings.max_input_chars, len(request.body), tools=tools.given)
    count = service.count_chat(messages, tools.offered, deployment)
    sampling = read_sampling(fields, settings, chat=True)
    top = read_logprobs(fields)
    asked = read_max_tokens(fields) or find_bounds(service, deployment).answer
    stream = read_boolean(fields, "stream") or False
    form, schema = read_response_format(fields)
    check_choices(sampling, stream=stream)
    check_features(sampling, settings, asked, top)
    lengths = measure_lengths(service, deployment, count, asked)
    ask = _make_ask(messages, tools, sampling.make_sampling(lengths.answer, top), thinking=sampling.thinking)
    request_id = read_id(request)
    codec = ChatCodec(
        id=request_id,
        model=model,
        prompt_tokens=lengths.prompt,
        limit=lengths.answer,
        stops=sampling.stops,
        tokenizer=service.tokenizer(deployment),
        full_text=settings.full_text,
        split=settings.enable_reasoning,
        beams=sampling.beams,
        prefix_cache=settings.prefix_cache,
    )
    return Call(
        deployment=deployment,
        ask=replace(ask, format=form, schema=schema),
        codec=codec,
        stream=stream,
        prompt_tokens=(lengths.prompt,),
        repeatable=True,
        names=request_id.names,
    )


def _make_ask(messages: tuple[Message, ...], tools: Tools, sampling: Sampling, *, thinking: bool) -> ChatAsk:
    return ChatAsk(
        messages=messages,
        sampling=sampling,
        tools=tools.offered,
        tool_choice=tools.choice,
        tool_name=tools.name,
        parallel=tools.name is None,
        reasoning="medium" if thinking else None,
    )
