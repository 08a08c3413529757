"""Templates of Chinese prose."""

from tests.tools.prose.templates.base import Templates, split_lines

CHINESE = Templates(
    spaced_names=False,
    openers=split_lines("""
可以，最好先从{noun}开始。
简单来说，{noun}比{noun}更重要。
这个问题很好，{company}以前也遇到过。
这主要取决于你对{noun}的要求。
一般来说，可以分三个步骤来处理{noun}。
下面简单介绍一下{noun}的基本情况。
答案与{noun}有关，也与{noun}有关。
总的来说，{adjective}的{noun}是最合适的选择。
有两种常见的方法，都需要先准备好{noun}。
从{month}开始，{noun}的要求有了一些变化。
"""),
    sentences=split_lines("""
{person}{month}在{city}介绍了新的{noun}。
{company}多年来一直使用同样的{noun}。
团队在发布之前检查了两次{noun}。
到{month}为止，{noun}应该可以完成第一次评审。
{person}认为，{noun}比{noun}更容易理解。
仔细看一下{noun}，就能发现时间花在了哪里。
如果{noun}发生变化，{noun}也需要随之调整。
大家都同意，{adjective}的{noun}值得投入时间。
因此，{company}把{noun}搬到了{city}。
对{noun}的小改动可能会带来很大的影响。
{person}把{noun}整理好以后发给了其他同事。
这些{noun}是{month}以前在{city}收集的。
没有清楚的{noun}，就很难比较不同的结果。
第一版{noun}是由{person}完成的。
只要及时更新，{noun}就会一直保持{adjective}。
在实际工作中，{noun}往往起到关键作用。
{person}和{person}一起负责这个{noun}。
另一方面，{noun}也有它的限制，{company}对此非常了解。
{city}的办公室保存了一份完整的{noun}。
通常应该先检查{noun}，然后再批准{noun}。
来自{city}的几个例子也支持这个看法。
{person}提出的{noun}既{adjective}又容易说明。
访问{city}之后，{noun}又增加了一些内容。
这样也可以帮助还不了解{noun}的新同事。
{month}的结果说明，这个{noun}是{adjective}的。
在{city}，大家使用的是同一个{noun}。
准备{noun}大约需要一个星期的时间。
有些内容可以删除，不会影响{noun}。
{company}计划与{city}的合作伙伴分享{noun}。
下一步是把{noun}发给{company}，然后等待回复。
好的例子可以让{noun}更短，也更容易阅读。
把这些信息放在一起，就能全面了解{noun}。
"""),
    words={
        "month": "一月 二月 三月 四月 五月 六月 七月 八月 九月 十月 十一月 十二月",
        "noun": """
            报告 计划 方案 项目 系统 模型 流程 合同 文件 数据 标准 结构 平台
            产品 服务 方法 测试 设计 总结 记录 目标 预算 调查 教程 目录 接口
        """,
        "adjective": "简单 可靠 清楚 完整 稳定 实用 准确 有效 灵活 详细",
    },
)
