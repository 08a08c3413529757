"""Templates of English prose."""

from tests.tools.prose.templates.base import Templates, split_lines

ENGLISH = Templates(
    lower_jobs=True,
    openers=split_lines("""
Yes, and the {noun} is the best place to start.
The short answer is that the {noun} matters more than the {noun}.
In short, the {noun} depends on the {noun} and on the time you can spend.
There are two ways to look at this, and both begin with the {noun}.
That is a good question, and {company} in {city} has answered it before.
The most common approach is to review the {noun} first and the {noun} afterwards.
It depends on what you expect from the {noun}.
Here is a brief overview of how the {noun} usually works.
To answer this, it helps to look at the {adjective} {noun} that {company} uses.
The main point is simple: without the {noun} there is no {adjective} {noun}.
You can do this in three steps, and the first one concerns the {noun}.
Most people begin with the {noun}, which is a reasonable choice.
Let us take the {noun} as an example.
Broadly speaking, the {noun} and the {noun} should be treated separately.
Both options work well, but the {adjective} {noun} needs less care.
The answer has changed since {month}, when the {noun} was revised.
"""),
    sentences=split_lines("""
{person} from {company} presented the {adjective} {noun} in {city} last {month}.
The team in {city} checked the {noun} twice before it was published.
By {month}, the {noun} should be ready for a first review.
According to {person}, the {noun} is easier to understand than the {noun}.
{company} has used the same {noun} for several years without any trouble.
A closer look at the {noun} shows where the time is lost.
If the {noun} changes, the {noun} has to change as well.
Everyone involved agreed that the {adjective} {noun} was worth the effort.
The {job} who joined in {month} now looks after the {noun}.
It is often enough to compare the {noun} with the one from {month}.
For this reason, {company} moved its {noun} to {city}.
Small changes to the {noun} can have a large effect on the {plural}.
{first} wrote down the {plural} and shared them with the others.
The {plural} were collected in {city} between {month} and the end of the year.
None of the {plural} explain why the {noun} took so long.
Without a clear {noun}, the {plural} are difficult to compare.
The first draft of the {noun} came from {person}.
Two of the {plural} were written by people who had never visited {city}.
The {noun} remains {adjective} as long as the {plural} are kept up to date.
People at {company} describe the {noun} as {adjective} and the {plural} as useful.
In practice, the {noun} matters most when the {plural} are new.
{first} and {first} spent most of {month} on the {noun}.
The {adjective} {noun} was chosen because it needs fewer {plural}.
On the other hand, the {noun} has its limits, and {company} knows them well.
The office in {city} keeps a copy of the {noun} for later use.
As a rule, the {plural} should be reviewed before the {noun} is approved.
What began as a simple {noun} soon became part of every {noun}.
Several {plural} from {city} support this view.
The {noun} that {person} suggested is both {adjective} and easy to explain.
After the visit to {city}, the {noun} was extended by a few {plural}.
This also helps new colleagues who have not seen the {noun} before.
There is no need to repeat the {noun} when the {plural} stay the same.
The {job} at {company} would probably start with the {plural}.
The results from {month} confirm that the {noun} is {adjective}.
In {city}, the same {noun} is used for all {plural}.
It takes about a week to prepare the {noun} and the {plural}.
Some of the {plural} can be removed without any loss.
{company} plans to share its {noun} with partners in {city}.
The {noun} was tested by {person}, who found it {adjective}.
Later in {month}, the {plural} were moved into the new {noun}.
This is where the {adjective} {noun} comes in.
Good {plural} make the {noun} shorter and easier to read.
The next step is to send the {noun} to {company} and wait for a reply.
Taken together, the {plural} give a fair picture of the {noun}.
"""),
    words={
        "month": "January February March April May June July August September October November December",
        "noun": """
            report plan budget schedule project model system method process design contract survey review
            summary network market product service program policy strategy document question solution library
            structure test result analysis proposal forecast meeting decision database process training workshop
            study guide index record standard layout pipeline setup checklist catalogue calendar approach
        """,
        "plural": """
            reports numbers results examples questions documents records notes tests projects ideas details
            changes requests examples products services tools costs prices files steps answers samples comments
            letters figures charts sources rules problems updates
        """,
        "adjective": """
            simple useful reliable clear careful complete modern flexible stable practical detailed recent
            common successful helpful accurate consistent efficient familiar reasonable
        """,
    },
)
