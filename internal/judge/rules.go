package judge

import "memoryd"

// rule says which words make a sentence one of a type.
type rule struct {
	typ     memoryd.Type
	english keywords
	chinese keywords
}

// keywords is what makes it, and what takes it back.
type keywords struct {
	is, not patterns
}

func (k keywords) hold(text, lower string) bool {
	return k.is.match(text, lower) && !k.not.match(text, lower)
}

// Parts of the patterns below.
const (
	often  = `(?: (?:really|also|always|still|never|mostly|usually|generally|do|does|do not|does not|don't|doesn't|absolutely))*`
	people = `(?:i|we|he|she|they|user|customer|client)`
	group  = `(?:we|they|team|board|everyone|management)`
	near   = `[^。，,]{0,8}` // in the same clause, Chinese
	done   = `(?:deployed|fixed|finished|completed|merged|released|shipped|uploaded|submitted|refactored|migrated|installed|published|reviewed|rolled back|restarted|implemented)`
	doneZh = `(?:完成|修复|部署|上线|发布|合并|提交|回滚|重启|处理完|做完|搞定|写完|测完)`
	chore  = `(?:部署|重启|安装|发布|构建|回滚|备份|恢复|升级|配置|上线|迁移|重置|登录|导出|导入|续期)`
	theyZh = `(?:我|他|她|用户|客户)`
)

// rules stand in order: what a sentence says outright that it is (a decision, a lesson) comes before what it is about,
// and what was only done comes last. Negation takes back decisions, lessons, procedures and logs; a dislike is a
// preference too, and "no longer lives in Oslo" a fact.
var rules = []rule{
	{memoryd.Decision, decisionEnglish, decisionChinese},
	{memoryd.Lesson, lessonEnglish, lessonChinese},
	{memoryd.Procedure, procedureEnglish, procedureChinese},
	{memoryd.Preference, preferenceEnglish, preferenceChinese},
	{memoryd.Fact, factEnglish, factChinese},
	{memoryd.Knowledge, knowledgeEnglish, knowledgeChinese},
	{memoryd.TaskLog, logEnglish, logChinese},
}

var decisionEnglish = keywords{
	is: words(
		`(?:i|he|she|`+group+`)(?:'ve| have| has| had)?(?: all| finally| now| jointly| unanimously)* (?:decided|agreed|resolved) (?:to|on|that|against|not to)`,
		`(?:was|been)(?: finally| unanimously)? (?:decided|agreed) (?:to|on|that|not to)`,
		`^\W*(?:the |our |final )*decisions?:`,
		`decision (?:is|was) (?:to|that)`,
		group+`(?:'ve| have| has)? (?:settled on|opted for|chose)`,
		group+`(?:'re| are|'ll| will) (?:go|going) with`,
	),
	not: words(
		`(?:not|never|haven't|hasn't|hadn't|nobody|nothing|no one) (?:yet |been |fully |really |all )*(?:decided|agreed|resolved|settled|chose)`,
		`no (?:final |clear )?decision`,
		`(?:if|whether|until|unless|before|once|when|as if) (?:the )?(?:i|he|she|it|`+group+`)`,
	),
}

var decisionChinese = keywords{
	is: han(
		`(?:我们|大家|团队|会上|会议|最终|双方|公司|老板|董事会|讨论后|商量后)`+near+`(?:决定|商定|敲定|约定|一致同意|选定|定下)`,
		`^\s*(?:决定|决议|结论)[:：]`,
		`拍板`,
		`达成(?:了)?(?:一致|共识|协议)`,
		`决定(?:改用|采用|使用|不再|放弃|把|将|从)`,
		theyZh+`(?:已经|已|最终|最后)?决定`,
	),
	not: han(
		`(?:没|未|不|无法|难以)`+near+`(?:决定|商定|敲定|约定|同意|选定|定下|拍板|达成)`,
		`(?:如果|是否|要是|假如|等|待|除非|一旦|万一)`+near+`(?:决定|商定|敲定|拍板|达成|选定|同意)`,
		`决定(?:因素|性|权|于|不)`,
		`由`+near+`决定`,
	),
}

