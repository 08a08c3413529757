"""Templates of Korean prose."""

from tests.tools.prose.templates.base import Templates, split_lines

# Every Korean noun here ends in a consonant, which decides the particle behind it.
KOREAN = Templates(
    spaced_names=False,
    openers=split_lines("""
네, 먼저 {noun}을 확인하는 것이 좋습니다.
간단히 말하면 {noun}이 {noun}보다 더 중요합니다.
좋은 질문입니다. 답은 {noun}에 달려 있습니다.
보통은 {noun}을 준비하는 것부터 시작합니다.
"""),
    sentences=split_lines("""
{person} 님이 {month}에 새로운 {noun}을 발표했습니다.
팀에서는 공개하기 전에 {noun}을 두 번 검토했습니다.
{month}까지 {noun}이 준비될 예정입니다.
{person} 님은 {noun}이 {noun}보다 이해하기 쉽다고 말합니다.
{noun}이 바뀌면 {noun}도 함께 바뀌어야 합니다.
모두가 {noun}이 가치 있었다는 데 동의했습니다.
실제로는 {noun}이 가장 중요한 역할을 합니다.
{month}의 결과는 {noun}이 효과적이라는 것을 보여 줍니다.
{noun}을 준비하는 데 약 일주일이 걸립니다.
다음 단계는 {noun}을 보내고 답변을 기다리는 것입니다.
그래서 {month}에 {noun}을 다시 정리했습니다.
분명한 {noun}이 없으면 결과를 비교하기 어렵습니다.
"""),
    words={
        "month": "1월 2월 3월 4월 5월 6월 7월 8월 9월 10월 11월 12월",
        "noun": "계획 시스템 모델 방법 과정 제품 일정 예산 목록 기준 설명 사업 질문",
    },
)
