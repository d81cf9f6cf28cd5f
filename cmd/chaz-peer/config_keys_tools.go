package main

import "github.com/goccy/go-yaml/ast"

// toolKeys are the keys about what tools, extensions and routines may do.
func toolKeys() []configKey {
	return []configKey{
		{
			"work_folder", func(f *fileConfig, n ast.Node) []fault { return readWith(n, &f.WorkFolder, filePath) },
			"Where relative paths of tools begin, relative to the home unless absolute. It is made.\nIt can't be the home, or a folder around it. Default: work in the home.",
			"work_folder: /srv/chaz/work",
		},
		{
			"security", func(f *fileConfig, n ast.Node) []fault { return readBlock(n, &f.Security, securityKeys()) },
			"What tools may do. Sessions and agents can narrow this, never widen it. In lists of what is\n" +
				"allowed, a key that is not given means its default, and [] nothing at all.",
			securityExample,
		},
		{
			"agent_state_allowlist", func(f *fileConfig, n ast.Node) []fault { return readAllowlist(n, &f.AgentAllow) },
			"Which agents an extension may administer. [] is none.\nDefault: an extension that is not named may administer all.",
			"agent_state_allowlist:\n  schedule: [chaz]",
		},
		{
			"web_search", func(f *fileConfig, n ast.Node) []fault { return readBlock(n, &f.WebSearch, searchKeys()) },
			"Where web_search asks, the next one when one fails. kind is kagi, tavily, brave, serper, searxng\n" +
				"or duckduckgo; key is the name of a secret (chaz-peer secret set NAME) or a variable of the\n" +
				"environment as ${NAME}, never the key itself. Default: duckduckgo alone.",
			"web_search:\n  providers:\n    - kind: searxng\n      api_base: https://search.example.org\n      key: ${SEARCH_TOKEN}\n    - kind: brave\n      key: brave-key",
		},
		{
			"skill_dirs", func(f *fileConfig, n ast.Node) []fault { return readEach(n, &f.SkillDirs, filePaths) },
			"Folders with skill files (*.md); of two skills of one name the first counts. Relative paths begin\n" +
				"in the folder in which the daemon was started. Default: .chaz/skills there, then skills in the home.",
			"skill_dirs: [.chaz/skills, /srv/chaz/skills]",
		},
		{
			"extensions", func(f *fileConfig, n ast.Node) []fault { return readBlock(n, &f.Extensions, extensionKeys()) },
			"How long an extension may take, in seconds, and after what time without use an instance of an\nagent or a session ends (default: 10, 10, 1800); and what holds for code from outside.",
			extensionsExample,
		},
		{
			"routines", func(f *fileConfig, n ast.Node) []fault { return readBlock(n, &f.Routines, routineKeys()) },
			"How many routines run at a time, and how long one may take, in seconds. Default: 8, 600.",
			"routines:\n  max_concurrent: 4\n  handler_deadline_secs: 300",
		},
	}
}

const securityExample = `security:
  # Tools that run unasked where their approval is unless_auto_approved.
  auto_approved_tools: [write_file, edit_file]
  # Where a tool's answer holds a secret: redact it (default), or block the whole answer.
  leak_policy: block
  # Laid over what a tool says of itself, field by field. risk: low, medium, high. approval: never,
  # unless_auto_approved, always. timeout: a duration, or seconds. rate_limit: calls a minute, 0
  # switches the tool off. sensitive: parameters that are not shown to whoever approves.
  tool_policies:
    web_fetch: {risk: high, approval: always, timeout: 20s, rate_limit: 10, sensitive: [body]}
  # Programs that the shell tool may run: "git" is git with any arguments, "git log *" is git log with
  # any further ones, "git status" is exactly that. The deny list goes before. Without an allow list any
  # command may run, but only after a person approved it. With one, the approval of the tool decides
  # who is asked (always, unless tool_policies says otherwise).
  shell_allowlist: [ls, git status, git log *]
  shell_denylist: [git push]
  # Run commands confined by bubblewrap: bwrap, or off (default).
  shell_sandbox: bwrap
  network:
    # Which addresses may be fetched; "*.x" is x and its subdomains. Default: all public ones.
    endpoints:
      - host: "*.example.org"
        path_prefix: /api
        methods: [GET, POST]
    # Addresses of private networks too. Default: false.
    allow_private: true
  # Folders and files, relative to the work folder unless absolute. Default: the work folder.
  allow_read: [., /usr/share/doc]
  allow_write: [notes]`

const extensionsExample = `extensions:
  hook_deadline_secs: 5
  instantiate_deadline_secs: 20
  idle_eviction_secs: 600
  # Git hosts that may be asked by plain http, and at private addresses. Default: none.
  git_hosts: [git.example.org]
  # Folders whose repositories may be read from this disk. Default: none.
  git_local: [/srv/git]
  # Rules for all code from outside, stronger than what anybody trusts. Default: none.
  policy:
    # Trusted without asking: by publisher, sha256 of the module, or cid; caps is what it gets.
    allow:
      - sha256: "2b1a000000000000000000000000000000000000000000000000000000000000"
        caps: {settings: read}
    # Refused: names, refs (a CID, a commit), sha256, publishers.
    deny:
      names: [bad-one]
    # Powers that nobody gets.
    forbid: [net, secrets]
    # "never" refuses what is not signed. Default: ask.
    allow_unsigned: never
    # "off" fetches from peers only. Default: on.
    network: "off"
    # "block" refuses tool calls in a session with an enforcing extension that is not trusted here.
    enforcing_pending: warn`
