"""Judge the clients and write their page: ``python -m tests.tools.sdks [CLIENT…]``.

Clients that are not installed keep their rows. ``--scenario`` prints the outcomes of some scenarios; only ``--write``
puts them into the page.
"""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from emulator import start
from tests.tools.sdks import page
from tests.tools.sdks.clients import SDKS, Sdk
from tests.tools.sdks.plays import PLAYS
from tests.tools.sdks.run import PATIENCE, judge
from tests.untyped_json import JSON

parser = argparse.ArgumentParser(prog="python -m tests.tools.sdks", description=__doc__)
parser.add_argument("clients", nargs="*", metavar="CLIENT", help=f"default: all of {', '.join(SDKS)}")
parser.add_argument("--scenario", action="append", choices=PLAYS, help="play this one; repeatable")
parser.add_argument("--write", action="store_true", help="write them into the page, among the others")
parser.add_argument("--jobs", type=int, default=2, help="clients at a time")
parser.add_argument("--seconds", type=float, default=PATIENCE, help="after which a client is judged as it stands")
options = parser.parse_args()
if unknown := [name for name in options.clients if name not in SDKS]:
    parser.error(f"there is no client {', '.join(unknown)}; there are {', '.join(SDKS)}")


def judge_one(sdk: Sdk) -> JSON:
    with start() as server:  # its own: a client that retries without a wait would keep the others from theirs
        found = judge(server, sdk, options.scenario or (), options.seconds)
    print(f"{sdk.name} {sdk.release}", flush=True)
    for name, outcome in found.items():
        print(f"  {name}: {outcome['calls']} calls")
        for breach in outcome["broken"]:
            print(f"    {breach['rule']}: {breach['sentence']}")
        for error in outcome["raised"] if outcome["raised"] is not None else ["(has not ended)"]:
            print(f"    raised {error}")
    return {"date": f"{datetime.now(UTC):%Y-%m-%d}", "release": sdk.release, "scenarios": found}


chosen = [sdk for name, sdk in SDKS.items() if sdk.release and name in (options.clients or SDKS)]
with ThreadPoolExecutor(options.jobs) as pool:
    judged = dict(zip([sdk.name for sdk in chosen], pool.map(judge_one, chosen), strict=True))
if options.scenario and not options.write:
    sys.exit()
data = page.read_data()
for name, row in judged.items():
    known = data.get(name, row)["scenarios"] if options.scenario else {}
    data[name] = {**row, "scenarios": {**known, **row["scenarios"]}}
page.write_data(data)
page.write()
