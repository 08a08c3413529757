"""Templates of Portuguese prose."""

from tests.tools.prose.templates.base import Templates, split_lines

PORTUGUESE = Templates(
    openers=split_lines("""
Sim, e o melhor é começar pelo {noun}.
Em resumo, o {noun} é mais importante do que o {noun}.
Essa é uma boa pergunta, e o {noun} ajuda a responder.
Depende do que se espera do {noun}.
"""),
    sentences=split_lines("""
{person} apresentou o {noun} em {month}.
A equipe verificou o {noun} duas vezes antes da entrega.
O {noun} deve ficar pronto em {month}.
Segundo {person}, o {noun} é mais fácil de entender do que o {noun}.
Se o {noun} mudar, o {noun} também precisa mudar.
Todos concordaram que o {noun} valeu o esforço.
Na prática, o {noun} continua {adjective}.
O {noun} de {month} confirma que o {noun} é {adjective}.
Leva cerca de uma semana para preparar o {noun}.
O próximo passo é enviar o {noun} e esperar a resposta.
Por isso, o {noun} foi revisado em {month}.
Sem um {noun} claro, é difícil comparar os resultados.
"""),
    words={
        "month": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "noun": "relatório plano projeto modelo sistema método processo contrato resumo produto serviço programa teste",
        "adjective": "simples claro completo moderno estável prático útil",
    },
)
