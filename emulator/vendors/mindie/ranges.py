"""Ranges of the numeric request fields of all routes, each with the server's text for a number outside.

Source: MindIE-LLM, ``utils/infer_param.cpp`` and the interface of each route.
"""

from emulator.protocols.ranges import Range, above, below

MAX_INT32 = 2147483647
MAX_UINT64 = 2**64 - 1
MAX_FLOAT = 3.4028234663852886e38
ABOVE_ZERO = 1e-6  # exclusive lower bound of temperature, and of top_p on the TGI-style routes

TEMPERATURE = Range(above(ABOVE_ZERO), MAX_FLOAT, "Parameter temperature must be in (0.0,3.40282e+38], got {}.")
TEMPERATURE_OR_ZERO = TEMPERATURE._replace(low=0.0)
TOP_K = Range(1, MAX_INT32, f"Parameter top_k must be in -1 || (0,{MAX_INT32}], got {{}}")
TOP_K_OR_ZERO = TOP_K._replace(low=0)
TOP_P = Range(above(0.0), 1.0, "Parameter top_p must be in (0.0,1.0], got {}.")
TOP_P_BELOW_ONE = TOP_P._replace(high=below(1.0))
TOP_P_OF_TGI = Range(above(ABOVE_ZERO), below(1.0), TOP_P.text)
TYPICAL_P = Range(above(0.0), 1.0, "Parameter typical_p must be in (0.0,1.0], got {}.")
SEED = Range(1, MAX_UINT64, f"seed must be in (0, {MAX_UINT64}], got {{}}.")
REPETITION = Range(above(0.0), MAX_FLOAT, "Parameter 'repetition_penalty' must be in (0.0, 3.40282e+38], got {}.")
REPETITION_TO_TWO = Range(above(0.0), 2.0, "Parameter 'repetition_penalty' must be in (0.0, 2], got {}.")
"""In vLLM's form as its manual says; the source has this maximum there, too, and applies it to OpenAI routes alone."""
FREQUENCY = Range(-2.0, 2.0, "Parameter frequency_penalty should be in [-2.0, 2.0], got {}.")
PRESENCE = Range(-2.0, 2.0, "Parameter presence_penalty not in [-2.0, 2.0], but got {}.")
MAX_NEW_TOKENS = Range(1, MAX_INT32, f"Parameter max_new_tokens must be in (0,{MAX_INT32}], got {{}}.")
BATCH_SIZE = MAX_NEW_TOKENS._replace(text=f"Parameter batch_size must be in (0,{MAX_INT32}], got {{}}.")
TRUNCATE = Range(1, MAX_INT32, f"truncate must be in (0,{MAX_INT32}], got {{}}.")
THINKING_BUDGET = Range(1, MAX_INT32, f"Parameter thinking_budget must be in [1,{MAX_INT32}], got {{}}")
PRIORITY = Range(1, 5, "Parameter priority must be in [1,5], got {}.")
TIMEOUT = Range(1, 65535, "Parameter timeout must be strictly positive and small than 65535 seconds, got {}.")
LOGPROBS = Range(0, 5, "logprobs should be in range [0, 5], got {}.")
TOP_LOGPROBS = Range(0, 20, "Parameter top logprobs must be in [0, 20], got {}.")