var lessonEnglish = keywords{
	is: words(
		`^\W*lessons? learn(?:ed|t)`,
		`lessons?(?: we| i)?(?: learn(?:ed|t))?(?: here| from [a-z0-9 ]{1,40})?(?: is| was)?:`,
		`lesson (?:is|was) (?:to|that)`,
		`learn(?:ed|t) the hard way`,
		`in hindsight`,
		`(?:we|i) should(?:'ve| have) \w+`,
		`next time,? (?:always|never|do|don't|check|use|ask|start|run|test|make|remember)`,
		`next time,? (?:we|i)(?:'ll| will| should| must| need to)`,
		`(?:my|our|the) (?:big |biggest |main )?mistake was`,
		`root cause (?:was|is|turned out)`, `root cause:`,
		`never again`,
		`takeaways? (?:is|was|are)`, `takeaways?:`,
	),
	not: words(
		`no (?:real )?(?:lessons?|takeaways?|root cause)`,
		`(?:root cause|lesson) (?:is|was) (?:still |yet )*(?:not|unknown|unclear)`,
		`(?:piano|swimming|driving|guitar|language|dance|english|music) lessons?`,
	),
}

var lessonChinese = keywords{
	is: han(
		`教训(?:是|：|:|就是)`,
		`(?:吸取|记住|总结)`+near+`教训`,
		`踩(?:过|了|到)?`+near+`坑`, `避坑`,
		`经验(?:总结)?(?:是|：|:)`,
		`下次(?:要|一定|记得|应该|不要|别|务必|得|先)`,
		`早知道`,
		`根因(?:是|：|:)`,
		`事后(?:看来|发现)`,
		`(?:本来|当时|原本)就?应该`,
		theyZh+`?再也不(?:要|能|敢)?(?:在|把|用|直接)`,
	),
	not: han(
		`(?:没|无|未|不(?:用|必|需要))` + near + `(?:教训|经验|坑|根因|吸取)`,
	),
}

var procedureEnglish = keywords{
	is: words(
		`how to \w+ [^.]{0,80}:`,
		`here(?:'s| is) how to \w+`,
		`steps?(?: to [a-z ]{1,60})?:`,
		`^\W*step (?:1|one)`, `step (?:1|one):`,
		`^\W*first,? [^.]{2,120}(?:,| and) then`,
		`^\W*to \w+ (?:[\w.-]+ ){0,8}[\w.-]+, ?(?:first |just |simply )?(?:run|use|call|open|go to|click|press|execute|type|ssh|edit|set|copy|select|log|stop|delete|enter|pull|push|export|start)`,
		`(?:procedure|runbook|checklist)(?: for [a-z0-9 ]{1,60})?:`,
		`command to [^.]{2,80} is`,
		`^\W*(?:always )?(?:run|execute) [^.]{1,80} (?:before|after) (?:each|every|any|the|an?|\w+ing)`,
	),
	not: words(
		`no (?:known |documented )?(?:steps?|procedure|runbook|checklist|command)`,
		`next steps?`,
		`(?:don't|do not|doesn't|does not|didn't|not) (?:know|remember|understand|say|explain) [^.]{0,40}(?:how to|steps|procedure|command)`,
		`(?:asked|asks|wonders?|wondered|wants? to know|learn|forgot|forgets) [^.]{0,20}how to`,
		`(?:first|then) (?:he|she|they|we|i|was|were|came|went)`,
	),
}

var procedureChinese = keywords{
	is: han(
		`(?:步骤|操作流程|操作方法|做法|流程)(?:如下|：|:|是：|为：|是:)`,
		`第一步[^。]{2,}`,
		`^\s*首先[^。]{2,60}(?:然后|接着|其次|再|最后)`,
		`(?:命令|指令)(?:是|为|：|:)`,
		chore+`(?:时|前|后|之前|之后)?[^。，,]{0,6}(?:要先|需要先|必须先|需先|先在)`,
		chore+`(?:前|后|之前|之后)(?:都)?(?:要|必须|需要|务必)`,
		`(?:每次|凡是)[^。]{2,30}(?:都要先|必须先|都得先|前先|前要)`,
	),
	not: han(
		`(?:没|无|缺|不知道|不清楚|不记得|忘|不了解)`+near+`(?:步骤|流程|做法|方法|命令|第一步)`,
		`(?:不用|不必|不需要|无需|不要)(?:先|再)?`+chore,
	),
}

