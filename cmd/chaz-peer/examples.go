package main

import (
	"strings"

	"github.com/alecthomas/kong"
)

// addExamples puts the examples under the help of each command.
func addExamples(n *kong.Node, path string) {
	if ex, ok := examples()[path]; ok {
		n.Detail = strings.TrimSpace(n.Detail + "\n\nExamples:\n\n    " + strings.ReplaceAll(ex, "\n", "\n    "))
	}
	for _, c := range n.Children {
		addExamples(c, strings.TrimSpace(path+" "+c.Name))
	}
}

// examples are lines as a user types them, by command.
func examples() map[string]string {
	return map[string]string{
		"":                "chaz-peer run\nchaz-peer session new --name hamlet\nchaz-peer session share hamlet\nchaz-peer status",
		"run":             "chaz-peer run\nchaz-peer run --listen 0.0.0.0:4711 --no-mdns\nchaz-peer --home /tmp/b run --clock-skew -3d --json",
		"demo":            "chaz-peer demo\nchaz-peer demo --json\nchaz-peer demo --keep",
		"sim":             "chaz-peer sim --seeds 20000\nchaz-peer sim --scenario story.yaml --report story.html\nchaz-peer sim --replay 4711 --peers 5 --steps 200\nchaz-peer sim --faults partition,clock_jump --json",
		"status":          "chaz-peer status\nchaz-peer status --json | jq .documents",
		"doctor":          "chaz-peer doctor",
		"id":              "chaz-peer id",
		"version":         "chaz-peer version",
		"config check":    "chaz-peer config check\nchaz-peer config check ./config.yaml",
		"config show":     "chaz-peer config show\nchaz-peer config show --example > config.yaml",
		"peers list":      "chaz-peer peers list",
		"peers pair":      "chaz-peer peers pair            # on the laptop: prints a ticket\nchaz-peer peers pair TICKET     # on the server",
		"peers pending":   "chaz-peer peers pending",
		"peers approve":   "chaz-peer peers approve 3f9ac2d1 --role write",
		"peers reject":    "chaz-peer peers reject 3f9ac2d1",
		"peers name":      "chaz-peer peers name 12D3KooWDpJ7As7B server",
		"peers pause":     "chaz-peer peers pause server",
		"peers resume":    "chaz-peer peers resume server",
		"session new":     "chaz-peer session new --name hamlet\nchaz-peer session new --agent reviewer --agent chaz",
		"session list":    "chaz-peer session list --all",
		"session show":    "chaz-peer session show hamlet\nchaz-peer session show hamlet --agent chaz --json",
		"session post":    "chaz-peer session post hamlet \"Who's there?\"\ngit log -1 | chaz-peer session post hamlet --as git -",
		"session log":     "chaz-peer session log hamlet --tail 20\nchaz-peer session log hamlet --follow --json",
		"session search":  "chaz-peer session search to be\nchaz-peer session search ghost --session hamlet",
		"session wait":    "chaz-peer session wait hamlet --stored-on 2 --timeout 5m",
		"session import":  "chaz-peer session import hamlet.jsonl --name hamlet\ncat more.jsonl | chaz-peer session import - --session hamlet",
		"session export":  "chaz-peer session export hamlet > hamlet.jsonl\nchaz-peer session export hamlet hamlet.automerge",
		"session share":   "chaz-peer session share hamlet\nchaz-peer session share hamlet --role write --uses 3 --expires 12h --qr\nchaz-peer session share hamlet --ask",
		"session tickets": "chaz-peer session tickets hamlet\nchaz-peer session tickets hamlet --revoke 9c41d07e",
		"session join":    "chaz-peer session join TICKET --name hamlet\nssh laptop chaz-peer session share hamlet | chaz-peer session join -",
		"session attach":  "chaz-peer session attach hamlet reviewer",
		"session detach":  "chaz-peer session detach hamlet reviewer",
		"session host":    "chaz-peer session host hamlet reviewer\nchaz-peer session host hamlet",
		"session close":   "chaz-peer session close hamlet",
		"session forget":  "chaz-peer session forget hamlet --yes",
		"agent new":       "chaz-peer agent new reviewer model=script max_iterations=10",
		"agent list":      "chaz-peer agent list",
		"agent show":      "chaz-peer agent show reviewer",
		"agent set":       "chaz-peer agent set reviewer tools read_file,search\nchaz-peer agent set reviewer system_prompt - < prompt.txt",
		"agent share":     "chaz-peer agent share reviewer --role admin",
		"agent tickets":   "chaz-peer agent tickets reviewer",
		"agent join":      "chaz-peer agent join TICKET",
		"agent invite":    "chaz-peer agent invite reviewer server --role write",
		"agent forget":    "chaz-peer agent forget reviewer",
		"cmd":             "chaz-peer cmd --session hamlet '/extensions list'\nchaz-peer cmd --session hamlet '/extensions remove memory agent'\nchaz-peer cmd --session hamlet '/extensions add ./weather'",
		"completion":      "source <(chaz-peer completion bash)\nchaz-peer completion fish > ~/.config/fish/completions/chaz-peer.fish",
		"ext show":        "chaz-peer ext show weather --session hamlet\nchaz-peer ext show git:https://example.com/weather.git@COMMIT --fetch",
		"ext pending":     "chaz-peer ext pending\nchaz-peer ext pending --session hamlet --json",
		"ext trust":       "chaz-peer ext trust weather --session hamlet --cap net=api.example.com\nchaz-peer ext trust notes --session hamlet --all-requested --mount notes=~/notes\nchaz-peer ext trust weather --session hamlet --no-caps --yes-sha256 HEX     # in a script",
		"ext deny":        "chaz-peer ext deny weather --session hamlet",
		"ext untrust":     "chaz-peer ext untrust weather --session hamlet\nchaz-peer ext untrust 3f9ac2d1",
		"ext list":        "chaz-peer ext list",
		"ext pack":        "chaz-peer ext pack ./weather\nchaz-peer ext pack weather.wasm --profile v1-2025",
		"ext publish":     "chaz-peer ext publish ./weather --name weather-releases\nchaz-peer ext publish ./weather --doc weather-releases --version 1.3.0",
		"ext releases":    "chaz-peer ext releases weather-releases",
		"ext yank":        "chaz-peer ext yank weather-releases 1.2.0 --reason 'sends too much'",
		"ext export":      "chaz-peer ext export weather weather.car --session hamlet\nchaz-peer ext export CID | ssh server chaz-peer ext import -",
		"ext import":      "chaz-peer ext import weather.car",
		"ext audit":       "chaz-peer ext audit -n 20",
		"ext logs":        "chaz-peer ext logs weather --session hamlet -n 50",
		"ext gc":          "chaz-peer ext gc --dry-run",
		"tool list":       "chaz-peer tool list --session hamlet --agent chaz",
		"tool describe":   "chaz-peer tool describe --session hamlet read_file",
		"tool call":       "chaz-peer tool call --session hamlet get_time\nchaz-peer tool call --session hamlet --approve shell '{\"command\":\"ls\"}'",
		"context":         "chaz-peer context --session hamlet --agent chaz",
		"routine list":    "chaz-peer routine list",
		"routine add":     "chaz-peer routine add my-ext --cron '0 9 * * MON-FRI' --tz Europe/Berlin\nchaz-peer routine add my-ext --every 1h --session hamlet",
		"routine remove":  "chaz-peer routine remove global:my-ext-1796000000000",
		"routine run":     "chaz-peer routine run global:my-ext-1796000000000",
		"secret set":      "chaz-peer secret set brave-key < key.txt",
		"secret list":     "chaz-peer secret list",
		"secret rm":       "chaz-peer secret rm brave-key",
	}
}
