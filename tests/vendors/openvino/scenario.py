"""Scenario of the golden and live tests."""

SCENARIO = """
vendors: {openvino: {profile: "%s"}}
deployments:
  - {vendor: openvino, name: draft, kind: speculative}
  - {vendor: openvino, name: net, kind: classic}
  - {vendor: openvino, name: image, kind: other}
  - {vendor: openvino, name: draws, kind: image}
  - vendor: openvino
    name: dummy
    kind: classic
    traits: {inputs: [{name: b, shape: [1, 4]}], outputs: [{name: a, shape: [1, 3]}]}
  - {vendor: openvino, name: loading, state: loading}
  - {vendor: openvino, name: retired, state: retired}
  - {vendor: openvino, name: small, task: embeddings, dimensions: 3, tokenizer: bert}
rules:
  - name: hello
    when: {vendor: openvino, prompt: hello}
    reply: {text: "\\n\\nHow can I help you?"}
  - name: weather
    when: {vendor: openvino, prompt: {contains: weather}, tools: get_weather}
    reply: {tool_calls: [{name: get_weather, arguments: {city: Paris}}]}
  - name: weather in words
    when: {vendor: openvino, prompt: {contains: weather}}
    reply: {text: "It rains."}
  - name: thoughts
    when: {vendor: openvino, prompt: think}
    reply: {reasoning: "Let me see.", text: "Yes, it is."}
  - name: vector
    when: {vendor: openvino, deployment: small}
    reply: {embedding: [1.0, 2.0, 3.0]}
  - name: busy
    when: {vendor: openvino, prompt: busy}
    error: {kind: rate_limited, retry_after: 2s}
  - name: filtered
    when: {vendor: openvino, prompt: filtered}
    error: {kind: content_filter}
"""