var preferenceEnglish = keywords{
	is: words(
		people+often+` (?:likes?|loves?|enjoys?|hates?|dislikes?|adores?|can't stand|cannot stand|would rather|'d rather)`,
		`(?:i|he|she|they|we)'d rather`,
		`(?-i:[A-Z]\w*)`+often+` (?:likes|loves|hates|dislikes|enjoys)`,
		`prefers?`,
		`(?:favou?rite|preferred) [a-z ]{1,40}(?:is|are)`,
		`(?:my|his|her|their|user's) preferences? (?:is|are)`,
		`(?:is|am|are|'m) (?:not |very |really |also )*(?:fond of|an? (?:big |huge )?fan of)`,
		`(?:user|customer|client|he|she|(?-i:[A-Z]\w+)) (?:wants|expects) (?:all |short |concise |brief |long |detailed |the |his |her |their )*(?:answers|replies|responses|summaries|reports)`,
	),
	not: words(
		`no (?:particular |strong |real )?preferences?`,
		`(?:don't|doesn't|do not|does not|didn't) (?:have|care|mind|express|state)[^.]{0,20}(?:preference|which|either)`,
		`(?:like|love|enjoy|hate)s? (?:it|this|that|to see|seeing|the way|how|your)`,
		`prefers? not to (?:say|answer|tell)`,
		`(?:what|which|if|whether|who|how) (?:\w+ )?(?:\w+ )?(?:really )?(?:likes?|prefers?|enjoys?|loves?)`,
		`(?:hope|glad|think|guess|maybe|perhaps) (?:that )?`+people+` `+`(?:will |might |may |would )?(?:likes?|prefers?|enjoys?|loves?)`,
	),
}

var preferenceChinese = keywords{
	is: han(
		`喜欢(?:[^的，。,！]|$)`, `喜欢的`+near+`(?:是|有)`,
		`偏好`,
		`(?:最|很|特别|超|非常)爱(?:吃|喝|看|听|玩|用|穿|去|\p{Han})`, `爱(?:吃|喝|看|听|玩|穿)`,
		`讨厌`, `厌恶`, `受不了`, `倾向于`, `宁愿`, `宁可`, `更愿意`,
		`(?:习惯|希望)[^。，,]{0,6}(?:回答|回复|答复|称呼|语气|格式|风格)`,
		`习惯(?:于|用|喝|吃|早起|晚睡)`,
		`不吃(?:香菜|辣|肉|葱|蒜|鱼|猪肉|牛肉|海鲜)`,
	),
	not: han(
		`(?:没|无|未|看不出)`+near+`(?:偏好|喜好|喜欢)`,
		`(?:不知道|不清楚|问|是否|忘|如果|要是|假如|若)`+near+`(?:喜欢|偏好|讨厌|爱)`,
		`谈不上(?:喜欢|讨厌)`,
		`(?:希望|相信|觉得)(?:你|您)`+near+`喜欢`, `(?:你|您)(?:会|可能会|一定会|应该会)喜欢`,
		`(?:喜欢|偏好)(?:什么|哪|与否|不喜欢)`,
		`(?:可|恋|亲|热|敬)爱`,
	),
}

var factEnglish = keywords{
	is: words(
		`my (?:full |first |last |real |nick)?name(?:'s| is)`,
		`(?:my|his|her|their|user's|'s) (?:full |first |last |work |home )?(?:name|birthday|phone(?: number)?|e-?mail(?: address)?|address|anniversary|job title|employee (?:id|number)|shoe size|time ?zone|mother tongue|native language|wife|husband|partner|daughter|son|dog|cat|mother|father|sister|brother|blood type) is`,
		people+`(?: currently| now| still| no longer| used to)? (?:lives?|worked|works?) (?:in|at|for|as) \w+`,
		`(?-i:[A-Z]\w*)(?: currently| now| still| no longer| used to)? (?:lives in|works at|works for) (?-i:[A-Z])\w*`,
		`works as an? \w+`,
		`\w+ (?:studies at|grew up in|was born (?:in|on)|graduated from|is married to|is allergic to|moved to (?-i:[A-Z])\w*)`,
		`i(?:'m| am) (?:also |now |currently )?(?:\d+ years old|allergic to|married|vegetarian|vegan|left-handed)`,
		`i(?:'m| am) (?:also |now |currently )?an? (?:\w+ )?(?:nurse|teacher|doctor|engineer|developer|programmer|student|designer|lawyer|writer|journalist|manager|accountant|architect|chef|scientist|researcher|pilot|farmer|musician|photographer|vegetarian|vegan|diabetic)`,
		`(?:i|we) (?:have|own) (?:an? |one |two |three |four |\d+ )(?:\w+ )?(?:kids?|child(?:ren)?|daughters?|sons?|dogs?|cats?|sisters?|brothers?|cars?)`,
		`\w+ is (?:a vegetarian|a vegan|left-handed|divorced|\d+ years old)`,
	),
	not: words(
		`(?:don't|doesn't|do not|does not|didn't|not) (?:know|remember|say|tell)`,
		`(?:forgot|unknown|unclear|wonder|guess|maybe|perhaps|if|whether|would|could)`,
		`works? (?:at|for|as|in) (?:all|now|expected|is|intended|designed|least|first|me|us|you|everyone|progress|practice|theory|a workaround)`,
		`(?:live|lives) (?:in fear|up to)`,
	),
}

