package judge

import (
	"strings"
	"testing"

	"memoryd"
)

const none = memoryd.Type("")

func TestType(t *testing.T) {
	for _, c := range []struct {
		text string
		want memoryd.Type
	}{
		{"User prefers dark mode", memoryd.Preference},
		{"I really like short answers.", memoryd.Preference},
		{"She doesn't like coriander", memoryd.Preference},
		{"My favourite colour is green", memoryd.Preference},
		{"Avery hates meetings before ten", memoryd.Preference},
		{"I’d rather use tabs", memoryd.Preference},
		{"He is not a fan of jazz", memoryd.Preference},
		{"The customer wants short replies", memoryd.Preference},
		{"用户喜欢深色模式", memoryd.Preference},
		{"我不喜欢香菜", memoryd.Preference},
		{"她更喜欢靠窗的座位", memoryd.Preference},
		{"他讨厌早会", memoryd.Preference},
		{"用户希望回答简短", memoryd.Preference},
		{"我最爱喝乌龙茶", memoryd.Preference},

		{"We decided to use PostgreSQL", memoryd.Decision},
		{"It was agreed that the launch moves to May", memoryd.Decision},
		{"Decision: keep the monorepo", memoryd.Decision},
		{"The team has settled on Rust for the parser", memoryd.Decision},
		{"We're going with the blue logo.", memoryd.Decision},
		{"我们决定用 PostgreSQL", memoryd.Decision},
		{"会上商定下周一上线", memoryd.Decision},
		{"团队一致同意推迟发布", memoryd.Decision},
		{"老板拍板了，用第二套方案", memoryd.Decision},
		{"双方达成一致，价格不变", memoryd.Decision},

		{"Lesson learned: back up before migrating", memoryd.Lesson},
		{"We learned the hard way that the cache lies", memoryd.Lesson},
		{"Next time, check the certificate first", memoryd.Lesson},
		{"I should have tested the rollback", memoryd.Lesson},
		{"The root cause was a stale lock file", memoryd.Lesson},
		{"教训是：改表之前先备份", memoryd.Lesson},
		{"下次一定要先看日志", memoryd.Lesson},
		{"在时区上踩过坑，存储一律用 UTC", memoryd.Lesson},
		{"早知道就不该升级", memoryd.Lesson},

		{"How to rotate the key: open the console and press renew", memoryd.Procedure},
		{"Step 1: stop the service. Step 2: copy the file.", memoryd.Procedure},
		{"To restart the gateway, run systemctl restart gateway", memoryd.Procedure},
		{"First pull the image, then restart the pod", memoryd.Procedure},
		{"Runbook: drain the node, patch it, bring it back", memoryd.Procedure},
		{"Run make check before every commit", memoryd.Procedure},
		{"部署步骤：先拉镜像，再重启服务", memoryd.Procedure},
		{"首先登录控制台，然后点击续期", memoryd.Procedure},
		{"重启前要先通知运营", memoryd.Procedure},
		{"回滚命令是 make rollback", memoryd.Procedure},
		{"第一步打开设置，第二步关闭同步", memoryd.Procedure},

		{"My name is Amy", memoryd.Fact},
		{"Amy lives in Oslo", memoryd.Fact},
		{"I work as a nurse", memoryd.Fact},
		{"Bob is allergic to peanuts", memoryd.Fact},
		{"She no longer lives in Berlin", memoryd.Fact},
		{"I'm a vegetarian", memoryd.Fact},
		{"Her birthday is on 3 May", memoryd.Fact},
		{"我叫李雷", memoryd.Fact},
		{"小林的妈妈叫陈梅", memoryd.Fact},
		{"我住在上海", memoryd.Fact},
		{"他对花生过敏", memoryd.Fact},
		{"用户的生日是五月三日", memoryd.Fact},
		{"她在一家银行上班", memoryd.Fact},
		{"女儿今年七岁", memoryd.Fact},

		{"Idempotent is defined as safe to repeat", memoryd.Knowledge},
		{"RRF stands for reciprocal rank fusion", memoryd.Knowledge},
		{"幂等指的是重复执行结果不变", memoryd.Knowledge},
		{"RRF 的全称是 reciprocal rank fusion", memoryd.Knowledge},

		{"Deployed v2.1 to staging", memoryd.TaskLog},
		{"Today we fixed the login bug", memoryd.TaskLog},
		{"We are still working on the import", memoryd.TaskLog},
		{"TODO: renew the multi-agent licence", memoryd.TaskLog},
		{"今天完成了登录页", memoryd.TaskLog},
		{"已经部署 v2.1 到测试环境", memoryd.TaskLog},
		{"正在排查支付超时", memoryd.TaskLog},

		// Negated, asked or supposed: nothing is said.
		{"We have not decided on the database yet", none},
		{"No decision was made", none},
		{"If we decided to move, rent would double", none},
		{"I have no preference", none},
		{"I don't know what she likes", none},
		{"There are no steps: it is automatic", none},
		{"No lessons learned here", none},
		{"The migration is not finished", none},
		{"We haven't deployed it yet", none},
		{"Did we decide to use Postgres?", none},
		{"What is my name?", none},
		{"我们还没有决定用哪个数据库", none},
		{"尚未达成一致", none},
		{"如果我们决定搬家，房租会翻倍", none},
		{"没有特别的偏好", none},
		{"不知道他喜欢什么", none},
		{"登录页还没有完成", none},
		{"没有操作步骤", none},
		{"你喜欢什么颜色？", none},
		{"我们决定了吗", none},

		// Words that only look like the keyword.
		{"It looks like rain", none},
		{"Glad you like it!", none},
		{"I love it", none},
		{"The soup works for everyone's diet", none},
		{"Next time I need a push I will call", none},
		{"The dove stands for peace", none},
		{"如果你喜欢手工，可以试试折纸", none},
		{"你会喜欢的", none},
		{"他最近在找工作", none},
		{"component-04 已回滚，当前版本是 v1.0", none},
		{"他坚持完成了比赛", none},
		{"Decidedly odd weather", none},
		{"The likelihood is low", none},
		{"Piano lessons cost 40 euros", none},
		{"The file name is report.txt", none},
		{"This works as expected", none},
		{"A stepladder stands in the hall", none},
		{"Footsteps: two in the snow", none},
		{"The undecided voters stayed home", none},
		{"价格由市场决定", none},
		{"这是一个决定性的因素", none},
		{"他是个可爱的人", none},
		{"下次见", none},
		{"季度报表放在共享盘", none},
		{"the spare key is under the blue pot", none},
		{"", none},
		{"?!", none},

		// What it is comes before what it is about.
		{"We decided to like the new design", memoryd.Decision},
		{"Lesson learned: users prefer short forms", memoryd.Lesson},
		{"Is it late? I live in Oslo.", memoryd.Fact},
		{"We have not decided on a date. My name is Amy.", memoryd.Fact},
		{"我 prefer 深色模式", memoryd.Preference},
	} {
		got, ok := Type(c.text)
		if got != c.want || ok != (c.want != none) {
			t.Errorf("Type(%q) = %q, %v; want %q", c.text, got, ok, c.want)
		}
		checkNeeds(t, c.text)
	}
}

// checkNeeds fails where the literal parts of a pattern would keep it from a text that it matches.
func checkNeeds(t *testing.T, text string) {
	t.Helper()
	lower := strings.ToLower(text)
	for _, r := range rules {
		for _, list := range []patterns{r.english.is, r.english.not, r.chinese.is, r.chinese.not} {
			for _, p := range list {
				if !p.may(lower) && p.re.MatchString(text) {
					t.Errorf("%q is matched by %v, which needs one of %q", text, p.re, p.needs)
				}
			}
		}
	}
}

func FuzzType(f *testing.F) {
	f.Add("We decided. 我们决定。")
	f.Add("\xff" + strings.Repeat("中", 700))
	f.Fuzz(func(t *testing.T, text string) {
		if typ, ok := Type(text); ok != (typ != none) {
			t.Errorf("Type(%q) = %q, %v", text, typ, ok)
		}
	})
}

func BenchmarkType(b *testing.B) {
	for b.Loop() {
		Type("The supplier in Hamburg delivers on Thursdays, the one in Bremen only on request; 周末他和同事约好去郊外玩")
	}
}