var factChinese = keywords{
	is: han(
		`我(?:的名字)?叫[^。，,]{1,10}`,
		`(?:名字|全名|真名|生日|电话|手机号|邮箱|住址|工号|血型|籍贯|老家|母语|职业|车牌号?|身高|体重)(?:是|为|在|：|:|号码是)`,
		`(?:我|他|她|用户|客户|父母|妈妈|爸爸)[^。，,]{0,4}住在`,
		`出生(?:于|在)`, `毕业于`, `就职于|任职于|供职于`,
		theyZh+`(?:现在|目前|一直)?在[^。，,找了]{1,15}(?:工作|上班|上学|读书)`,
		`(?:妈妈|爸爸|母亲|父亲|妻子|老婆|丈夫|老公|儿子|女儿|哥哥|姐姐|弟弟|妹妹|同事|老板|猫|狗)(?:的名字)?叫`,
		`对[^。，,]{1,10}过敏`,
		`今年[0-9一二三四五六七八九十]+岁`,
		theyZh+`是(?:一名|一位|名|位)[^。，,]{1,20}`,
		theyZh+`们?来自`,
		theyZh+`家?(?:养了|有)[一两二三四0-9](?:个|只|条)[^。，,]{0,6}(?:孩子|儿子|女儿|猫|狗)`,
	),
	not: han(
		`不知道|不清楚|忘了|不记得|不确定|没说|没提|猜|可能|也许|如果|是否|什么|哪里|哪儿|多少|假装`,
	),
}

var knowledgeEnglish = keywords{
	is: words(
		`(?:is|are) defined as`,
		`(?-i:[A-Z]{2,})s? (?:stands for|is short for|is an acronym for)`,
		`by definition`,
		`the (?:term|acronym) [^.]{1,40} (?:means|refers to|denotes)`,
		`^\W*definition(?: of [^.:]{1,40})?:`,
	),
	not: words(`(?:not|n't|never) (?:formally |clearly |yet )?(?:defined|stand)`, `no definition`, `what [^.]{1,30}stands for`),
}

var knowledgeChinese = keywords{
	is:  han(`指的是`, `\p{Han}是指`, `的定义(?:是|为|：|:)`, `定义为`, `(?:全称|缩写|学名|原理|公式)(?:是|为|：|:)`),
	not: han(`(?:没|未)`+near+`(?:定义|是指|指的是)`, `(?:指的是|是指|定义是|全称是)(?:什么|谁|哪)`, `我(?:指的是|是指)`),
}

var logEnglish = keywords{
	is: words(
		`(?:i|we|ci|agent|today|yesterday|just|already|successfully)(?:'ve|,)?(?: just| also| already| have| has| successfully| i| we)* `+done,
		`^\W*`+done+` \w+`,
		`^\W*(?:todo|to do|in progress|progress|status|done|wip|blocked)(?: update)?:`,
		`(?:we|we're|agent is|i'm currently|i am currently)(?: still| now| are| currently)* working on`,
	),
	not: words(
		`(?:not|n't|never|nothing|nobody|without) (?:yet |been |fully |really |having )*(?:working|`+done+`)`,
		`(?:if|whether|until|unless|before|once|when|after|should|must|can) (?:we|it|they|i|be|is|the)`,
		`(?:always|must|should|has to|have to|needs? to|can|cannot|will) be`, `yet to`,
	),
}

var logChinese = keywords{
	is: han(
		`(?:已经|已|刚刚|刚|今天|昨天|上午|下午|本周)`+near+doneZh+`(?:$|[^的])`,
		`(?:修复|部署|合并|提交|回滚|重启|搞定|写完|处理完)了`,
		`(?:正在|目前在)(?:处理|开发|修复|部署|排查|编写|测试|迁移|重构)`,
		`^\s*(?:进度|待办|进展|今日完成|进行中)[:：]`,
	),
	not: han(
		`(?:没|未|不能|无法|不)`+near+doneZh,
		`如果|等待|要是|一旦|每次|应该|必须|是否|等到|除非|之后|以后|才能`,
		`了(?:没有|没)`,
		`(?:当前|目前|现在)`+near+`是`, // a state that holds, rather than what was done to reach it
	),
}
